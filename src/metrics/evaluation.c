/*
 * A text scored by a metric: the counts of each line, and their sums. Scores are functions of sums, so that a sample of
 * lines (bootstrap.c) is scored without looking at text again.
 */
#include "metrics/evaluation.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "data/text.h"

static const metric *const metrics[NMT_METRIC_COUNT] = {
    [NMT_METRIC_BLEU] = &metric_bleu,
    [NMT_METRIC_CHRF] = &metric_chrf,
    [NMT_METRIC_CHRF_WORDS] = &metric_chrf_words,
    [NMT_METRIC_ACCURACY] = &metric_accuracy,
    [NMT_METRIC_TOKEN_ACCURACY] = &metric_token_accuracy,
    [NMT_METRIC_ERROR_RATE] = &metric_error_rate,
};

/* One line and its references, prepared. */
typedef struct line_texts {
    size_t capacity;      /* texts: the hypothesis and its references */
    text_buffer *buffers; /* [capacity] */
    const char **texts;   /* [capacity]; the hypothesis, then the references that are there */
    size_t count;
} line_texts;

const char *nmt_metric_name(nmt_metric number)
{
    return metrics[number]->name;
}

static nmt_status check(nmt_metric number, const nmt_metric_options *options, size_t reference_count, size_t count,
                        nmt_error *error)
{
    if ((unsigned)number >= NMT_METRIC_COUNT || (unsigned)options->smoothing > NMT_SMOOTHING_ADD_K) {
        return error_set(error, NMT_INVALID, "unknown metric number %d or smoothing number %d", (int)number,
                         (int)options->smoothing);
    }
    if (!isfinite(options->smoothing_value) || options->smoothing_value < 0) {
        return error_set(error, NMT_INVALID, "the smoothing value is negative or not finite");
    }
    if (count == 0 || reference_count == 0) {
        return error_set(error, NMT_INVALID, "expected at least one %s, found none",
                         count == 0 ? "line to score" : "reference");
    }
    return NMT_OK;
}

static nmt_status prepare(line_texts *line, const char *text, text_options options, nmt_error *error)
{
    size_t length;
    const size_t i = line->count++;
    return text_prepare(&line->texts[i], &length, text, strlen(text), options, &line->buffers[i], error);
}

/* Line number `i` (from 0) into `line`. */
static nmt_status prepare_line(line_texts *line, const char *hypothesis, const char *const *const *references,
                               size_t reference_count, size_t i, text_options options, nmt_error *error)
{
    line->count = 0;
    TRY(prepare(line, hypothesis, options, error));
    for (size_t r = 0; r < reference_count; r++) {
        if (references[r][i] != NULL) {
            TRY(prepare(line, references[r][i], options, error));
        }
    }
    return line->count > 1 ? NMT_OK : error_set(error, NMT_INVALID, "line %zu has no reference", i + 1);
}

static void sign(nmt_evaluation *evaluation, size_t reference_count, bool vary)
{
    char number[24] = "var";
    char own[SIGNATURE_CAPACITY / 2];
    if (!vary) {
        snprintf(number, sizeof number, "%zu", reference_count);
    }
    evaluation->by->sign(own, sizeof own, &evaluation->options);
    snprintf(evaluation->signature, sizeof evaluation->signature, "nrefs:%s|case:%s|%s|version:nmt-%s", number,
             evaluation->options.lowercase ? "lc" : "mixed", own, NMT_VERSION);
}

static nmt_status count_lines(nmt_evaluation *evaluation, counter *work, line_texts *line,
                              const char *const *hypotheses, const char *const *const *references,
                              size_t reference_count, nmt_error *error)
{
    const metric *by = evaluation->by;
    const text_options options = {.lowercase = evaluation->options.lowercase};
    bool vary = false;
    for (size_t i = 0; i < evaluation->line_count; i++) {
        uint64_t *counts = evaluation->lines + i * by->counts;
        TRY(prepare_line(line, hypotheses[i], references, reference_count, i, options, error));
        TRY(by->count(work, line->texts[0], line->texts + 1, line->count - 1, counts, error));
        for (size_t k = 0; k < by->counts; k++) {
            evaluation->sums[k] += counts[k];
        }
        vary = vary || line->count != line->capacity;
    }
    sign(evaluation, reference_count, vary);
    return NMT_OK;
}

static nmt_status count_all(nmt_evaluation *evaluation, const char *const *hypotheses,
                            const char *const *const *references, size_t reference_count, nmt_error *error)
{
    counter work = {0};
    line_texts line = {.capacity = reference_count + 1};
    nmt_status status = memory_new(&line.buffers, line.capacity, sizeof *line.buffers, "a line's texts", error);
    if (status == NMT_OK) {
        status = memory_new(&line.texts, line.capacity, sizeof *line.texts, "a line's texts", error);
    }
    if (status == NMT_OK) {
        status = count_lines(evaluation, &work, &line, hypotheses, references, reference_count, error);
    }
    for (size_t i = 0; line.buffers != NULL && i < line.capacity; i++) {
        text_buffer_free(&line.buffers[i]);
    }
    free(line.buffers);
    free(line.texts);
    word_table_free(&work.words);
    free(work.hypothesis.items);
    free(work.reference.items);
    ngrams_free(&work.ngrams);
    return status;
}

nmt_status nmt_evaluate(nmt_evaluation **evaluation, nmt_metric number, const nmt_metric_options *options,
                        const char *const *hypotheses, const char *const *const *references, size_t reference_count,
                        size_t count, nmt_error *error)
{
    static const nmt_metric_options defaults;
    const nmt_metric_options *chosen = options != NULL ? options : &defaults;
    *evaluation = NULL;
    TRY(check(number, chosen, reference_count, count, error));
    nmt_evaluation *created;
    TRY(memory_new(&created, 1, sizeof *created, "an evaluation", error));
    created->by = metrics[number];
    created->options = *chosen;
    created->line_count = count;
    assert(created->by->counts <= METRIC_COUNTS);
    nmt_status status = memory_new(&created->lines, count, created->by->counts * sizeof *created->lines,
                                   "the counts of all lines", error);
    if (status == NMT_OK) {
        status = count_all(created, hypotheses, references, reference_count, error);
    }
    if (status != NMT_OK) {
        nmt_evaluation_free(created);
        return status;
    }
    *evaluation = created;
    return NMT_OK;
}

double nmt_evaluation_score(const nmt_evaluation *evaluation)
{
    return evaluation->by->score(evaluation->sums, &evaluation->options);
}

nmt_bleu nmt_evaluation_bleu(const nmt_evaluation *evaluation)
{
    nmt_bleu bleu = {0};
    if (evaluation->by == &metric_bleu) {
        bleu_combine(&bleu, evaluation->sums, &evaluation->options);
    }
    return bleu;
}

void nmt_evaluation_counts(const nmt_evaluation *evaluation, size_t *right, size_t *total)
{
    *right = evaluation->sums[0];
    *total = evaluation->sums[1];
}

const char *nmt_evaluation_signature(const nmt_evaluation *evaluation)
{
    return evaluation->signature;
}

void nmt_evaluation_free(nmt_evaluation *evaluation)
{
    if (evaluation != NULL) {
        free(evaluation->lines);
        free(evaluation);
    }
}

nmt_status nmt_bleu_corpus(nmt_bleu *bleu, const char *const *hypotheses, const char *const *references, size_t count,
                           nmt_error *error)
{
    nmt_evaluation *evaluation;
    TRY(nmt_evaluate(&evaluation, NMT_METRIC_BLEU, NULL, hypotheses, &references, 1, count, error));
    *bleu = nmt_evaluation_bleu(evaluation);
    nmt_evaluation_free(evaluation);
    return NMT_OK;
}
