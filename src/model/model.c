#include "model/model.h"

#include <stdlib.h>

#include "core/memory.h"
#include "model/scheduled_sampling.h"
#include "model/seq2seq.h"
#include "ops/log_sum_exp.h"

/* The configuration's bounds keep every product of sizes far from overflow: the largest tensor has 2^31 words times a
 * few times 2^16 units. */
_Static_assert(SIZE_MAX >= UINT64_MAX, "the sizes of a model are computed in 64 bits");

nmt_status model_describe(nmt_model **model, nmt_config *config, vocabulary *source_words, vocabulary *target_words,
                          nmt_error *error)
{
    nmt_model *made;
    nmt_status status = memory_new(&made, 1, sizeof *made, "a model", error);
    if (status != NMT_OK) {
        nmt_config_free(config);
        vocabulary_free(source_words);
        vocabulary_free(target_words);
        return status;
    }
    made->length_ratio = 1;
    made->config = config;
    made->source_words = source_words;
    made->target_words = target_words;
    status = seq2seq_create(made, error);
    if (status != NMT_OK) {
        nmt_model_free(made);
        return status;
    }
    *model = made;
    return NMT_OK;
}

nmt_status model_segment(nmt_model *model, segmenters both, nmt_error *error)
{
    model->segmenters = both;
    TRY(segmenter_restrict(both.source, model->source_words, error));
    return segmenter_restrict(both.target, model->target_words, error);
}

nmt_status model_allocate(nmt_model *model, nmt_error *error)
{
    return memory_new(&model->block, model->parameters.size, sizeof *model->block, "the parameters", error);
}

nmt_status model_create(nmt_model **model, nmt_config *config, vocabulary *source_words, vocabulary *target_words,
                        nmt_error *error)
{
    nmt_model *made;
    TRY(model_describe(&made, config, source_words, target_words, error));
    const nmt_status status = model_allocate(made, error);
    if (status != NMT_OK) {
        nmt_model_free(made);
        return status;
    }
    *model = made;
    return NMT_OK;
}

nmt_status model_pack(nmt_model *model, nmt_error *error)
{
    if (model->packed.count > 0) {
        return NMT_OK;
    }
    arena_measure(&model->packing);
    weights_layout_packed(&model->packed, &model->packing, &model->parameters, USE_MATRIX, false);
    const nmt_status status = arena_reserve(&model->packing, "the packed weights", error);
    if (status != NMT_OK) {
        model_changed(model);
        return status;
    }
    weights_layout_packed(&model->packed, &model->packing, &model->parameters, USE_MATRIX, false);
    weights_pack(&model->packed, model->block);
    return NMT_OK;
}

void model_changed(nmt_model *model)
{
    arena_free(&model->packing);
    model->packed.count = 0;
}

void nmt_model_free(nmt_model *model)
{
    if (model == NULL) {
        return;
    }
    if (model->interface != NULL) {
        model->interface->free_architecture(model->architecture);
    }
    nmt_config_free(model->config);
    vocabulary_free(model->source_words);
    vocabulary_free(model->target_words);
    segmenters_free(&model->segmenters);
    free(model->block);
    arena_free(&model->packing);
    weights_quantized_free(model->quantized);
    free(model->history);
    free(model->version);
    free(model);
}

nmt_status nmt_model_quantize(nmt_model *model, nmt_error *error)
{
    return model->quantized == NULL ? model->interface->quantize(model, error) : NMT_OK;
}

/* With some of the reference's words in the decoder's input replaced by its own. */
static nmt_status sampled_loss(nmt_model *model, const batch *pairs, real *gradient, real scale, uint64_t update,
                               double share, batch_loss *loss, nmt_error *error)
{
    batch seen = *pairs;
    TRY(memory_new(&seen.input.id, pairs->input.tokens, sizeof *seen.input.id, "scheduled sampling", error));
    nmt_status status = scheduled_sampling(model, pairs, share, update, seen.input.id, error);
    if (status == NMT_OK) {
        status = model->interface->loss(model, &seen, gradient, scale, update, loss, error);
    }
    free(seen.input.id);
    return status;
}

nmt_status model_loss_and_gradient(nmt_model *model, const batch *pairs, real *gradient, real scale, uint64_t update,
                                   batch_loss *loss, nmt_error *error)
{
    const double share = gradient != NULL ? teacher_forcing_share(model->config, update) : 1;
    return share < 1 ? sampled_loss(model, pairs, gradient, scale, update, share, loss, error)
                     : model->interface->loss(model, pairs, gradient, scale, update, loss, error);
}

nmt_status model_align(nmt_model *model, const batch *pairs, real *alpha, nmt_error *error)
{
    return model->interface->align(model, pairs, alpha, error);
}

nmt_status model_start(nmt_model *model, const sequences *sources, size_t width, decoding **state, nmt_error *error)
{
    return model->interface->start(model, sources, width, state, error);
}

nmt_status model_join(decoding *state, const size_t *sentences, size_t count, nmt_error *error)
{
    return state->interface->join(state, sentences, count, error);
}

nmt_status model_step(decoding *state, const int32_t *previous, const real **logits, const real **alpha,
                      nmt_error *error)
{
    return state->interface->step(state, previous, logits, alpha, error);
}

int32_t model_likeliest(const real *logits, size_t words)
{
    const size_t best = TOKEN_START + 1 + largest_place(logits + TOKEN_START + 1, words - TOKEN_START - 1);
    return logits[TOKEN_UNKNOWN] >= logits[best] ? TOKEN_UNKNOWN : (int32_t)best;
}

nmt_status model_reorder(decoding *state, const size_t *parents, size_t count, nmt_error *error)
{
    return state->interface->reorder(state, parents, count, error);
}

void model_observe(const decoding *state, model_observation *seen)
{
    state->interface->observe(state, seen);
}

void model_finish(decoding *state)
{
    if (state != NULL) {
        state->interface->finish(state);
    }
}
