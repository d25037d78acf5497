/* Paired bootstrap resampling (Koehn 2004, "Statistical significance tests for machine translation evaluation"). */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "metrics/evaluation.h"

static nmt_status check(const nmt_evaluation *first, const nmt_evaluation *second, size_t samples, nmt_error *error)
{
    if (first->by != second->by || strcmp(first->signature, second->signature) != 0) {
        return error_set(error, NMT_INVALID, "scores of different kinds cannot be compared: %s and %s",
                         first->signature, second->signature);
    }
    if (first->line_count != second->line_count) {
        return error_set(error, NMT_INVALID, "texts of %zu and %zu lines cannot be compared", first->line_count,
                         second->line_count);
    }
    return samples > 0 ? NMT_OK : error_set(error, NMT_INVALID, "expected at least one sample, found none");
}

static void add_line(uint64_t *sums, const nmt_evaluation *evaluation, size_t line)
{
    const size_t counts = evaluation->by->counts;
    const uint64_t *from = evaluation->lines + line * counts;
    for (size_t k = 0; k < counts; k++) {
        sums[k] += from[k];
    }
}

/* Difference on as many lines as the text has, drawn with replacement, the same ones of both. */
static double sample_difference(const nmt_evaluation *first, const nmt_evaluation *second, rng *random)
{
    uint64_t sums[2][METRIC_COUNTS] = {{0}};
    for (size_t i = 0; i < first->line_count; i++) {
        const size_t line = (size_t)rng_below(random, first->line_count);
        add_line(sums[0], first, line);
        add_line(sums[1], second, line);
    }
    return first->by->score(sums[0], &first->options) - second->by->score(sums[1], &second->options);
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int sign_of(double value)
{
    return (value > 0) - (value < 0);
}

static void summarise(nmt_comparison *comparison, double *differences, size_t samples)
{
    const int sign = sign_of(comparison->difference);
    size_t against = 0;
    for (size_t i = 0; i < samples; i++) {
        against += sign == 0 || sign_of(differences[i]) != sign;
    }
    qsort(differences, samples, sizeof *differences, ascending);
    comparison->low = differences[samples / 40];
    comparison->high = differences[samples - 1 - samples / 40];
    comparison->p_value = (1 + (double)against) / (1 + (double)samples);
}

nmt_status nmt_evaluation_compare(nmt_comparison *comparison, const nmt_evaluation *first, const nmt_evaluation *second,
                                  size_t samples, uint64_t seed, nmt_error *error)
{
    TRY(check(first, second, samples, error));
    double *differences;
    TRY(memory_new(&differences, samples, sizeof *differences, "the samples of a comparison", error));
    for (size_t i = 0; i < samples; i++) {
        rng random = rng_stream(seed, "bootstrap", i);
        differences[i] = sample_difference(first, second, &random);
    }
    comparison->difference = nmt_evaluation_score(first) - nmt_evaluation_score(second);
    summarise(comparison, differences, samples);
    free(differences);
    return NMT_OK;
}
