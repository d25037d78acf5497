/*
 * The probability of given translations, by the same steps that search takes, so that a model gives the same numbers
 * here and there. The pairs of a batch whose targets have ended leave it.
 */
#include <math.h>
#include <nmt/score.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "decode/sentence.h"
#include "model/model.h"
#include "ops/log_sum_exp.h"

static const size_t default_batch_size = 64;

typedef struct scorer {
    nmt_model *model;
    size_t batch_size;
    sentence *sources, *targets; /* of all pairs */
    nmt_pair_score *scores;

    sequences packed; /* sources of a batch, as are the rest: [batch_size] */
    const int32_t **ids;
    size_t *lengths;
    size_t *pairs;   /* whom each row belongs to */
    size_t *parents; /* its row in the step before */
    int32_t *previous;
    size_t count; /* rows whose targets go on */
    size_t step;  /* target tokens before this one */
    const real *logits;
} scorer;

void nmt_pair_score_clear(nmt_pair_score *score)
{
    if (score != NULL) {
        free(score->token_log_probabilities);
        *score = (nmt_pair_score){0};
    }
}

static void score_rows(void *context, size_t begin, size_t end)
{
    const scorer *work = context;
    const size_t V = vocabulary_size(work->model->target_words);
    for (size_t row = begin; row < end; row++) {
        const real *logits = work->logits + row * V;
        const size_t pair = work->pairs[row];
        const int32_t token = work->targets[pair].ids[work->step];
        work->scores[pair].token_log_probabilities[work->step] = (double)logits[token] - log_sum_exp(logits, V);
    }
}

/* Adds up this step and keeps the rows whose targets go on. */
static nmt_status add_step(scorer *work, nmt_error *error)
{
    size_t kept = 0;
    for (size_t row = 0; row < work->count; row++) {
        const size_t pair = work->pairs[row];
        nmt_pair_score *score = &work->scores[pair];
        const double log_probability = score->token_log_probabilities[work->step];
        if (!isfinite(log_probability)) {
            return error_set(error, NMT_NOT_FINITE, "line %zu: the model gives NaN or infinity for target token %zu",
                             pair + 1, work->step + 1);
        }
        score->log_probability += log_probability;
        if (work->step + 1 < score->token_count) {
            work->pairs[kept] = pair;
            work->parents[kept] = row;
            work->previous[kept++] = work->targets[pair].ids[work->step];
        }
    }
    work->count = kept;
    work->step++;
    return NMT_OK;
}

static nmt_status run(scorer *work, decoding *state, nmt_error *error)
{
    while (work->count > 0) {
        const real *alpha;
        TRY(model_step(state, work->previous, &work->logits, &alpha, error));
        parallel_for(work->count, 1, score_rows, work);
        TRY(add_step(work, error));
        if (work->count > 0) {
            TRY(model_reorder(state, work->parents, work->count, error));
        }
    }
    return NMT_OK;
}

static nmt_status prepare_score(nmt_pair_score *score, const sentence *target, nmt_error *error)
{
    score->token_count = target->length + 1;
    for (size_t t = 0; t < target->length; t++) {
        score->unknown_count += target->ids[t] == TOKEN_UNKNOWN;
    }
    return memory_new(&score->token_log_probabilities, score->token_count, sizeof *score->token_log_probabilities,
                      "a score", error);
}

/* The pairs first .. first+count-1. */
static nmt_status score_batch(scorer *work, size_t first, size_t count, nmt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        work->ids[i] = work->sources[first + i].ids;
        work->lengths[i] = work->sources[first + i].length + 1;
        work->pairs[i] = first + i;
        work->previous[i] = TOKEN_START;
        TRY(prepare_score(&work->scores[first + i], &work->targets[first + i], error));
    }
    work->count = count;
    work->step = 0;
    TRY(sequences_set(&work->packed, work->ids, work->lengths, count, error));
    decoding *state;
    TRY(model_start(work->model, &work->packed, count, &state, error));
    const nmt_status status = run(work, state, error);
    model_finish(state);
    return status;
}

static nmt_status set_up(scorer *work, const char *const *sources, const char *const *targets, size_t count,
                         nmt_error *error)
{
    const nmt_model *model = work->model;
    const char *what = "a batch of scores";
    TRY(sentences_create(&work->sources, sources, count, model, SENTENCE_SOURCE, "source line", error));
    TRY(sentences_create(&work->targets, targets, count, model, SENTENCE_TARGET, "target line", error));
    TRY(memory_new(&work->ids, work->batch_size, sizeof *work->ids, what, error));
    TRY(memory_new(&work->lengths, work->batch_size, sizeof *work->lengths, what, error));
    TRY(memory_new(&work->pairs, work->batch_size, sizeof *work->pairs, what, error));
    TRY(memory_new(&work->parents, work->batch_size, sizeof *work->parents, what, error));
    return memory_new(&work->previous, work->batch_size, sizeof *work->previous, what, error);
}

static void tear_down(scorer *work, size_t count)
{
    sentences_free(work->sources, count);
    sentences_free(work->targets, count);
    sequences_free(&work->packed);
    free(work->ids);
    free(work->lengths);
    free(work->pairs);
    free(work->parents);
    free(work->previous);
}

nmt_status nmt_score(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                     size_t batch_size, nmt_pair_score *scores, nmt_error *error)
{
    const size_t size = batch_size > 0 ? batch_size : default_batch_size;
    scorer work = {.model = model, .batch_size = size < count ? size : count, .scores = scores};
    for (size_t i = 0; i < count; i++) {
        scores[i] = (nmt_pair_score){0};
    }
    nmt_status status = set_up(&work, sources, targets, count, error);
    for (size_t first = 0; first < count && status == NMT_OK; first += work.batch_size) {
        status = score_batch(&work, first, count - first < size ? count - first : size, error);
    }
    tear_down(&work, count);
    for (size_t i = 0; status != NMT_OK && i < count; i++) {
        nmt_pair_score_clear(&scores[i]);
    }
    return status;
}
