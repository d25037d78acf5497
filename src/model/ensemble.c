#include "model/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "core/quote.h"
#include "core/simd.h"
#include "ops/log_sum_exp.h"

typedef struct ensemble {
    nmt_model **members;
    size_t count;
} ensemble;

static const model_interface ensemble_interface;

static void free_architecture(void *architecture)
{
    ensemble *of = architecture;
    if (of != NULL) {
        for (size_t i = 0; i < of->count; i++) {
            nmt_model_free(of->members[i]);
        }
        free(of->members);
        free(of);
    }
}

static nmt_status quantize(nmt_model *model, nmt_error *error)
{
    const ensemble *of = model->architecture;
    for (size_t i = 0; i < of->count; i++) {
        TRY(nmt_model_quantize(of->members[i], error));
    }
    return NMT_OK;
}

/* ---- who may stand together -----------------------------------------------------------------------------------------
 */

typedef struct member {
    const nmt_model *model;
    const char *name;
} member;

/* `expected` and `found` are the vocabularies of one side. */
static nmt_status check_words(const vocabulary *expected, const vocabulary *found, const char *side, member first,
                              member other, nmt_error *error)
{
    path_quotation first_name, other_name;
    quotation first_word, other_word;
    const size_t expected_size = vocabulary_size(expected), found_size = vocabulary_size(found);
    quote_path(&first_name, first.name);
    quote_path(&other_name, other.name);
    for (size_t i = 0; i < expected_size && i < found_size; i++) {
        const char *a = vocabulary_word(expected, (int32_t)i);
        const char *b = vocabulary_word(found, (int32_t)i);
        if (strcmp(a, b) != 0) {
            return error_set(error, NMT_INVALID,
                             "%s: expected the vocabularies of %s, but %s word %zu is %s and not %s", other_name.text,
                             first_name.text, side, i, quote(&other_word, b, strlen(b)),
                             quote(&first_word, a, strlen(a)));
        }
    }
    if (expected_size == found_size) {
        return NMT_OK;
    }
    const bool more = found_size > expected_size;
    const char *word =
        more ? vocabulary_word(found, (int32_t)expected_size) : vocabulary_word(expected, (int32_t)found_size);
    return error_set(error, NMT_INVALID, "%s: expected the vocabularies of %s, but %s word %zu, %s, is only in %s",
                     other_name.text, first_name.text, side, more ? expected_size : found_size,
                     quote(&first_word, word, strlen(word)), more ? other_name.text : first_name.text);
}

static nmt_status check_segmenters(const segmenter *expected, const segmenter *found, const char *side, member first,
                                   member other, nmt_error *error)
{
    return segmenter_equal(expected, found)
               ? NMT_OK
               : error_set(error, NMT_INVALID, "%s: expected the %s text to be segmented as in %s, found another way",
                           quote_path(&(path_quotation){{0}}, other.name), side,
                           quote_path(&(path_quotation){{0}}, first.name));
}

static nmt_status check_member(member first, member other, nmt_error *error)
{
    const nmt_config *a = first.model->config, *b = other.model->config;
    if (a->data.lowercase != b->data.lowercase || a->data.nfc != b->data.nfc) {
        return error_set(error, NMT_INVALID, "%s: expected data.%s as in %s, an ensemble prepares text in one way",
                         quote_path(&(path_quotation){{0}}, other.name),
                         a->data.lowercase != b->data.lowercase ? "lowercase" : "nfc",
                         quote_path(&(path_quotation){{0}}, first.name));
    }
    TRY(check_segmenters(first.model->segmenters.source, other.model->segmenters.source, "source", first, other,
                         error));
    TRY(check_segmenters(first.model->segmenters.target, other.model->segmenters.target, "target", first, other,
                         error));
    TRY(check_words(first.model->source_words, other.model->source_words, "source", first, other, error));
    return check_words(first.model->target_words, other.model->target_words, "target", first, other, error);
}

/* ---- decoding -------------------------------------------------------------------------------------------------------
 */

typedef struct ensemble_decoding {
    decoding base;
    size_t members;
    decoding **states;          /* [members] */
    const real **member_logits; /* [members][rows, V] of this step */
    const real **member_alpha;  /* [members][rows, S] */
    double *normalisers;        /* [width, members] */
    real *logits;               /* [width, V] */
    real *alpha;                /* [width, S] */
    size_t V, S, rows;          /* hypotheses now */
} ensemble_decoding;

static void finish(decoding *base)
{
    ensemble_decoding *state = (ensemble_decoding *)base;
    for (size_t m = 0; state->states != NULL && m < state->members; m++) {
        model_finish(state->states[m]);
    }
    free(state->states);
    free(state->member_logits);
    free(state->member_alpha);
    free(state->normalisers);
    free(state->logits);
    free(state->alpha);
    free(state);
}

static nmt_status start_members(ensemble_decoding *state, const ensemble *of, const sequences *sources, size_t width,
                                nmt_error *error)
{
    const char *what = "decoding";
    TRY(memory_new(&state->states, of->count, sizeof *state->states, what, error));
    TRY(memory_new(&state->member_logits, of->count, sizeof *state->member_logits, what, error));
    TRY(memory_new(&state->member_alpha, of->count, sizeof *state->member_alpha, what, error));
    TRY(memory_new(&state->normalisers, width * of->count, sizeof *state->normalisers, what, error));
    TRY(memory_new(&state->logits, width * state->V, sizeof *state->logits, what, error));
    TRY(memory_new(&state->alpha, width * state->S, sizeof *state->alpha, what, error));
    for (size_t m = 0; m < of->count; m++) {
        TRY(model_start(of->members[m], sources, width, &state->states[m], error));
    }
    return NMT_OK;
}

static nmt_status start(nmt_model *model, const sequences *sources, size_t width, decoding **out, nmt_error *error)
{
    const ensemble *of = model->architecture;
    ensemble_decoding *state;
    TRY(memory_new(&state, 1, sizeof *state, "decoding", error));
    state->base.interface = &ensemble_interface;
    state->members = of->count;
    state->V = vocabulary_size(model->target_words);
    state->S = sources->steps;
    state->rows = sources->count < width ? sources->count : width;
    const nmt_status status = start_members(state, of, sources, width, error);
    if (status != NMT_OK) {
        finish(&state->base);
        return status;
    }
    *out = &state->base;
    return NMT_OK;
}

enum { BLOCK = 256 };

/* largest[i] = max(largest[i], logits[i] - normaliser) */
static SIMD_CLONES void raise(real *restrict largest, const real *restrict logits, real normaliser, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        const real log_p = logits[i] - normaliser;
        largest[i] = log_p > largest[i] ? log_p : largest[i];
    }
}

/* sum[i] += exp(logits[i] - normaliser - largest[i]) */
static SIMD_CLONES void add_exponentials(real *restrict sum, const real *restrict largest, const real *restrict logits,
                                         real normaliser, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        sum[i] += REAL(exp)(logits[i] - normaliser - largest[i]);
    }
}

static SIMD_CLONES void finish_mean(real *restrict mean, const real *restrict largest, const real *restrict sum,
                                    real members, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        mean[i] = largest[i] + REAL(log)(sum[i] / members);
    }
}

/* The log of the mean of exp(logits_m[i] - normaliser_m) over the members, for tokens begin .. end-1 of a row; relative
 * to the largest of each token, so that no probability is too small. */
static void average_tokens(const ensemble_decoding *state, size_t row, size_t begin, size_t end)
{
    const double *normalisers = state->normalisers + row * state->members;
    real largest[BLOCK], sum[BLOCK];
    const size_t count = end - begin, at = row * state->V + begin;
    for (size_t i = 0; i < count; i++) {
        largest[i] = -(real)INFINITY;
        sum[i] = 0;
    }
    for (size_t m = 0; m < state->members; m++) {
        raise(largest, state->member_logits[m] + at, (real)normalisers[m], count);
    }
    for (size_t m = 0; m < state->members; m++) {
        add_exponentials(sum, largest, state->member_logits[m] + at, (real)normalisers[m], count);
    }
    finish_mean(state->logits + at, largest, sum, (real)state->members, count);
}

/* NaN or infinity of a member makes its normaliser NaN, and with that the whole row: a search tells of it. */
static void average_rows(void *context, size_t begin, size_t end)
{
    const ensemble_decoding *state = context;
    for (size_t row = begin; row < end; row++) {
        for (size_t m = 0; m < state->members; m++) {
            state->normalisers[row * state->members + m] =
                log_sum_exp(state->member_logits[m] + row * state->V, state->V);
        }
        for (size_t i = 0; i < state->V; i += BLOCK) {
            average_tokens(state, row, i, i + BLOCK < state->V ? i + BLOCK : state->V);
        }
    }
}

/* mean[count] of what the members give. */
static void average(real *mean, const real *const *values, size_t members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        real sum = 0;
        for (size_t m = 0; m < members; m++) {
            sum += values[m][i];
        }
        mean[i] = sum / (real)members;
    }
}

static nmt_status step(decoding *base, const int32_t *previous, const real **logits, const real **alpha,
                       nmt_error *error)
{
    ensemble_decoding *state = (ensemble_decoding *)base;
    for (size_t m = 0; m < state->members; m++) {
        TRY(model_step(state->states[m], previous, &state->member_logits[m], &state->member_alpha[m], error));
    }
    parallel_for(state->rows, 1, average_rows, state);
    average(state->alpha, state->member_alpha, state->members, state->rows * state->S);
    *logits = state->logits;
    *alpha = state->alpha;
    return NMT_OK;
}

static nmt_status reorder(decoding *base, const size_t *parents, size_t count, nmt_error *error)
{
    ensemble_decoding *state = (ensemble_decoding *)base;
    for (size_t m = 0; m < state->members; m++) {
        TRY(model_reorder(state->states[m], parents, count, error));
    }
    state->rows = count;
    return NMT_OK;
}

static nmt_status join(decoding *base, const size_t *sentences, size_t count, nmt_error *error)
{
    ensemble_decoding *state = (ensemble_decoding *)base;
    for (size_t m = 0; m < state->members; m++) {
        TRY(model_join(state->states[m], sentences, count, error));
    }
    state->rows += count;
    return NMT_OK;
}

/* ---- the rest of the interface --------------------------------------------------------------------------------------
 */

static nmt_status align_members(const ensemble *of, const batch *pairs, real **each, real *alpha, size_t count,
                                nmt_error *error)
{
    for (size_t m = 0; m < of->count; m++) {
        TRY(memory_new(&each[m], count, sizeof *each[m], "the attention of a batch", error));
        TRY(model_align(of->members[m], pairs, each[m], error));
    }
    average(alpha, (const real *const *)each, of->count, count);
    return NMT_OK;
}

static nmt_status align(nmt_model *model, const batch *pairs, real *alpha, nmt_error *error)
{
    const ensemble *of = model->architecture;
    real **each;
    TRY(memory_new(&each, of->count, sizeof *each, "the attention of a batch", error));
    const nmt_status status = align_members(of, pairs, each, alpha, pairs->input.tokens * pairs->source.steps, error);
    for (size_t m = 0; m < of->count; m++) {
        free(each[m]);
    }
    free(each);
    return status;
}

static nmt_status loss(nmt_model *model, const batch *pairs, real *gradient, real scale, uint64_t update,
                       batch_loss *sum, nmt_error *error)
{
    (void)model;
    (void)pairs;
    (void)gradient;
    (void)scale;
    (void)update;
    (void)sum;
    return error_set(error, NMT_UNSUPPORTED, "an ensemble cannot be trained: its members are, each alone");
}

static const model_interface ensemble_interface = {.name = "ensemble",
                                                   .loss = loss,
                                                   .start = start,
                                                   .step = step,
                                                   .reorder = reorder,
                                                   .join = join,
                                                   .align = align,
                                                   .quantize = quantize,
                                                   .finish = finish,
                                                   .free_architecture = free_architecture};

/* ---- making one -----------------------------------------------------------------------------------------------------
 */

static nmt_status copy_segmenters(nmt_model *made, const segmenters *from, nmt_error *error)
{
    segmenters both = {NULL, NULL};
    nmt_status status = segmenter_copy(&both.source, from->source, error);
    if (status == NMT_OK) {
        status = segmenter_copy(&both.target, from->target, error);
    }
    if (status != NMT_OK) {
        segmenters_free(&both);
        return status;
    }
    return model_segment(made, both, error);
}

static nmt_status fill(nmt_model *made, nmt_model *const *members, const char *const *names, size_t count,
                       nmt_error *error)
{
    ensemble *of;
    TRY(memory_new(&of, 1, sizeof *of, "an ensemble", error));
    made->interface = &ensemble_interface;
    made->architecture = of;
    TRY(memory_new(&of->members, count, sizeof *of->members, "an ensemble", error));
    for (size_t i = 1; i < count; i++) {
        TRY(check_member((member){members[0], names[0]}, (member){members[i], names[i]}, error));
    }
    for (size_t i = 0; i < count; i++) {
        made->length_ratio = fmax(made->length_ratio, members[i]->length_ratio);
    }
    TRY(config_copy(&made->config, members[0]->config, error));
    TRY(vocabulary_copy(&made->source_words, members[0]->source_words, error));
    TRY(vocabulary_copy(&made->target_words, members[0]->target_words, error));
    TRY(copy_segmenters(made, &members[0]->segmenters, error));
    memcpy(of->members, members, count * sizeof *members);
    of->count = count;
    return NMT_OK;
}

static void free_all(nmt_model *const *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nmt_model_free(members[i]);
    }
}

nmt_status ensemble_create(nmt_model **model, nmt_model *const *members, const char *const *names, size_t count,
                           nmt_error *error)
{
    nmt_model *made;
    nmt_status status = memory_new(&made, 1, sizeof *made, "an ensemble", error);
    if (status == NMT_OK) {
        status = fill(made, members, names, count, error);
        if (status != NMT_OK) {
            nmt_model_free(made);
        }
    }
    if (status != NMT_OK) {
        free_all(members, count);
        return status;
    }
    *model = made;
    return NMT_OK;
}

static nmt_status load_all(nmt_model **members, const char *const *paths, size_t count, nmt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        TRY(nmt_model_load(&members[i], paths[i], error));
    }
    return NMT_OK;
}

nmt_status nmt_model_load_ensemble(nmt_model **model, const char *const *paths, size_t count, nmt_error *error)
{
    if (count == 0) {
        return error_set(error, NMT_INVALID, "an ensemble: expected a model at the least");
    }
    if (count == 1) {
        return nmt_model_load(model, paths[0], error);
    }
    nmt_model **members;
    TRY(memory_new(&members, count, sizeof *members, "an ensemble", error));
    nmt_status status = load_all(members, paths, count, error);
    if (status == NMT_OK) {
        status = ensemble_create(model, members, paths, count, error);
    } else {
        free_all(members, count);
    }
    free(members);
    return status;
}
