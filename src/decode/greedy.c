/*
 * The sentences of a batch are extended together, a token a step. Those that have ended leave the batch, so a step
 * costs what the sentences still unfinished cost.
 */
#include "decode/greedy.h"

#include <assert.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "data/vocabulary.h"
#include "ops/log_sum_exp.h"

/* One hypothesis that goes on. */
typedef struct runner {
    size_t sentence;        /* whom it translates */
    size_t limit;           /* of its words */
    int32_t token;          /* chosen last; `<s>` at first */
    double log_probability; /* of that token */
} runner;

typedef struct greedy {
    const sequences *sources;
    const size_t *line;
    const search_options *options;
    hypothesis *best;
    size_t V;
    runner *runners; /* [count] */
    size_t *parents; /* [count] their rows in the step before */
    size_t count;
    const real *logits; /* [count, V] of this step */
    const real *alpha;  /* [count, S] */
} greedy;

static void choose_rows(void *context, size_t begin, size_t end)
{
    const greedy *search = context;
    for (size_t row = begin; row < end; row++) {
        const real *logits = search->logits + row * search->V;
        runner *each = &search->runners[row];
        each->token = model_likeliest(logits, search->V);
        each->log_probability = (double)logits[each->token] - log_sum_exp(logits, search->V);
    }
}

/* Gives the chosen token to the hypothesis of the runner at `row`. */
static nmt_status extend(const greedy *search, size_t row, nmt_error *error)
{
    const runner *each = &search->runners[row];
    hypothesis *to = &search->best[each->sentence];
    if (!isfinite(each->log_probability)) {
        return error_set(error, NMT_NOT_FINITE,
                         "line %zu: the model gives NaN or infinity for token %zu of its translation",
                         search->line[each->sentence], to->length + 1);
    }
    const real *alpha = search->options->alpha ? search->alpha + row * search->sources->steps : NULL;
    return hypothesis_append(to, each->token, each->log_probability, alpha, error);
}

/* Extends every hypothesis by the token chosen for it and keeps the runners that go on. */
static nmt_status extend_all(greedy *search, nmt_error *error)
{
    size_t kept = 0;
    for (size_t row = 0; row < search->count; row++) {
        TRY(extend(search, row, error));
        const runner each = search->runners[row];
        if (each.token != TOKEN_END && search->best[each.sentence].length < each.limit) {
            search->runners[kept] = each;
            search->parents[kept++] = row;
        }
    }
    search->count = kept;
    return NMT_OK;
}

/* `previous` [count] is room for the tokens that a step is fed. */
static nmt_status run(greedy *search, decoding *state, int32_t *previous, nmt_error *error)
{
    while (search->count > 0) {
        for (size_t row = 0; row < search->count; row++) {
            previous[row] = search->runners[row].token;
        }
        TRY(model_step(state, previous, &search->logits, &search->alpha, error));
        parallel_for(search->count, 1, choose_rows, search);
        TRY(extend_all(search, error));
        if (search->count > 0) {
            TRY(model_reorder(state, search->parents, search->count, error));
        }
    }
    return NMT_OK;
}

/* A runner for every sentence. */
static void line_up(greedy *search)
{
    for (size_t i = 0; i < search->sources->count; i++) {
        const size_t source_length = search->sources->length[search->sources->row[i]];
        search->best[i] = (hypothesis){.source_length = source_length};
        search->runners[i] = (runner){
            .sentence = i, .limit = search_length_limit(search->options, source_length - 1), .token = TOKEN_START};
    }
    search->count = search->sources->count;
}

static nmt_status start_and_run(greedy *search, nmt_model *model, int32_t *previous, nmt_error *error)
{
    decoding *state;
    line_up(search);
    TRY(model_start(model, search->sources, 1, &state, error));
    const nmt_status status = run(search, state, previous, error);
    model_finish(state);
    for (size_t i = 0; i < search->sources->count; i++) {
        hypothesis *best = &search->best[i];
        if (status == NMT_OK) {
            best->score = search_score(search->options, best->log_probability, best->length);
        } else {
            hypothesis_free(best);
        }
    }
    return status;
}

nmt_status greedy_search(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                         hypothesis *best, nmt_error *error)
{
    assert(options->nbest == 1);
    assert(options->max_length_extra >= 1); /* every sentence takes part in the first step */
    greedy search = {
        .sources = sources, .line = line, .options = options, .best = best, .V = vocabulary_size(model->target_words)};
    int32_t *previous = NULL;
    nmt_status status = memory_new(&search.runners, sources->count, sizeof *search.runners, "a search", error);
    if (status == NMT_OK) {
        status = memory_new(&search.parents, sources->count, sizeof *search.parents, "a search", error);
    }
    if (status == NMT_OK) {
        status = memory_new(&previous, sources->count, sizeof *previous, "a search", error);
    }
    if (status == NMT_OK) {
        status = start_and_run(&search, model, previous, error);
    }
    free(search.runners);
    free(search.parents);
    free(previous);
    return status;
}
