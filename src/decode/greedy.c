/*
 * Sentences are extended together, a token a step. As many as there is room for begin; where one has ended, the next
 * that has not yet begun takes its place, so that a step has its full number of rows to read the weights for, until
 * only the last ones are left.
 */
#include "decode/greedy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    size_t begun;    /* sentences 0 .. begun-1 */
    runner *runners; /* [width] */
    size_t *parents; /* [width] their rows in the step before */
    size_t *joining; /* [width] */
    size_t width, count;
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

/* A runner for each of the next sentences, as far as there is room; how many they are. */
static size_t line_up(greedy *search)
{
    size_t joined = 0;
    for (; search->count < search->width && search->begun < search->sources->count; search->begun++) {
        const size_t source_length = search->sources->length[search->sources->row[search->begun]];
        search->joining[joined++] = search->begun;
        search->best[search->begun].source_length = source_length;
        search->runners[search->count++] = (runner){.sentence = search->begun,
                                                    .limit = search_length_limit(search->options, source_length - 1),
                                                    .token = TOKEN_START};
    }
    return joined;
}

/* `previous` [width] is room for the tokens that a step is fed. */
static nmt_status run(greedy *search, decoding *state, int32_t *previous, nmt_error *error)
{
    while (search->count > 0) {
        for (size_t row = 0; row < search->count; row++) {
            previous[row] = search->runners[row].token;
        }
        TRY(model_step(state, previous, &search->logits, &search->alpha, error));
        parallel_for(search->count, 1, choose_rows, search);
        TRY(extend_all(search, error));
        const size_t kept = search->count, joined = line_up(search);
        if (search->count > 0) {
            TRY(model_reorder(state, search->parents, kept, error));
        }
        if (joined > 0) {
            TRY(model_join(state, search->joining, joined, error));
        }
    }
    return NMT_OK;
}

static nmt_status start_and_run(greedy *search, nmt_model *model, int32_t *previous, nmt_error *error)
{
    decoding *state;
    memset(search->best, 0, search->sources->count * sizeof *search->best);
    line_up(search);
    TRY(model_start(model, search->sources, search->width, &state, error));
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
    assert(options->width >= 1);
    assert(options->max_length_extra >= 1); /* every sentence takes part in the first step */
    const size_t width = options->width < sources->count ? options->width : sources->count;
    greedy search = {.sources = sources,
                     .line = line,
                     .options = options,
                     .best = best,
                     .V = vocabulary_size(model->target_words),
                     .width = width};
    int32_t *previous = NULL;
    nmt_status status = memory_new(&search.runners, width, sizeof *search.runners, "a search", error);
    if (status == NMT_OK) {
        status = memory_new(&search.parents, width, sizeof *search.parents, "a search", error);
    }
    if (status == NMT_OK) {
        status = memory_new(&search.joining, width, sizeof *search.joining, "a search", error);
    }
    if (status == NMT_OK) {
        status = memory_new(&previous, width, sizeof *previous, "a search", error);
    }
    if (status == NMT_OK) {
        status = start_and_run(&search, model, previous, error);
    }
    free(search.runners);
    free(search.parents);
    free(search.joining);
    free(previous);
    return status;
}
