#include "model/decoder.h"

#include <string.h>

#include "core/parallel.h"
#include "ops/activation.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"

static size_t feature_count(const decoder_options *options)
{
    return options->hidden + options->annotation + (options->readout_embedding ? options->embedding_size : 0);
}

/* What s_0 is computed from: the backward half of the first annotation, or all of their mean. */
static size_t summary_size(const decoder_options *options)
{
    return options->start == START_BACKWARD ? options->annotation / 2 : options->annotation;
}

void decoder_declare(decoder *layer, parameter_table *table, const decoder_options *options)
{
    const decoder_options *o = options;
    layer->options = *options;
    if (o->start != START_ZERO) {
        layer->initial_weight =
            parameters_add(table, "decoder.initial.weight", o->hidden, summary_size(o), INIT_WEIGHT);
        layer->initial_bias = parameters_add(table, "decoder.initial.bias", o->hidden, 0, INIT_ZERO);
    }
    layer->embedding =
        parameters_add(table, "decoder.embedding.weight", o->vocabulary, o->embedding_size, INIT_EMBEDDING);
    attention_declare(&layer->attention, table, o->score, o->hidden, o->annotation, o->attention_size);
    gru_declare(&layer->cell, table, "decoder.gru", o->embedding_size + o->annotation, o->hidden, o->reset);
    readout_declare(&layer->readout, table, o->readout, feature_count(o), o->readout_units, o->vocabulary,
                    o->tied ? layer->embedding : READOUT_UNTIED);
    layer->readout.dropout = o->dropout_readout;
}

/* ---- workspace ------------------------------------------------------------------------------------------------------ */

static columns columns_of(real *data, size_t offset, size_t stride)
{
    return (columns){data != NULL ? data + offset : NULL, stride};
}

static columns own_columns(arena *space, size_t rows, size_t width)
{
    return columns_of(arena_reals(space, rows * width), 0, width);
}

static void layout_gradient(const decoder *layer, decoder_workspace *work, arena *space, const sequences *source,
                            size_t rows, size_t width)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden, C = o->annotation, A = layer->attention.size;
    work->gradient.input = arena_reals(space, rows * 3 * D);
    work->gradient.recurrent =
        layer->cell.reset == GRU_AFTER ? arena_reals(space, rows * 3 * D) : work->gradient.input;
    work->embedding_mask = o->dropout_embedding > 0 ? arena_reals(space, rows * o->embedding_size) : NULL;
    work->dfeatures = arena_reals(space, rows * feature_count(o));
    work->dcontext = arena_reals(space, rows * C);
    work->dembedded = arena_reals(space, rows * o->embedding_size);
    work->dquery = arena_reals(space, rows * A);
    work->dkeys = arena_reals(space, source->tokens * A);
    work->dvector = arena_reals(space, source->count * A);
    work->carry = arena_reals(space, width * D);
    work->dinitial = arena_reals(space, width * D);
    work->dsummary = arena_reals(space, source->count * C);
    work->attention_scratch = arena_reals(space, width * 2 * source->steps);
}

void decoder_layout(const decoder *layer, decoder_workspace *work, arena *space, const sequences *source, size_t rows,
                    size_t width, bool with_gradient)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden, C = o->annotation, E = o->embedding_size, A = layer->attention.size;
    const size_t F = feature_count(o);
    *work = (decoder_workspace){.keys = arena_reals(space, source->tokens * A),
                                .features = arena_reals(space, rows * F),
                                .initial = arena_reals(space, source->count * D),
                                .summary = arena_reals(space, source->count * C),
                                .query = arena_reals(space, rows * A),
                                .alpha = arena_reals(space, rows * source->steps),
                                .scratch = arena_reals(space, width * 3 * D),
                                .sentence = arena_take(space, width, sizeof(uint32_t))};
    const columns state_features = columns_of(work->features, 0, F);
    const columns other_state = own_columns(space, rows, D);
    const columns previous = o->readout_previous_state ? state_features : other_state;
    work->state = o->readout_previous_state ? other_state : state_features;
    work->context = columns_of(work->features, D, F);
    work->embedded = o->readout_embedding ? columns_of(work->features, D + C, F) : own_columns(space, rows, E);
    work->trace = (gru_trace){.gates = arena_reals(space, rows * 3 * D),
                              .recurrent = arena_reals(space, rows * D),
                              .previous = previous.data,
                              .previous_stride = previous.stride};
    readout_layout(&layer->readout, &work->readout, space, rows, with_gradient);
    if (with_gradient) {
        layout_gradient(layer, work, space, source, rows, width);
    }
}

/* ---- forward -------------------------------------------------------------------------------------------------------- */

static void copy_rows(real *to, size_t to_stride, const real *from, size_t from_stride, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++) {
        memcpy(to + row * to_stride, from + row * from_stride, width * sizeof *to);
    }
}

/* summary[B, X]: what s_0 is computed from, one row a sentence. */
static void summarise(const decoder *layer, decoder_workspace *work, size_t sentences)
{
    const size_t X = summary_size(&layer->options), C = layer->options.annotation;
    memset(work->summary, 0, sentences * X * sizeof *work->summary);
    for (size_t b = 0; b < sentences; b++) {
        const real *h = work->memory.annotations + work->memory.start[b] * C;
        real *summary = work->summary + b * X;
        if (layer->options.start == START_BACKWARD) {
            memcpy(summary, h + C - X, X * sizeof *summary);
            continue;
        }
        const size_t S = work->memory.length[b];
        for (size_t i = 0; i < S * C; i++) {
            summary[i % C] += h[i] / (real)S;
        }
    }
}

static void summarise_backward(const decoder *layer, real *dannotations, const decoder_workspace *work,
                               size_t sentences)
{
    const size_t X = summary_size(&layer->options), C = layer->options.annotation;
    for (size_t b = 0; b < sentences; b++) {
        real *dh = dannotations + work->memory.start[b] * C;
        const real *dsummary = work->dsummary + b * X;
        if (layer->options.start == START_BACKWARD) {
            for (size_t i = 0; i < X; i++) {
                dh[C - X + i] += dsummary[i];
            }
            continue;
        }
        const size_t S = work->memory.length[b];
        for (size_t i = 0; i < S * C; i++) {
            dh[i] += dsummary[i % C] / (real)S;
        }
    }
}

void decoder_prepare(const decoder *layer, const real *theta, decoder_workspace *work, const sequences *source,
                     const real *annotations, const uint32_t *start)
{
    const size_t D = layer->options.hidden, X = summary_size(&layer->options), B = source->count;
    work->memory = (attention_memory){annotations, work->keys, start, source->length, source->steps};
    layer->attention.score->keys(&layer->attention, theta, work->keys, annotations, source->tokens);
    if (layer->options.start == START_ZERO) {
        memset(work->initial, 0, B * D * sizeof *work->initial);
        return;
    }
    summarise(layer, work, B);
    linear_forward(work->initial, D, work->summary, X, theta + layer->initial_weight, X, theta + layer->initial_bias, B,
                   D, X);
    tanh_forward(work->initial, B * D);
}

/* The embedded tokens' part of the gates, for `rows` rows from the first on. */
static void embed(const decoder *layer, const real *theta, decoder_workspace *work, const int32_t *id, size_t rows)
{
    const size_t E = layer->options.embedding_size, D = layer->options.hidden;
    embedding_forward(work->embedded.data, work->embedded.stride, theta + layer->embedding, id, rows, E);
    if (work->embedding_mask != NULL) {
        dropout_mask(work->embedding_mask, rows * E, layer->options.dropout_embedding, work->embedding_key);
        dropout_apply(work->embedded.data, work->embedded.stride, work->embedding_mask, rows, E);
    }
    linear_forward(work->trace.gates, 3 * D, work->embedded.data, work->embedded.stride, theta + layer->cell.weight_ih,
                   layer->cell.input, theta + layer->cell.bias_ih, rows, 3 * D, E);
}

/* c_t from s_{t-1}, then s_t, for the rows of one step. */
static void attend_and_update(const decoder *layer, const real *theta, decoder_workspace *work, size_t first,
                              size_t rows)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation, E = layer->options.embedding_size;
    const attention *attend = &layer->attention;
    real *query = work->query + first * attend->size;
    real *context = work->context.data + first * work->context.stride;
    attend->score->query(attend, theta, query, work->trace.previous + first * work->trace.previous_stride,
                         work->trace.previous_stride, rows);
    attention_forward(attend, theta, work->alpha + first * work->memory.longest, context, work->context.stride, query,
                      &work->memory, work->sentence, rows);
    linear_forward_add(work->trace.gates + first * 3 * D, 3 * D, context, work->context.stride,
                       theta + layer->cell.weight_ih + E, layer->cell.input, rows, 3 * D, C);
    gru_step_forward(&layer->cell, theta, work->state.data + first * work->state.stride, work->state.stride,
                     &work->trace, first, rows, work->scratch);
}

void decoder_forward(const decoder *layer, const real *theta, decoder_workspace *work, const batch *pairs)
{
    const sequences *target = &pairs->input;
    const size_t D = layer->options.hidden;
    for (size_t row = 0; row < target->count; row++) {
        work->sentence[row] = pairs->source.row[target->order[row]];
    }
    embed(layer, theta, work, target->id, target->tokens);
    for (size_t t = 0; t < target->steps; t++) {
        const size_t first = target->offset[t], rows = target->active[t];
        real *previous = work->trace.previous + first * work->trace.previous_stride;
        if (t > 0) {
            copy_rows(previous, work->trace.previous_stride, work->state.data + target->offset[t - 1] * work->state.stride,
                      work->state.stride, rows, D);
        } else {
            for (size_t row = 0; row < rows; row++) {
                memcpy(previous + row * work->trace.previous_stride, work->initial + work->sentence[row] * D,
                       D * sizeof *previous);
            }
        }
        attend_and_update(layer, theta, work, first, rows);
    }
}

void decoder_step(const decoder *layer, const real *theta, decoder_workspace *work, const int32_t *previous,
                  size_t rows)
{
    embed(layer, theta, work, previous, rows);
    attend_and_update(layer, theta, work, 0, rows);
}

/* ---- backward ------------------------------------------------------------------------------------------------------- */

static void add_rows(real *to, size_t to_stride, const real *from, size_t from_stride, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < width; i++) {
            to[row * to_stride + i] += from[row * from_stride + i];
        }
    }
}

/* The gradient of the features, laid out as each part of the decoder wants to add to it. */
static void split_features(const decoder *layer, decoder_workspace *work, size_t rows)
{
    const decoder_options *o = &layer->options;
    const size_t F = feature_count(o);
    copy_rows(work->dcontext, o->annotation, work->dfeatures + o->hidden, F, rows, o->annotation);
    if (o->readout_embedding) {
        copy_rows(work->dembedded, o->embedding_size, work->dfeatures + o->hidden + o->annotation, F, rows,
                  o->embedding_size);
    } else {
        memset(work->dembedded, 0, rows * o->embedding_size * sizeof *work->dembedded);
    }
}

/* Back through one step: work->carry holds the gradient at s_t that came from later steps, and takes that at s_{t-1}. */
static void step_backward(const decoder *layer, const real *theta, decoder_workspace *work, size_t first, size_t rows)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden, C = o->annotation, E = o->embedding_size, F = feature_count(o);
    const attention *attend = &layer->attention;
    const real *dstate = work->dfeatures + first * F;
    real *dcontext = work->dcontext + first * C;
    real *dquery = work->dquery + first * attend->size;
    if (!o->readout_previous_state) {
        add_rows(work->carry, D, dstate, F, rows, D);
    }
    gru_step_backward(&layer->cell, theta, work->carry, &work->trace, &work->gradient, first, rows, work->scratch);
    linear_backward_input(dcontext, C, work->gradient.input + first * 3 * D, 3 * D, theta + layer->cell.weight_ih + E,
                          layer->cell.input, rows, 3 * D, C);
    attention_backward_score(attend, theta, dquery, work->dkeys, work->dvector,
                             work->alpha + first * work->memory.longest, dcontext, work->query + first * attend->size,
                             &work->memory, work->sentence, rows, work->attention_scratch);
    attend->score->query_backward(attend, theta, work->carry, dquery, rows);
    if (o->readout_previous_state) {
        add_rows(work->carry, D, dstate, F, rows, D);
    }
}

typedef struct value_pass {
    const decoder *layer;
    const decoder_workspace *work;
    const sequences *target;
    real *dannotations;
} value_pass;

/* The Value path sentence by sentence: its annotations' gradient stays in the cache over all its steps. */
static void value_rows(void *context, size_t begin, size_t end)
{
    const value_pass *pass = context;
    const decoder_workspace *work = pass->work;
    for (size_t row = begin; row < end; row++) {
        for (size_t t = 0; t < pass->target->length[row]; t++) {
            const size_t read = pass->target->offset[t] + row;
            attention_backward_value(&pass->layer->attention, pass->dannotations,
                                     work->alpha + read * work->memory.longest,
                                     work->dcontext + read * pass->layer->options.annotation, &work->memory,
                                     &work->sentence[row], 1);
        }
    }
}

/* The Score path's parameters and keys, over all rows at once. */
static void score_weights(const decoder *layer, const real *theta, real *dtheta, real *dannotations,
                          decoder_workspace *work, const batch *pairs)
{
    const attention *attend = &layer->attention;
    attend->score->query_weights(attend, dtheta, work->dquery, work->trace.previous, work->trace.previous_stride,
                                 pairs->input.tokens);
    attend->score->keys_backward(attend, theta, dtheta, dannotations, work->dkeys, work->memory.annotations,
                                 pairs->source.tokens);
    linear_backward_bias(dtheta + attend->vector, work->dvector, attend->size, pairs->source.count,
                         attend->vector_size);
}

static void cell_weights(const decoder *layer, const real *theta, real *dtheta, decoder_workspace *work,
                         const sequences *target)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation, E = layer->options.embedding_size;
    const size_t N = target->tokens, I = layer->cell.input;
    const real *dgates = work->gradient.input;
    real *dW = dtheta + layer->cell.weight_ih;
    gru_backward_weights(&layer->cell, dtheta, &work->trace, &work->gradient, N);
    linear_backward_weight(dW, I, dgates, 3 * D, work->embedded.data, work->embedded.stride, N, 3 * D, E);
    linear_backward_weight(dW + E, I, dgates, 3 * D, work->context.data, work->context.stride, N, 3 * D, C);
    linear_backward_input(work->dembedded, E, dgates, 3 * D, theta + layer->cell.weight_ih, I, N, 3 * D, E);
    if (work->embedding_mask != NULL) {
        dropout_apply(work->dembedded, E, work->embedding_mask, N, E);
    }
    embedding_backward(dtheta + layer->embedding, work->dembedded, E, target->id, N, E);
}

/* From the gradient at s_0 of the target's rows to the annotations. */
static void initial_backward(const decoder *layer, const real *theta, real *dtheta, real *dannotations,
                             decoder_workspace *work, size_t B)
{
    const size_t D = layer->options.hidden, X = summary_size(&layer->options);
    if (layer->options.start == START_ZERO) {
        return;
    }
    memset(work->dinitial, 0, B * D * sizeof *work->dinitial);
    for (size_t row = 0; row < B; row++) {
        const size_t sentence = work->sentence[row];
        tanh_backward(work->dinitial + sentence * D, work->carry + row * D, work->initial + sentence * D, D);
    }
    linear_backward_weight(dtheta + layer->initial_weight, X, work->dinitial, D, work->summary, X, B, D, X);
    linear_backward_bias(dtheta + layer->initial_bias, work->dinitial, D, B, D);
    memset(work->dsummary, 0, B * X * sizeof *work->dsummary);
    linear_backward_input(work->dsummary, X, work->dinitial, D, theta + layer->initial_weight, X, B, D, X);
    summarise_backward(layer, dannotations, work, B);
}

void decoder_backward(const decoder *layer, const real *theta, real *dtheta, real *dannotations,
                      decoder_workspace *work, const batch *pairs, attention_paths paths)
{
    const sequences *target = &pairs->input;
    const size_t A = layer->attention.size, B = target->count;
    split_features(layer, work, target->tokens);
    memset(work->carry, 0, B * layer->options.hidden * sizeof *work->carry);
    memset(work->dkeys, 0, pairs->source.tokens * A * sizeof *work->dkeys);
    memset(work->dvector, 0, B * A * sizeof *work->dvector);
    for (size_t t = target->steps; t-- > 0;) {
        step_backward(layer, theta, work, target->offset[t], target->active[t]);
    }
    if (paths & PATH_VALUE) {
        value_pass pass = {layer, work, target, dannotations};
        parallel_for(B, 1, value_rows, &pass);
    }
    if (paths & PATH_SCORE) {
        score_weights(layer, theta, dtheta, dannotations, work, pairs);
    }
    cell_weights(layer, theta, dtheta, work, target);
    initial_backward(layer, theta, dtheta, dannotations, work, B);
}
