/* Greedy search on one sentence that keeps what each step did: slower than
 * decode/greedy.c, and chooses the same. */
#include <math.h>
#include <nmt/explain.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "decode/search_options.h"
#include "decode/sentence.h"
#include "model/model.h"
#include "ops/log_sum_exp.h"

static const char what[] = "an explanation";

typedef struct explainer {
    nmt_model *model;
    nmt_explanation *to;
    size_t capacity; /* of to->steps */
    real *energies;  /* [source_count] of a step */
} explainer;

void nmt_explanation_clear(nmt_explanation *explanation)
{
    if (explanation == NULL) {
        return;
    }
    for (size_t i = 0; explanation->source != NULL && i < explanation->source_count; i++) {
        free(explanation->source[i]);
    }
    for (size_t t = 0; t < explanation->step_count; t++) {
        nmt_explained_step *step = &explanation->steps[t];
        free(step->energies);
        free(step->weights);
        for (size_t i = 0; i < step->candidate_count; i++) {
            free(step->candidates[i].token);
        }
    }
    free(explanation->source);
    free(explanation->steps);
    *explanation = (nmt_explanation){0};
}

/* Numbers of the most probable tokens but `<s>`, the best first and the first
 * among equals; returns how many. */
static size_t best_tokens(size_t best[NMT_CANDIDATES], const real *logits, size_t V)
{
    size_t count = 0;
    for (size_t id = 0; id < V; id++) {
        size_t place = count;
        while (place > 0 && logits[id] > logits[best[place - 1]]) {
            place--;
        }
        if (id == TOKEN_START || place == NMT_CANDIDATES) {
            continue;
        }
        count += count < NMT_CANDIDATES;
        memmove(best + place + 1, best + place, (count - 1 - place) * sizeof *best);
        best[place] = id;
    }
    return count;
}

static nmt_status fill_candidates(const explainer *work, nmt_explained_step *step, const size_t *best, size_t count,
                                  const real *logits, nmt_error *error)
{
    const vocabulary *words = work->model->target_words;
    const double sum = log_sum_exp(logits, vocabulary_size(words));
    if (!isfinite(sum)) {
        return error_set(error, NMT_NOT_FINITE, "the model gives NaN or infinity for token %zu of the translation",
                         work->to->step_count);
    }
    for (size_t i = 0; i < count; i++) {
        const char *word = vocabulary_word(words, (int32_t)best[i]);
        TRY(memory_copy_text(&step->candidates[i].token, word, strlen(word), what, error));
        step->candidates[i].probability = exp((double)logits[best[i]] - sum);
        step->candidate_count++;
    }
    return NMT_OK;
}

static nmt_status copy_reals(double **to, const real *from, size_t count, nmt_error *error)
{
    TRY(memory_new(to, count, sizeof **to, what, error));
    for (size_t i = 0; i < count; i++) {
        (*to)[i] = (double)from[i];
    }
    return NMT_OK;
}

/* One step, of which `*token`, the one before, becomes the one chosen. */
static nmt_status explain_step(explainer *work, decoding *state, int32_t *token, nmt_error *error)
{
    nmt_explanation *to = work->to;
    const real *logits, *alpha;
    size_t best[NMT_CANDIDATES] = {0};
    model_observation seen = {.energies = work->energies};
    TRY(model_step(state, token, &logits, &alpha, error));
    model_observe(state, &seen);
    TRY(memory_grow(&to->steps, &work->capacity, to->step_count + 1, sizeof *to->steps, what, error));
    nmt_explained_step *step = &to->steps[to->step_count++];
    *step = (nmt_explained_step){.state_norm = seen.state_norm, .context_norm = seen.context_norm};
    TRY(copy_reals(&step->weights, alpha, to->source_count, error));
    if (seen.energies != NULL) {
        TRY(copy_reals(&step->energies, seen.energies, to->source_count, error));
    }
    const size_t count = best_tokens(best, logits, vocabulary_size(work->model->target_words));
    *token = (int32_t)best[0];
    return fill_candidates(work, step, best, count, logits, error);
}

static nmt_status explain_steps(explainer *work, decoding *state, nmt_error *error)
{
    const search_options usual = {.max_length_ratio = search_length_ratio(work->model->length_ratio),
                                  .max_length_extra = search_length_extra(0)};
    const size_t limit = search_length_limit(&usual, work->to->source_count - 1);
    const size_t parent = 0;
    int32_t token = TOKEN_START;
    TRY(explain_step(work, state, &token, error));
    while (token != TOKEN_END && work->to->step_count < limit) {
        TRY(model_reorder(state, &parent, 1, error));
        TRY(explain_step(work, state, &token, error));
    }
    return NMT_OK;
}

static nmt_status explain_sentence(explainer *work, const sentence *from, nmt_error *error)
{
    nmt_explanation *to = work->to;
    const int32_t *ids = from->ids;
    sequences source = {0};
    decoding *state;
    to->source_count = from->length + 1;
    TRY(memory_new(&to->source, to->source_count, sizeof *to->source, what, error));
    TRY(sentence_tokens(from, to->source, error));
    TRY(memory_new(&work->energies, to->source_count, sizeof *work->energies, what, error));
    nmt_status status = sequences_set(&source, &ids, &to->source_count, 1, error);
    if (status == NMT_OK) {
        status = model_start(work->model, &source, 1, &state, error);
    }
    if (status == NMT_OK) {
        status = explain_steps(work, state, error);
        model_finish(state);
    }
    sequences_free(&source);
    return status;
}

nmt_status nmt_explain(nmt_model *model, const char *line, nmt_explanation *explanation, nmt_error *error)
{
    explainer work = {.model = model, .to = explanation};
    sentence *read;
    *explanation = (nmt_explanation){0};
    if (model->interface->observe == NULL) {
        return error_set(error, NMT_UNSUPPORTED, "expected one model, found an ensemble: its steps have no one state");
    }
    TRY(sentences_create(&read, &line, 1, model, SENTENCE_SOURCE, "line", error));
    nmt_status status = NMT_OK;
    if (read->length > 0) {
        status = explain_sentence(&work, read, error);
    }
    sentences_free(read, 1);
    free(work.energies);
    if (status != NMT_OK) {
        nmt_explanation_clear(explanation);
    }
    return status;
}
