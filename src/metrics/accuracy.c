/* Lines that are right as a whole, and words that are right where they stand. */
#include <stdio.h>
#include <string.h>

#include "metrics/metric.h"
#include "metrics/symbols.h"

/* The counts of a line. */
enum { RIGHT, TOTAL, COUNTS };

/* Words of the line in `work` that are equal at the same place. */
static size_t equal_words(const counter *work)
{
    const symbols *a = &work->hypothesis;
    const symbols *b = &work->reference;
    size_t equal = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        equal += a->items[i] == b->items[i];
    }
    return equal;
}

static nmt_status count_lines(counter *work, const char *hypothesis, const char *const *references,
                              size_t reference_count, uint64_t *counts, nmt_error *error)
{
    TRY(symbols_set_words(&work->hypothesis, hypothesis, &work->words, error));
    counts[TOTAL] = 1;
    for (size_t i = 0; i < reference_count && counts[RIGHT] == 0; i++) {
        TRY(symbols_set_words(&work->reference, references[i], &work->words, error));
        const size_t length = work->hypothesis.count;
        counts[RIGHT] = work->reference.count == length && equal_words(work) == length;
    }
    return NMT_OK;
}

/* Against the reference that gives the highest share, the first of equals. A word too many counts as much as one
 * missing, for the share is one of the longer line. */
static nmt_status count_tokens(counter *work, const char *hypothesis, const char *const *references,
                               size_t reference_count, uint64_t *counts, nmt_error *error)
{
    TRY(symbols_set_words(&work->hypothesis, hypothesis, &work->words, error));
    const size_t length = work->hypothesis.count;
    for (size_t i = 0; i < reference_count; i++) {
        TRY(symbols_set_words(&work->reference, references[i], &work->words, error));
        const size_t total = work->reference.count > length ? work->reference.count : length;
        const size_t right = equal_words(work);
        if (i == 0 || total == 0 || right * counts[TOTAL] > counts[RIGHT] * total) {
            counts[RIGHT] = right;
            counts[TOTAL] = total;
        }
    }
    return NMT_OK;
}

static double right_share(const uint64_t *counts, const nmt_metric_options *options)
{
    (void)options;
    return counts[TOTAL] > 0 ? 100 * (double)counts[RIGHT] / (double)counts[TOTAL] : 0.0;
}

static double wrong_share(const uint64_t *counts, const nmt_metric_options *options)
{
    (void)options;
    return counts[TOTAL] > 0 ? 100 * (double)(counts[TOTAL] - counts[RIGHT]) / (double)counts[TOTAL] : 0.0;
}

static void sign_lines(char *text, size_t capacity, const nmt_metric_options *options)
{
    (void)options;
    snprintf(text, capacity, "tok:none|unit:line");
}

static void sign_tokens(char *text, size_t capacity, const nmt_metric_options *options)
{
    (void)options;
    snprintf(text, capacity, "tok:none|unit:token|of:longer");
}

const metric metric_accuracy = {"accuracy", COUNTS, count_lines, right_share, sign_lines};
const metric metric_token_accuracy = {"token-accuracy", COUNTS, count_tokens, right_share, sign_tokens};
const metric metric_error_rate = {"error-rate", COUNTS, count_lines, wrong_share, sign_lines};
