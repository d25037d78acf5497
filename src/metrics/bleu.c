/* Corpus BLEU (Papineni et al. 2002), with sacrebleu's smoothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metrics/metric.h"
#include "metrics/symbols.h"

/* The counts of a line. */
enum {
    HYPOTHESIS_LENGTH,
    REFERENCE_LENGTH,
    MATCHES,
    TOTALS = MATCHES + NMT_BLEU_ORDER,
    COUNTS = TOTALS + NMT_BLEU_ORDER
};

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Adds the references to the n-grams; `*closest` is the length closest to the hypothesis's, the shorter of two. */
static nmt_status add_references(counter *work, const char *const *references, size_t reference_count, size_t *closest,
                                 nmt_error *error)
{
    const size_t length = work->hypothesis.count;
    for (size_t i = 0; i < reference_count; i++) {
        TRY(symbols_set_words(&work->reference, references[i], &work->words, error));
        ngrams_add(&work->ngrams, &work->reference, NMT_BLEU_ORDER);
        const size_t other = work->reference.count;
        const size_t far = distance(other, length), near = distance(*closest, length);
        if (i == 0 || far < near || (far == near && other < *closest)) {
            *closest = other;
        }
    }
    return NMT_OK;
}

/* More than the words that the references can have together. */
static size_t most_words(const char *const *references, size_t reference_count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < reference_count; i++) {
        bytes += strlen(references[i]);
    }
    return bytes / 2 + reference_count;
}

static nmt_status count(counter *work, const char *hypothesis, const char *const *references, size_t reference_count,
                        uint64_t *counts, nmt_error *error)
{
    size_t closest = 0;
    TRY(symbols_set_words(&work->hypothesis, hypothesis, &work->words, error));
    TRY(ngrams_begin(&work->ngrams, most_words(references, reference_count), NMT_BLEU_ORDER, error));
    TRY(add_references(work, references, reference_count, &closest, error));
    ngrams_match(&work->ngrams, &work->hypothesis, NMT_BLEU_ORDER, counts + MATCHES);
    for (size_t n = 0; n < NMT_BLEU_ORDER; n++) {
        counts[TOTALS + n] = ngrams_in(work->hypothesis.count, n + 1);
    }
    counts[HYPOTHESIS_LENGTH] = work->hypothesis.count;
    counts[REFERENCE_LENGTH] = closest;
    return NMT_OK;
}

static double smoothing_value(const nmt_metric_options *options)
{
    if (options->smoothing_value > 0) {
        return options->smoothing_value;
    }
    return options->smoothing == NMT_SMOOTHING_FLOOR ? 0.1 : 1.0;
}

/* Precision of an order, 0 to 1. `*halved` is the exponential method's number of orders without a match so far. */
static double precision(const nmt_bleu *bleu, size_t n, const nmt_metric_options *options, int *halved)
{
    const double k = options->smoothing == NMT_SMOOTHING_ADD_K && n > 0 ? smoothing_value(options) : 0;
    const double matches = (double)bleu->matches[n] + k;
    const double total = (double)bleu->totals[n] + k;
    if (total <= 0) {
        return 0;
    }
    if (matches > 0) {
        return matches / total;
    }
    switch (options->smoothing) {
    case NMT_SMOOTHING_EXP:
        return ldexp(1.0, -++*halved) / total;
    case NMT_SMOOTHING_FLOOR:
        return smoothing_value(options) / total;
    case NMT_SMOOTHING_NONE:
    case NMT_SMOOTHING_ADD_K:
        break;
    }
    return 0;
}

static void read_counts(nmt_bleu *bleu, const uint64_t *counts)
{
    bleu->hypothesis_length = counts[HYPOTHESIS_LENGTH];
    bleu->reference_length = counts[REFERENCE_LENGTH];
    for (size_t n = 0; n < NMT_BLEU_ORDER; n++) {
        bleu->matches[n] = counts[MATCHES + n];
        bleu->totals[n] = counts[TOTALS + n];
    }
}

/* BLEU = 100 BP exp(mean over orders of log precision). Without a single match nothing is smoothed; orders behind one
 * that the text is too short for have precision 0. */
void bleu_combine(nmt_bleu *bleu, const uint64_t *counts, const nmt_metric_options *options)
{
    *bleu = (nmt_bleu){0};
    read_counts(bleu, counts);
    const double c = (double)bleu->hypothesis_length;
    const double r = (double)bleu->reference_length;
    bleu->brevity_penalty = c >= r ? 1.0 : c > 0 ? exp(1 - r / c) : 0.0;
    if (bleu->matches[0] == 0) { /* and so no longer one either */
        return;
    }
    double log_sum = 0;
    int halved = 0;
    for (size_t n = 0; n < NMT_BLEU_ORDER; n++) {
        const double share = precision(bleu, n, options, &halved);
        bleu->precision[n] = 100 * share;
        log_sum += log(share);
    }
    bleu->score = 100 * bleu->brevity_penalty * exp(log_sum / NMT_BLEU_ORDER);
}

static double score(const uint64_t *counts, const nmt_metric_options *options)
{
    nmt_bleu bleu;
    bleu_combine(&bleu, counts, options);
    return bleu.score;
}

/* At least two decimals, as sacrebleu writes them, and the point whatever the caller's locale has. */
static void write_value(char *text, size_t capacity, double value)
{
    const double hundredths = floor(value * 100 + 0.5);
    if (hundredths < 1e15 && fabs(hundredths / 100 - value) < 1e-12) {
        const unsigned long long whole = (unsigned long long)hundredths;
        snprintf(text, capacity, "%llu.%02llu", whole / 100, whole % 100);
        return;
    }
    snprintf(text, capacity, "%.9g", value);
    char *point = text + strspn(text, "0123456789");
    const size_t width = strcspn(point, "0123456789e");
    if (width > 0) {
        *point = '.';
        memmove(point + 1, point + width, strlen(point + width) + 1);
    }
}

static void sign(char *text, size_t capacity, const nmt_metric_options *options)
{
    static const char *const names[] = {
        [NMT_SMOOTHING_NONE] = "none",
        [NMT_SMOOTHING_EXP] = "exp",
        [NMT_SMOOTHING_FLOOR] = "floor",
        [NMT_SMOOTHING_ADD_K] = "add-k",
    };
    char value[32];
    write_value(value, sizeof value, smoothing_value(options));
    const bool has_value = options->smoothing == NMT_SMOOTHING_FLOOR || options->smoothing == NMT_SMOOTHING_ADD_K;
    snprintf(text, capacity, "eff:no|tok:none|smooth:%s%s%s%s", names[options->smoothing], has_value ? "[" : "",
             has_value ? value : "", has_value ? "]" : "");
}

const metric metric_bleu = {"bleu", COUNTS, count, score, sign};
