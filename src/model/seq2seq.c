#include "model/seq2seq.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "layers/coverage.h"
#include "model/encoder.h"

typedef struct seq2seq {
    encoder encoder;
    decoder decoder;
    arena space;          /* of training steps */
    weights_packed steps; /* in it: the matrices that a batch reads in each step */
} seq2seq;

static attention_options attention_options_from(const nmt_config *config)
{
    return (attention_options){.score = attention_score_find(config->model.attention_score),
                               .size = config->model.attention_size,
                               .heads = config->model.attention_heads,
                               .extent = config->model.attention_extent == REACH_LOCAL_M   ? EXTENT_LOCAL_M
                                         : config->model.attention_extent == REACH_LOCAL_P ? EXTENT_LOCAL_P
                                                                                           : EXTENT_GLOBAL,
                               .window = config->model.attention_window};
}

static gru_kind cell_from(const nmt_config *config)
{
    return (gru_kind){.reset = config->model.gru == GRU_RESET_BEFORE ? GRU_BEFORE : GRU_AFTER,
                      .normalized = config->model.layer_normalization,
                      .dropout = config->dropout.recurrent};
}

static const decoder_order *order_from(const nmt_config *config)
{
    static const decoder_order *const orders[] = {[ORDER_BAHDANAU] = &decoder_bahdanau,
                                                  [ORDER_LUONG] = &decoder_luong,
                                                  [ORDER_CONDITIONAL] = &decoder_conditional};
    return orders[config->model.order];
}

static decoder_options decoder_options_from(const nmt_config *config, size_t target_words)
{
    return (decoder_options){.vocabulary = target_words,
                             .embedding_size = config->model.target_embedding,
                             .hidden = config->model.decoder_hidden,
                             .annotation = 2 * config->model.encoder_hidden,
                             .order = order_from(config),
                             .cell = cell_from(config),
                             .layers = config->model.decoder_layers,
                             .residual = config->model.residual,
                             .start = config->model.initial_state == INITIAL_STATE_MEAN   ? START_MEAN
                                      : config->model.initial_state == INITIAL_STATE_ZERO ? START_ZERO
                                                                                          : START_BACKWARD,
                             .attention = attention_options_from(config),
                             .readout = config->model.readout == READOUT_TANH     ? READOUT_KIND_TANH
                                        : config->model.readout == READOUT_MAXOUT ? READOUT_KIND_MAXOUT
                                                                                  : READOUT_KIND_LINEAR,
                             .readout_units = config->model.readout_size,
                             .readout_embedding = config->model.readout_embedding,
                             .readout_previous_state = config->model.readout_state == READOUT_STATE_PREVIOUS,
                             .input_feeding = config->model.input_feeding,
                             .normalized = config->model.layer_normalization,
                             .shared_embedding = config->model.tied_embeddings == TIED_ALL,
                             .tied = config->model.tied_embeddings != TIED_NONE,
                             .dropout_embedding = config->dropout.embedding,
                             .dropout_word = config->dropout.target_word,
                             .dropout_attention_input = config->dropout.attention_input,
                             .dropout_input = config->dropout.decoder_input,
                             .dropout_readout = config->dropout.readout};
}

static encoder_options encoder_options_from(const nmt_config *config, size_t source_words)
{
    return (encoder_options){.vocabulary = source_words,
                             .embedding_size = config->model.source_embedding,
                             .hidden = config->model.encoder_hidden,
                             .cell = cell_from(config),
                             .layers = config->model.encoder_layers,
                             .residual = config->model.residual,
                             .dropout_embedding = config->dropout.embedding,
                             .dropout_word = config->dropout.source_word,
                             .dropout_annotation = config->dropout.annotation};
}

/* One matrix for both sides has one row a word. */
static nmt_status check_vocabularies(const nmt_model *model, nmt_error *error)
{
    const size_t source = vocabulary_size(model->source_words), target = vocabulary_size(model->target_words);
    if (model->config->model.tied_embeddings == TIED_ALL && source != target) {
        return error_set(
            error, NMT_INVALID,
            "the vocabularies: expected the same for both sides, because model.tied_embeddings is \"all\", "
            "found %zu source and %zu target words",
            source, target);
    }
    return NMT_OK;
}

nmt_status seq2seq_create(nmt_model *model, nmt_error *error)
{
    seq2seq *net;
    const encoder_options source = encoder_options_from(model->config, vocabulary_size(model->source_words));
    decoder_options options = decoder_options_from(model->config, vocabulary_size(model->target_words));
    TRY(check_vocabularies(model, error));
    TRY(memory_new(&net, 1, sizeof *net, "the model", error));
    encoder_declare(&net->encoder, &model->parameters, &source);
    options.source_embedding = net->encoder.embedding;
    decoder_declare(&net->decoder, &model->parameters, &options);
    model->interface = &seq2seq_interface;
    model->architecture = net;
    return NMT_OK;
}

static void free_architecture(void *architecture)
{
    seq2seq *net = architecture;
    if (net != NULL) {
        arena_free(&net->space);
        free(net);
    }
}

/* ---- training -------------------------------------------------------------------------------------------------------
 */

typedef struct seq2seq_workspace {
    encoder_workspace encoder;
    decoder_workspace decoder;
    real *dcoverage; /* [source tokens], or NULL: see coverage.h */
} seq2seq_workspace;

/* One sentence reads a matrix as fast from the block, and packing takes as long as a few products. */
static bool pays_to_pack(const batch *pairs)
{
    return pairs->input.count > 1 && pairs->input.steps > 2;
}

static weights_view training_view(const nmt_model *model)
{
    const seq2seq *net = model->architecture;
    return (weights_view){.block = model->block, .packed = &net->steps};
}

static void layout(nmt_model *model, seq2seq_workspace *work, const batch *pairs, bool with_gradient)
{
    seq2seq *net = model->architecture;
    const bool penalised = with_gradient && model->config->training.coverage > 0;
    encoder_layout(&net->encoder, &work->encoder, &net->space, &pairs->source, with_gradient);
    decoder_layout(&net->decoder, &work->decoder, &net->space, &pairs->source, pairs->input.tokens, pairs->input.count,
                   with_gradient);
    work->dcoverage = penalised ? arena_reals(&net->space, pairs->source.tokens) : NULL;
    work->decoder.attention.dcoverage = work->dcoverage;
    net->steps.count = 0;
    if (pays_to_pack(pairs)) {
        weights_layout_packed(&net->steps, &net->space, &model->parameters, USE_STEPS, with_gradient);
    }
}

static nmt_status reserve(nmt_model *model, seq2seq_workspace *work, const batch *pairs, bool with_gradient,
                          nmt_error *error)
{
    seq2seq *net = model->architecture;
    arena_measure(&net->space);
    layout(model, work, pairs, with_gradient);
    TRY(arena_reserve(&net->space, "the workspace of a training step", error));
    layout(model, work, pairs, with_gradient);
    weights_pack(&net->steps, model->block);
    return NMT_OK;
}

static void draw_recurrent_key(encoder_layer_workspace *layer, rng *generator)
{
    layer->direction[FORWARD].trace.key = rng_next(generator);
    layer->direction[BACKWARD].trace.key = rng_next(generator);
}

/* One key a mask, from the run's seed and the update. */
static void draw_dropout_keys(const seq2seq *net, seq2seq_workspace *work, uint64_t seed, uint64_t update)
{
    rng generator = rng_stream(seed, "dropout", update);
    work->encoder.embedding_key = rng_next(&generator);
    work->encoder.annotation_key = rng_next(&generator);
    work->decoder.embedding_key = rng_next(&generator);
    work->decoder.readout.key = rng_next(&generator);
    work->encoder.word_key = rng_next(&generator);
    work->decoder.word_key = rng_next(&generator);
    work->decoder.asked.key = rng_next(&generator);
    work->decoder.cell_embedded.key = rng_next(&generator);
    work->decoder.cell_fed.key = rng_next(&generator);
    draw_recurrent_key(&work->encoder.layer[0], &generator);
    work->decoder.trace.key = rng_next(&generator);
    for (size_t l = 1; l < net->encoder.options.layers; l++) {
        draw_recurrent_key(&work->encoder.layer[l], &generator);
    }
    for (size_t l = 0; l < net->decoder.above.count; l++) {
        work->decoder.above.layer[l].trace.key = rng_next(&generator);
    }
    work->decoder.second_fed.key = rng_next(&generator);
    work->decoder.second_trace.key = rng_next(&generator);
}

static void encode_and_decode(const nmt_model *model, seq2seq_workspace *work, const batch *pairs)
{
    const seq2seq *net = model->architecture;
    const weights_view theta = training_view(model);
    encoder_forward(&net->encoder, &theta, &work->encoder, &pairs->source);
    decoder_prepare(&net->decoder, &theta, &work->decoder, &pairs->source, work->encoder.annotations,
                    work->encoder.start);
    decoder_forward(&net->decoder, &theta, &work->decoder, pairs);
}

/* With gradient, the objective is what training minimises: label smoothing and coverage penalty are in it. */
static readout_sums forward_and_readout(const nmt_model *model, seq2seq_workspace *work, const batch *pairs,
                                        real *gradient, real scale)
{
    const seq2seq *net = model->architecture;
    const real *theta = model->block;
    const size_t N = pairs->input.tokens, F = net->decoder.readout.features;
    const double coverage = model->config->training.coverage;
    encode_and_decode(model, work, pairs);
    if (gradient != NULL) {
        memset(work->decoder.dfeatures, 0, N * F * sizeof(real));
    }
    readout_sums sums = readout_loss(
        &net->decoder.readout, theta, gradient, work->decoder.dfeatures, work->decoder.features, F, pairs->output,
        gradient != NULL ? model->config->training.label_smoothing : 0, scale, &work->decoder.readout, N);
    if (work->dcoverage != NULL) {
        sums.objective += coverage * coverage_penalty(work->dcoverage, &work->decoder.attention, &pairs->input,
                                                      (real)coverage * scale);
    }
    return sums;
}

static void backward_to_annotations(const nmt_model *model, seq2seq_workspace *work, const batch *pairs, real *gradient,
                                    attention_paths paths)
{
    const seq2seq *net = model->architecture;
    const weights_view theta = training_view(model);
    real *dannotations = work->encoder.dannotations;
    memset(dannotations, 0, pairs->source.tokens * 2 * net->encoder.options.hidden * sizeof *dannotations);
    decoder_backward(&net->decoder, &theta, gradient, dannotations, &work->decoder, pairs, paths);
}

static void backward_from_annotations(const nmt_model *model, seq2seq_workspace *work, const batch *pairs,
                                      real *gradient)
{
    const seq2seq *net = model->architecture;
    const weights_view theta = training_view(model);
    encoder_backward(&net->encoder, &theta, gradient, &work->encoder, &pairs->source);
}

static nmt_status loss_and_gradient(nmt_model *model, const batch *pairs, real *gradient, real scale, uint64_t update,
                                    batch_loss *loss, nmt_error *error)
{
    seq2seq *net = model->architecture;
    seq2seq_workspace work;
    TRY(reserve(model, &work, pairs, gradient != NULL, error));
    draw_dropout_keys(net, &work, model->config->training.seed, update);
    const readout_sums sums = forward_and_readout(model, &work, pairs, gradient, scale);
    if (gradient != NULL) {
        backward_to_annotations(model, &work, pairs, gradient, PATH_BOTH);
        backward_from_annotations(model, &work, pairs, gradient);
    }
    *loss = (batch_loss){sums.nats, sums.objective, pairs->input.tokens};
    return NMT_OK;
}

static nmt_status align(nmt_model *model, const batch *pairs, real *alpha, nmt_error *error)
{
    seq2seq_workspace work;
    TRY(reserve(model, &work, pairs, false, error));
    encode_and_decode(model, &work, pairs);
    memcpy(alpha, work.decoder.attention.alpha, pairs->input.tokens * pairs->source.steps * sizeof *alpha);
    return NMT_OK;
}

nmt_status seq2seq_path_gradient(nmt_model *model, const batch *pairs, attention_paths paths, real *gradient,
                                 real *dannotations, nmt_error *error)
{
    const seq2seq *net = model->architecture;
    seq2seq_workspace work;
    TRY(reserve(model, &work, pairs, true, error));
    memset(gradient, 0, model->parameters.size * sizeof *gradient);
    draw_dropout_keys(net, &work, model->config->training.seed, 1);
    forward_and_readout(model, &work, pairs, gradient, 1);
    backward_to_annotations(model, &work, pairs, gradient, paths);
    memcpy(dannotations, work.encoder.dannotations,
           pairs->source.tokens * seq2seq_annotation_size(model) * sizeof *dannotations);
    backward_from_annotations(model, &work, pairs, gradient);
    return NMT_OK;
}

size_t seq2seq_annotation_size(const nmt_model *model)
{
    const seq2seq *net = model->architecture;
    return 2 * net->encoder.options.hidden;
}

/* ---- decoding -------------------------------------------------------------------------------------------------------
 */

typedef struct seq2seq_decoding {
    decoding base;
    const nmt_model *model;
    arena space;
    weights_view theta;
    seq2seq_workspace work;
    size_t rows;  /* hypotheses now */
    size_t width; /* room for as many */
    const sequences *sources;
    uint32_t *spare; /* [width] */
    real *logits;    /* [width,V] */
} seq2seq_decoding;

static void decoding_layout(const seq2seq *net, seq2seq_decoding *state, const sequences *sources, size_t width)
{
    encoder_layout(&net->encoder, &state->work.encoder, &state->space, sources, false);
    decoder_layout(&net->decoder, &state->work.decoder, &state->space, sources, width, width, false);
    state->spare = arena_take(&state->space, width, sizeof(uint32_t));
    state->logits = arena_reals(&state->space, width * net->decoder.readout.vocabulary);
    weights_layout(&state->theta, &state->space, sources->tokens + 2 * width);
}

/* Behind a layout, a reorder or other beginnings: those of sentences given to sequences_set as `numbers`, or as 0, 1 ..
 * where that is NULL. */
static void begin(seq2seq_decoding *state, const size_t *numbers, size_t count)
{
    const seq2seq *net = state->model->architecture;
    decoder_workspace *work = &state->work.decoder;
    for (size_t i = 0; i < count; i++) {
        work->attention.sentence[state->rows + i] = state->sources->row[numbers != NULL ? numbers[i] : i];
    }
    decoder_begin(&net->decoder, work, state->rows, count);
    state->rows += count;
}

static nmt_status start(nmt_model *model, const sequences *sources, size_t width, decoding **out, nmt_error *error)
{
    const seq2seq *net = model->architecture;
    seq2seq_decoding *state;
    if (width > 1 && model->quantized == NULL) { /* a single row reads a matrix as fast from the block */
        TRY(model_pack(model, error));
    }
    TRY(memory_new(&state, 1, sizeof *state, "decoding", error));
    state->base.interface = &seq2seq_interface;
    state->model = model;
    state->theta = (weights_view){.block = model->block, .packed = &model->packed, .quantized = model->quantized};
    arena_measure(&state->space);
    decoding_layout(net, state, sources, width);
    const nmt_status status = arena_reserve(&state->space, "decoding", error);
    if (status != NMT_OK) {
        free(state);
        return status;
    }
    decoding_layout(net, state, sources, width);
    state->sources = sources;
    state->width = width;
    encoder_forward(&net->encoder, &state->theta, &state->work.encoder, sources);
    decoder_prepare(&net->decoder, &state->theta, &state->work.decoder, sources, state->work.encoder.annotations,
                    state->work.encoder.start);
    begin(state, NULL, sources->count < width ? sources->count : width);
    *out = &state->base;
    return NMT_OK;
}

static nmt_status step(decoding *base, const int32_t *previous, const real **logits, const real **alpha,
                       nmt_error *error)
{
    (void)error;
    seq2seq_decoding *state = (seq2seq_decoding *)base;
    const seq2seq *net = state->model->architecture;
    decoder_workspace *work = &state->work.decoder;
    decoder_step(&net->decoder, &state->theta, work, previous, state->rows);
    readout_logits(&net->decoder.readout, &state->theta, state->logits, work->features, net->decoder.readout.features,
                   &work->readout, state->rows);
    *logits = state->logits;
    *alpha = work->attention.alpha;
    return NMT_OK;
}

static nmt_status check_width(const seq2seq_decoding *state, size_t count, nmt_error *error)
{
    return count <= state->width ? NMT_OK
                                 : error_set(error, NMT_INVALID, "decoding: expected at most %zu hypotheses, found %zu",
                                             state->width, count);
}

/* What hypotheses have of their parents; `row` changes places with the spare one. */
static void inherit(seq2seq_decoding *state, uint32_t **row, const size_t *parents, size_t count)
{
    uint32_t *from = *row;
    for (size_t i = 0; i < count; i++) {
        state->spare[i] = from[parents[i]];
    }
    *row = state->spare;
    state->spare = from;
}

/* Every hypothesis takes its parent's state as the one before its next step. */
static nmt_status reorder(decoding *base, const size_t *parents, size_t count, nmt_error *error)
{
    seq2seq_decoding *state = (seq2seq_decoding *)base;
    TRY(check_width(state, count, error));
    const seq2seq *net = state->model->architecture;
    decoder_workspace *work = &state->work.decoder;
    decoder_reorder(&net->decoder, work, parents, count);
    inherit(state, &work->attention.sentence, parents, count);
    inherit(state, &work->attention.step, parents, count);
    state->rows = count;
    return NMT_OK;
}

static nmt_status join(decoding *base, const size_t *sentences, size_t count, nmt_error *error)
{
    seq2seq_decoding *state = (seq2seq_decoding *)base;
    TRY(check_width(state, state->rows + count, error));
    begin(state, sentences, count);
    return NMT_OK;
}

static double norm_of(const real *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return sqrt(sum);
}

static void observe(const decoding *base, model_observation *seen)
{
    const seq2seq_decoding *state = (const seq2seq_decoding *)base;
    const seq2seq *net = state->model->architecture;
    const decoder_workspace *work = &state->work.decoder;
    seen->state_norm = norm_of(work->asking.data, net->decoder.options.hidden);
    seen->context_norm = norm_of(work->context.data, net->decoder.options.annotation);
    if (!attention_energies(&net->decoder.attention, state->model->block, &work->attention, seen->energies, 0)) {
        seen->energies = NULL;
    }
}

static void finish(decoding *base)
{
    seq2seq_decoding *state = (seq2seq_decoding *)base;
    arena_free(&state->space);
    free(state);
}

static nmt_status quantize(nmt_model *model, nmt_error *error)
{
    return weights_quantize(&model->quantized, &model->parameters, model->block, error);
}

const model_interface seq2seq_interface = {.name = "attentional encoder-decoder",
                                           .loss = loss_and_gradient,
                                           .start = start,
                                           .step = step,
                                           .reorder = reorder,
                                           .join = join,
                                           .align = align,
                                           .quantize = quantize,
                                           .observe = observe,
                                           .finish = finish,
                                           .free_architecture = free_architecture};
