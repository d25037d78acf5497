/* A metric as a row of a table: what it counts in a line, and what score the sums of these counts are. */
#ifndef METRICS_METRIC_H
#define METRICS_METRIC_H

#include <nmt/evaluate.h>

#include "data/word_table.h"
#include "metrics/ngrams.h"

enum { METRIC_COUNTS = 24, SIGNATURE_CAPACITY = 160 };

/* What counting needs, kept from line to line. */
typedef struct counter {
    word_table words;
    symbols hypothesis, reference; /* of the line */
    ngram_set ngrams;
} counter;

typedef struct metric {
    const char *name;
    size_t counts; /* numbers a line, at most METRIC_COUNTS */

    /* counts[.counts], zero before, of one line against `reference_count` > 0 references. */
    nmt_status (*count)(counter *work, const char *hypothesis, const char *const *references, size_t reference_count,
                        uint64_t *counts, nmt_error *error);

    double (*score)(const uint64_t *counts, const nmt_metric_options *options);

    /* The part of the signature that is the metric's own. */
    void (*sign)(char *text, size_t capacity, const nmt_metric_options *options);
} metric;

extern const metric metric_bleu, metric_chrf, metric_chrf_words, metric_accuracy, metric_token_accuracy,
    metric_error_rate;

/* BLEU and its parts from metric_bleu's counts. */
void bleu_combine(nmt_bleu *bleu, const uint64_t *counts, const nmt_metric_options *options);

#endif
