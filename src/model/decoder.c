#include "model/decoder_order.h"

#include <string.h>

#include "ops/activation.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"

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
    layer->embedding = o->shared_embedding ? o->source_embedding
                                           : parameters_add(table, "decoder.embedding.weight", o->vocabulary,
                                                            o->embedding_size, INIT_EMBEDDING);
    attention_options attend = o->attention;
    attend.state = o->hidden;
    attend.annotation = o->annotation;
    attention_declare(&layer->attention, table, &attend);
    layer->fed = o->order->fed(o);
    layer->second = (gru){0};
    gru_declare(&layer->cell, table, "decoder.gru", o->embedding_size + layer->fed, o->hidden, &o->cell);
    if (layer->fed > 0) {
        parameters_use(table, layer->cell.weight_ih, USE_STEPS);
    }
    stack_declare(&layer->above, table, o->layers - 1, o->hidden, &o->cell, o->residual);
    o->order->declare(layer, table);
    readout_declare(&layer->readout, table, o->readout, o->order->features(o), o->readout_units, o->vocabulary,
                    o->normalized, o->tied ? layer->embedding : READOUT_UNTIED);
    layer->readout.dropout = o->dropout_readout;
}

/* ---- workspace ------------------------------------------------------------------------------------------------------
 */

size_t decoder_joined_features(const decoder_options *options)
{
    return options->hidden + options->annotation + (options->readout_embedding ? options->embedding_size : 0);
}

columns decoder_layout_joined(const decoder *layer, decoder_workspace *work, arena *space, size_t rows)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden, C = o->annotation, F = decoder_joined_features(o);
    work->features = arena_reals(space, rows * F);
    work->context = columns_of(work->features, D, F);
    work->embedded =
        o->readout_embedding ? columns_of(work->features, D + C, F) : columns_own(space, rows, o->embedding_size);
    return columns_of(work->features, 0, F);
}

void decoder_layout_joined_gradient(const decoder *layer, decoder_workspace *work, arena *space, size_t rows)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden, C = o->annotation, F = decoder_joined_features(o);
    work->dfeatures = arena_reals(space, rows * F);
    work->doutput = columns_of(work->dfeatures, 0, F);
    work->dcontext = columns_of(work->dfeatures, D, F);
    work->dembedded =
        o->readout_embedding ? columns_of(work->dfeatures, D + C, F) : columns_own(space, rows, o->embedding_size);
}

/* The cell sees the same numbers at each row of a word. */
static bool takes_words_once(const decoder *layer, bool training)
{
    const decoder_options *o = &layer->options;
    return !training || (o->dropout_embedding <= 0 && o->dropout_word <= 0 && o->dropout_input <= 0);
}

static void layout_words(const decoder *layer, decoder_workspace *work, arena *space, size_t rows, bool training)
{
    const size_t E = layer->options.embedding_size;
    const bool once = takes_words_once(layer, training);
    lookup_layout(&work->words, space, rows, 3 * layer->options.hidden, once);
    work->word_rows = once ? columns_own(space, rows, E) : work->cell_embedded.seen;
}

static void layout_gradient(const decoder *layer, decoder_workspace *work, arena *space, const sequences *source,
                            size_t rows, size_t width)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden;
    gru_layout_gradient(&layer->cell, &work->gradient, space, rows);
    gru_layout_gradient(&layer->second, &work->second_gradient, space, rows);
    work->embedding_mask =
        o->dropout_embedding > 0 || o->dropout_word > 0 ? arena_reals(space, rows * o->embedding_size) : NULL;
    work->dword_rows = arena_reals(space, takes_words_once(layer, true) ? rows * o->embedding_size : 0);
    work->carry = arena_reals(space, width * D);
    work->dinitial = arena_reals(space, width * D);
    work->dsummary = arena_reals(space, source->count * o->annotation);
    o->order->layout_gradient(layer, work, space, rows);
}

static void layout_dropped(const decoder *layer, decoder_workspace *work, arena *space, size_t rows, bool training)
{
    const decoder_options *o = &layer->options;
    const double input = training ? o->dropout_input : 0;
    dropped_layout(&work->asked, space, &work->asking, rows, o->hidden, training ? o->dropout_attention_input : 0);
    dropped_layout(&work->cell_embedded, space, &work->embedded, rows, o->embedding_size, input);
    dropped_layout(&work->cell_fed, space, &work->fed, rows, layer->fed, input);
    dropped_layout(&work->second_fed, space, &work->context, rows, layer->second.input, input);
}

void decoder_layout(const decoder *layer, decoder_workspace *work, arena *space, const sequences *source, size_t rows,
                    size_t width, bool with_gradient)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation;
    *work = (decoder_workspace){.initial = arena_reals(space, source->count * D),
                                .summary = arena_reals(space, source->count * C),
                                .scratch = arena_reals(space, width * 3 * D)};
    gru_layout(&layer->cell, &work->trace, space, rows, width, with_gradient);
    gru_layout(&layer->second, &work->second_trace, space, rows, width, with_gradient);
    attention_layout(&layer->attention, &work->attention, space, source, rows, width, with_gradient);
    layer->options.order->layout(layer, work, space, rows);
    stack_layout(&layer->above, &work->above, space, &work->state, &work->output, rows, width, with_gradient);
    layout_dropped(layer, work, space, rows, with_gradient);
    layout_words(layer, work, space, rows, with_gradient);
    readout_layout(&layer->readout, &work->readout, space, rows, with_gradient);
    if (with_gradient) {
        layout_gradient(layer, work, space, source, rows, width);
    }
}

/* ---- forward --------------------------------------------------------------------------------------------------------
 */

/* summary[B, X]: what s_0 is computed from, one row a sentence. */
static void summarise(const decoder *layer, decoder_workspace *work, size_t sentences)
{
    const size_t X = summary_size(&layer->options), C = layer->options.annotation;
    memset(work->summary, 0, sentences * X * sizeof *work->summary);
    for (size_t b = 0; b < sentences; b++) {
        const real *h = work->attention.annotations + work->attention.start[b] * C;
        real *summary = work->summary + b * X;
        if (layer->options.start == START_BACKWARD) {
            memcpy(summary, h + C - X, X * sizeof *summary);
            continue;
        }
        const size_t S = work->attention.length[b];
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
        real *dh = dannotations + work->attention.start[b] * C;
        const real *dsummary = work->dsummary + b * X;
        if (layer->options.start == START_BACKWARD) {
            for (size_t i = 0; i < X; i++) {
                dh[C - X + i] += dsummary[i];
            }
            continue;
        }
        const size_t S = work->attention.length[b];
        for (size_t i = 0; i < S * C; i++) {
            dh[i] += dsummary[i % C] / (real)S;
        }
    }
}

void decoder_prepare(const decoder *layer, const weights_view *theta, decoder_workspace *work, const sequences *source,
                     const real *annotations, const uint32_t *start)
{
    const size_t D = layer->options.hidden, X = summary_size(&layer->options), B = source->count;
    attention_prepare(&layer->attention, theta, &work->attention, source, annotations, start);
    if (layer->options.start == START_ZERO) {
        memset(work->initial, 0, B * D * sizeof *work->initial);
        return;
    }
    summarise(layer, work, B);
    weights_forward(theta, work->initial, D, work->summary, X, layer->initial_weight, X, layer->initial_bias, B, D, X);
    tanh_forward(work->initial, B * D);
}

/* The embedded tokens' part of the gates, for `rows` rows from the first on. */
static void embed(const decoder *layer, const weights_view *theta, decoder_workspace *work, const int32_t *id,
                  size_t rows)
{
    const size_t E = layer->options.embedding_size, D = layer->options.hidden;
    embedding_forward(work->embedded.data, work->embedded.stride, theta->block + layer->embedding, id, rows, E);
    if (work->embedding_mask != NULL) {
        dropout_mask(work->embedding_mask, rows * E, layer->options.dropout_embedding, work->embedding_key);
        dropout_mask_rows(work->embedding_mask, rows, E, layer->options.dropout_word, work->word_key);
        dropout_apply(work->embedded.data, work->embedded.stride, work->embedding_mask, rows, E);
    }
    dropped_forward(&work->cell_embedded, 0, rows);
    lookup_find(&work->words, id, rows);
    if (work->words.place != NULL) {
        embedding_forward(work->word_rows.data, E, theta->block + layer->embedding, work->words.id,
                          work->words.distinct, E);
    }
    lookup_forward(&work->words, theta, work->trace.gates, 3 * D, work->word_rows.data, work->word_rows.stride,
                   layer->cell.weight_ih, layer->cell.input, gru_input_bias(&layer->cell), 3 * D, E);
}

void decoder_ask(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    const columns *seen = &work->asked.seen;
    dropped_forward(&work->asked, first, rows);
    attention_ask(&layer->attention, theta, &work->attention, columns_row(seen, first), seen->stride, first, rows);
}

void decoder_update(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    const size_t D = layer->options.hidden, E = layer->options.embedding_size;
    if (layer->fed > 0) {
        const columns *seen = &work->cell_fed.seen;
        dropped_forward(&work->cell_fed, first, rows);
        weights_forward_add(theta, work->trace.gates + first * 3 * D, 3 * D, columns_row(seen, first), seen->stride,
                            layer->cell.weight_ih + E, layer->cell.input, rows, 3 * D, layer->fed);
    }
    gru_step_forward(&layer->cell, theta, columns_row(&work->state, first), work->state.stride, &work->trace, first,
                     rows, work->scratch);
    stack_step(&layer->above, theta, &work->above, first, rows);
}

/* Row `row` comes first in its sequence. */
static void start_row(const decoder *layer, decoder_workspace *work, size_t row, size_t sentence)
{
    const size_t D = layer->options.hidden;
    memcpy(work->trace.previous + row * work->trace.previous_stride, work->initial + sentence * D, D * sizeof(real));
    stack_start(&layer->above, &work->above, row, work->initial + sentence * D);
    if (work->feeds_features) {
        memset(columns_row(&work->fed, row), 0, layer->fed * sizeof(real));
    }
}

/* Row `row` comes after row `from`. */
static void continue_row(const decoder *layer, decoder_workspace *work, size_t row, size_t from)
{
    memcpy(work->trace.previous + row * work->trace.previous_stride, columns_row(&work->state, from),
           layer->options.hidden * sizeof(real));
    stack_continue(&layer->above, &work->above, row, from);
    if (work->feeds_features) {
        memcpy(columns_row(&work->fed, row), work->features + from * layer->fed, layer->fed * sizeof(real));
    }
}

void decoder_continue(const decoder *layer, decoder_workspace *work, const sequences *target, size_t t)
{
    attention_at_step(&work->attention, t, target->active[t]);
    for (size_t row = 0; row < target->active[t]; row++) {
        if (t == 0) {
            start_row(layer, work, row, work->attention.sentence[row]);
        } else {
            continue_row(layer, work, target->offset[t] + row, target->offset[t - 1] + row);
        }
    }
}

void decoder_forward_steps(const decoder *layer, const weights_view *theta, decoder_workspace *work,
                           const sequences *target)
{
    for (size_t t = 0; t < target->steps; t++) {
        decoder_continue(layer, work, target, t);
        layer->options.order->step(layer, theta, work, target->offset[t], target->active[t]);
    }
}

/* The masks of a target's steps, where there are any. */
static void draw_masks(const decoder *layer, const decoder_workspace *work, const sequences *target)
{
    dropped_draw(&work->asked, target->tokens);
    dropped_draw(&work->cell_embedded, target->tokens);
    dropped_draw(&work->cell_fed, target->tokens);
    dropped_draw(&work->second_fed, target->tokens);
    gru_draw_mask(&layer->cell, &work->trace, target->count);
    gru_draw_mask(&layer->second, &work->second_trace, target->count);
    stack_draw_masks(&layer->above, &work->above, target->count);
}

void decoder_forward(const decoder *layer, const weights_view *theta, decoder_workspace *work, const batch *pairs)
{
    const sequences *target = &pairs->input;
    for (size_t row = 0; row < target->count; row++) {
        work->attention.sentence[row] = pairs->source.row[target->order[row]];
    }
    draw_masks(layer, work, target);
    embed(layer, theta, work, target->id, target->tokens);
    layer->options.order->forward(layer, theta, work, target);
}

/* ---- decoding -------------------------------------------------------------------------------------------------------
 */

void decoder_begin(const decoder *layer, decoder_workspace *work, size_t first, size_t rows)
{
    for (size_t row = first; row < first + rows; row++) {
        work->attention.step[row] = 0;
        start_row(layer, work, row, work->attention.sentence[row]);
    }
}

void decoder_step(const decoder *layer, const weights_view *theta, decoder_workspace *work, const int32_t *previous,
                  size_t rows)
{
    embed(layer, theta, work, previous, rows);
    layer->options.order->step(layer, theta, work, 0, rows);
    for (size_t row = 0; row < rows; row++) {
        work->attention.step[row]++;
    }
}

void decoder_reorder(const decoder *layer, decoder_workspace *work, const size_t *parents, size_t count)
{
    for (size_t row = 0; row < count; row++) {
        continue_row(layer, work, row, parents[row]);
    }
}

/* ---- backward -------------------------------------------------------------------------------------------------------
 */

void decoder_clear_unread(const decoder *layer, decoder_workspace *work, size_t rows)
{
    if (!layer->options.readout_embedding) {
        columns_clear(&work->dembedded, rows, layer->options.embedding_size);
    }
}

void decoder_carry(const decoder *layer, decoder_workspace *work, const real *gradient, size_t stride, size_t rows)
{
    const size_t D = layer->options.hidden;
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < D; i++) {
            work->carry[row * D + i] += gradient[row * stride + i];
        }
    }
}

void decoder_output_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work,
                             const real *doutput, size_t stride, size_t first, size_t rows)
{
    if (layer->above.count == 0) {
        decoder_carry(layer, work, doutput, stride, rows);
        return;
    }
    const real *dstate = stack_step_backward(&layer->above, theta, &work->above, doutput, stride, first, rows);
    decoder_carry(layer, work, dstate, layer->options.hidden, rows);
}

void decoder_update_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, real *dfed,
                             size_t stride, size_t first, size_t rows)
{
    const size_t D = layer->options.hidden, E = layer->options.embedding_size;
    gru_step_backward(&layer->cell, theta, work->carry, &work->trace, &work->gradient, first, rows, work->scratch);
    if (dfed != NULL) {
        const columns whole = columns_of(dfed, 0, stride);
        const columns seen = dropped_backward_begin(&work->cell_fed, &whole, first, rows);
        weights_backward_input(theta, seen.data, seen.stride, work->gradient.input + first * 3 * D, 3 * D,
                               layer->cell.weight_ih + E, layer->cell.input, rows, 3 * D, layer->fed);
        dropped_backward_end(&work->cell_fed, &whole, first, rows);
    }
}

void decoder_ask_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, real *ds,
                          size_t stride, size_t first, size_t rows)
{
    const columns whole = columns_of(ds, 0, stride);
    const columns seen = dropped_backward_begin(&work->asked, &whole, first, rows);
    attention_backward_ask(&layer->attention, theta, &work->attention, seen.data, seen.stride, first, rows);
    dropped_backward_end(&work->asked, &whole, first, rows);
}

/* From the gates' gradient, summed by word, to the matrix that read the embeddings and to the embeddings. */
static void words_backward(const decoder *layer, const weights_view *theta, real *dtheta, decoder_workspace *work,
                           const sequences *target)
{
    const size_t D = layer->options.hidden, E = layer->options.embedding_size, I = layer->cell.input;
    const size_t N = target->tokens, U = work->words.distinct, W = layer->cell.weight_ih;
    const columns *dembedded = &work->dembedded, *embedded = &work->word_rows;
    const columns sums = lookup_sum(&work->words, work->gradient.input, 3 * D, 3 * D);
    linear_backward_weight(dtheta + W, I, sums.data, sums.stride, embedded->data, embedded->stride, U, 3 * D, E);
    if (work->words.place != NULL) {
        memset(work->dword_rows, 0, U * E * sizeof *work->dword_rows);
        weights_backward_input(theta, work->dword_rows, E, sums.data, sums.stride, W, I, U, 3 * D, E);
        embedding_backward(dtheta + layer->embedding, work->dword_rows, E, work->words.id, U, E);
    } else {
        const columns seen = dropped_backward_begin(&work->cell_embedded, dembedded, 0, N);
        weights_backward_input(theta, seen.data, seen.stride, sums.data, sums.stride, W, I, N, 3 * D, E);
        dropped_backward_end(&work->cell_embedded, dembedded, 0, N);
    }
    if (work->embedding_mask != NULL) {
        dropout_apply(dembedded->data, dembedded->stride, work->embedding_mask, N, E);
    }
    embedding_backward(dtheta + layer->embedding, dembedded->data, dembedded->stride, target->id, N, E);
}

/* The cell's other weights, over all rows at once. */
static void cell_weights(const decoder *layer, real *dtheta, const decoder_workspace *work, size_t rows)
{
    const size_t D = layer->options.hidden, E = layer->options.embedding_size;
    const columns *fed = &work->cell_fed.seen;
    gru_backward_weights(&layer->cell, dtheta, &work->trace, &work->gradient, rows);
    if (layer->fed > 0) {
        linear_backward_weight(dtheta + layer->cell.weight_ih + E, layer->cell.input, work->gradient.input, 3 * D,
                               fed->data, fed->stride, rows, 3 * D, layer->fed);
    }
}

/* From the gradient at s_0 of the target's rows to the annotations. */
static void initial_backward(const decoder *layer, const weights_view *theta, real *dtheta, real *dannotations,
                             decoder_workspace *work, size_t B)
{
    const size_t D = layer->options.hidden, X = summary_size(&layer->options);
    if (layer->options.start == START_ZERO) {
        return;
    }
    memset(work->dinitial, 0, B * D * sizeof *work->dinitial);
    for (size_t row = 0; row < B; row++) {
        const size_t sentence = work->attention.sentence[row];
        real *dinitial = work->dinitial + sentence * D;
        const real *initial = work->initial + sentence * D;
        tanh_backward(dinitial, work->carry + row * D, initial, D);
        for (size_t l = 0; l < layer->above.count; l++) {
            tanh_backward(dinitial, work->above.layer[l].carry + row * D, initial, D);
        }
    }
    linear_backward_weight(dtheta + layer->initial_weight, X, work->dinitial, D, work->summary, X, B, D, X);
    linear_backward_bias(dtheta + layer->initial_bias, work->dinitial, D, B, D);
    memset(work->dsummary, 0, B * X * sizeof *work->dsummary);
    weights_backward_input(theta, work->dsummary, X, work->dinitial, D, layer->initial_weight, X, B, D, X);
    summarise_backward(layer, dannotations, work, B);
}

void decoder_backward(const decoder *layer, const weights_view *theta, real *dtheta, real *dannotations,
                      decoder_workspace *work, const batch *pairs, attention_paths paths)
{
    const sequences *target = &pairs->input;
    const attention *attend = &layer->attention;
    memset(work->carry, 0, target->count * layer->options.hidden * sizeof *work->carry);
    stack_backward_begin(&layer->above, &work->above, target->count);
    work->attention.unasked = (paths & PATH_UNASKED) != 0;
    attention_backward_begin(attend, &work->attention);
    layer->options.order->backward(layer, theta, dtheta, work, target);
    if (paths & PATH_VALUE) {
        attention_backward_values(attend, theta, dtheta, dannotations, &work->attention, work->dcontext.data,
                                  work->dcontext.stride, target);
    }
    if (paths & PATH_SCORE) {
        attention_backward_scores(attend, theta, dtheta, dannotations, &work->attention, work->asked.seen.data,
                                  work->asked.seen.stride);
    }
    cell_weights(layer, dtheta, work, target->tokens);
    words_backward(layer, theta, dtheta, work, target);
    stack_backward_weights(&layer->above, dtheta, &work->above, target->tokens);
    initial_backward(layer, theta, dtheta, dannotations, work, target->count);
}
