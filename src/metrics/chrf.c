/*
 * chrF (Popović 2015) and chrF++ (Popović 2017): precision and recall of character n-grams, and of word n-grams, each
 * averaged over the orders that both sides have in the whole text (sacrebleu's effective order), then joined as F2.
 */
#include <stdio.h>
#include <string.h>

#include "metrics/metric.h"
#include "metrics/symbols.h"

enum { CHARACTER_ORDER = 6, WORD_ORDER = 2, BETA = 2 };

/* The counts of an order, one order after the other, characters first. */
enum { HYPOTHESIS, REFERENCE, MATCHES, COUNTS };

/* F of `orders` orders, 0 to 100. */
static double f_score(const uint64_t *counts, size_t orders)
{
    double precision = 0, recall = 0;
    size_t effective = 0;
    for (size_t n = 0; n < orders; n++, counts += COUNTS) {
        if (counts[HYPOTHESIS] > 0 && counts[REFERENCE] > 0) {
            precision += (double)counts[MATCHES] / (double)counts[HYPOTHESIS];
            recall += (double)counts[MATCHES] / (double)counts[REFERENCE];
            effective++;
        }
    }
    if (precision + recall <= 0) {
        return 0;
    }
    precision /= (double)effective;
    recall /= (double)effective;
    return 100 * (1 + BETA * BETA) * precision * recall / (BETA * BETA * precision + recall);
}

/* counts[orders * COUNTS] of the line in `work`. An order that the reference lacks counts nothing of the hypothesis. */
static nmt_status count_orders(counter *work, size_t orders, uint64_t *counts, nmt_error *error)
{
    uint64_t matches[CHARACTER_ORDER] = {0};
    TRY(ngrams_begin(&work->ngrams, work->reference.count, orders, error));
    ngrams_add(&work->ngrams, &work->reference, orders);
    ngrams_match(&work->ngrams, &work->hypothesis, orders, matches);
    for (size_t n = 0; n < orders; n++, counts += COUNTS) {
        counts[REFERENCE] = ngrams_in(work->reference.count, n + 1);
        counts[HYPOTHESIS] = counts[REFERENCE] > 0 ? ngrams_in(work->hypothesis.count, n + 1) : 0;
        counts[MATCHES] = matches[n];
    }
    return NMT_OK;
}

static nmt_status count_reference(counter *work, const char *hypothesis, const char *reference, size_t word_orders,
                                  uint64_t *counts, nmt_error *error)
{
    TRY(symbols_set_characters(&work->hypothesis, hypothesis, error));
    TRY(symbols_set_characters(&work->reference, reference, error));
    TRY(count_orders(work, CHARACTER_ORDER, counts, error));
    if (word_orders == 0) {
        return NMT_OK;
    }
    TRY(symbols_set_words_and_marks(&work->hypothesis, hypothesis, &work->words, error));
    TRY(symbols_set_words_and_marks(&work->reference, reference, &work->words, error));
    return count_orders(work, word_orders, counts + CHARACTER_ORDER * COUNTS, error);
}

/* The counts against the reference of the best F, the first of equals. */
static nmt_status count_best(counter *work, const char *hypothesis, const char *const *references,
                             size_t reference_count, size_t word_orders, uint64_t *counts, nmt_error *error)
{
    const size_t orders = CHARACTER_ORDER + word_orders;
    double best = -1;
    for (size_t i = 0; i < reference_count; i++) {
        uint64_t found[(CHARACTER_ORDER + WORD_ORDER) * COUNTS] = {0};
        TRY(count_reference(work, hypothesis, references[i], word_orders, found, error));
        const double score = f_score(found, orders);
        if (score > best) {
            best = score;
            memcpy(counts, found, orders * COUNTS * sizeof *counts);
        }
    }
    return NMT_OK;
}

static nmt_status count(counter *work, const char *hypothesis, const char *const *references, size_t reference_count,
                        uint64_t *counts, nmt_error *error)
{
    return count_best(work, hypothesis, references, reference_count, 0, counts, error);
}

static double score(const uint64_t *counts, const nmt_metric_options *options)
{
    (void)options;
    return f_score(counts, CHARACTER_ORDER);
}

static void sign(char *text, size_t capacity, const nmt_metric_options *options)
{
    (void)options;
    snprintf(text, capacity, "eff:yes|nc:%d|nw:0|space:no", CHARACTER_ORDER);
}

static nmt_status count_words(counter *work, const char *hypothesis, const char *const *references,
                              size_t reference_count, uint64_t *counts, nmt_error *error)
{
    return count_best(work, hypothesis, references, reference_count, WORD_ORDER, counts, error);
}

static double score_words(const uint64_t *counts, const nmt_metric_options *options)
{
    (void)options;
    return f_score(counts, CHARACTER_ORDER + WORD_ORDER);
}

static void sign_words(char *text, size_t capacity, const nmt_metric_options *options)
{
    (void)options;
    snprintf(text, capacity, "eff:yes|nc:%d|nw:%d|space:no", CHARACTER_ORDER, WORD_ORDER);
}

const metric metric_chrf = {"chrf", CHARACTER_ORDER *COUNTS, count, score, sign};
const metric metric_chrf_words = {"chrf++", (CHARACTER_ORDER + WORD_ORDER) * COUNTS, count_words, score_words,
                                  sign_words};
