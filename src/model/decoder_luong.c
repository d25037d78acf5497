/*
 * Luong's order (Luong, Pham and Manning 2015, section 3):
 *
 *   s_t  = GRU([E y_{t-1} ; s~_{t-1}], s_{t-1})      input feeding, s~_0 = 0; without it, of E y_{t-1} alone
 *   c_t  = attention(s_t)
 *   s~_t = tanh(W_c [c_t ; s_t])                     which alone the readout sees
 *
 * Without input feeding no step needs the attention of the one before: then all states come first, and queries,
 * attentional states and their gradients are one product each over all rows.
 */
#include <string.h>

#include "model/decoder_order.h"
#include "ops/activation.h"
#include "ops/linear.h"

static size_t fed(const decoder_options *o)
{
    return o->input_feeding ? o->hidden : 0;
}

static size_t features(const decoder_options *o)
{
    return o->hidden;
}

static void declare(decoder *layer, parameter_table *table)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation;
    layer->combination = parameters_add(table, "decoder.combination.weight", D, C + D, INIT_WEIGHT);
    if (layer->options.input_feeding) {
        parameters_use(table, layer->combination, USE_STEPS);
    }
}

static void layout(const decoder *layer, decoder_workspace *work, arena *space, size_t rows)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation;
    real *combined = arena_reals(space, rows * (C + D)); /* [c_t ; s_t] */
    work->features = arena_reals(space, rows * D);
    work->context = columns_of(combined, 0, C + D);
    work->output = columns_of(combined, C, C + D);
    work->state = layer->options.layers > 1 ? columns_own(space, rows, D) : work->output;
    work->asking = work->output;
    work->embedded = columns_own(space, rows, layer->options.embedding_size);
    work->fed = columns_own(space, rows, fed(&layer->options));
    work->feeds_features = layer->options.input_feeding;
    work->trace.previous = arena_reals(space, rows * D);
    work->trace.previous_stride = D;
}

static void layout_gradient(const decoder *layer, decoder_workspace *work, arena *space, size_t rows)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation;
    real *dcombined = arena_reals(space, rows * (C + D));
    work->dfeatures = arena_reals(space, rows * D);
    work->dcontext = columns_of(dcombined, 0, C + D);
    work->doutput = columns_of(dcombined, C, C + D);
    work->dembedded = columns_own(space, rows, layer->options.embedding_size);
    work->dcombination = arena_reals(space, rows * D);
}

static void read(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    attention_read(&layer->attention, theta, &work->attention, columns_row(&work->context, first), work->context.stride,
                   first, rows);
}

/* s~ = tanh(W_c [c ; s]) */
static void combine(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    const size_t D = layer->options.hidden, stride = work->context.stride;
    real *attentional = work->features + first * D;
    weights_forward(theta, attentional, D, columns_row(&work->context, first), stride, layer->combination, stride,
                    WEIGHTS_NO_BIAS, rows, D, stride);
    tanh_forward(attentional, rows * D);
}

/* From dfeatures to dcontext and doutput, which lie side by side. */
static void combine_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                             size_t rows)
{
    const size_t D = layer->options.hidden, stride = work->dcontext.stride;
    real *dsum = work->dcombination + first * D, *dcombined = columns_row(&work->dcontext, first);
    memset(dsum, 0, rows * D * sizeof *dsum);
    tanh_backward(dsum, work->dfeatures + first * D, work->features + first * D, rows * D);
    memset(dcombined, 0, rows * stride * sizeof *dcombined);
    weights_backward_input(theta, dcombined, stride, dsum, D, layer->combination, stride, rows, D, stride);
}

static void step(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    decoder_update(layer, theta, work, first, rows);
    decoder_ask(layer, theta, work, first, rows);
    read(layer, theta, work, first, rows);
    combine(layer, theta, work, first, rows);
}

static void forward(const decoder *layer, const weights_view *theta, decoder_workspace *work, const sequences *target)
{
    if (layer->options.input_feeding) {
        decoder_forward_steps(layer, theta, work, target);
        return;
    }
    for (size_t t = 0; t < target->steps; t++) {
        decoder_continue(layer, work, target, t);
        decoder_update(layer, theta, work, target->offset[t], target->active[t]);
    }
    decoder_ask(layer, theta, work, 0, target->tokens);
    for (size_t t = 0; t < target->steps; t++) {
        attention_at_step(&work->attention, t, target->active[t]);
        read(layer, theta, work, target->offset[t], target->active[t]);
    }
    combine(layer, theta, work, 0, target->tokens);
}

static void read_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                          size_t rows)
{
    attention_backward_read(&layer->attention, theta, &work->attention, columns_row(&work->dcontext, first),
                            work->dcontext.stride, first, rows);
}

static void ask_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                         size_t rows)
{
    decoder_ask_backward(layer, theta, work, columns_row(&work->doutput, first), work->doutput.stride, first, rows);
}

/* Step t's part of the recurrence. What was fed to its rows are the first rows of the step before. */
static void update_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work,
                            const sequences *target, size_t t)
{
    const size_t D = layer->options.hidden, first = target->offset[t], rows = target->active[t];
    real *dfed = layer->options.input_feeding && t > 0 ? work->dfeatures + target->offset[t - 1] * D : NULL;
    decoder_output_backward(layer, theta, work, columns_row(&work->doutput, first), work->doutput.stride, first, rows);
    decoder_update_backward(layer, theta, work, dfed, D, first, rows);
}

static void backward(const decoder *layer, const weights_view *theta, real *dtheta, decoder_workspace *work,
                     const sequences *target)
{
    const bool feeding = layer->options.input_feeding;
    const size_t N = target->tokens, D = layer->options.hidden, stride = work->context.stride;
    columns_clear(&work->dembedded, N, layer->options.embedding_size);
    if (!feeding) {
        combine_backward(layer, theta, work, 0, N);
        for (size_t t = 0; t < target->steps; t++) {
            read_backward(layer, theta, work, target->offset[t], target->active[t]);
        }
        ask_backward(layer, theta, work, 0, N);
    }
    for (size_t t = target->steps; t-- > 0;) {
        if (feeding) {
            combine_backward(layer, theta, work, target->offset[t], target->active[t]);
            read_backward(layer, theta, work, target->offset[t], target->active[t]);
            ask_backward(layer, theta, work, target->offset[t], target->active[t]);
        }
        update_backward(layer, theta, work, target, t);
    }
    linear_backward_weight(dtheta + layer->combination, stride, work->dcombination, D, work->context.data, stride, N, D,
                           stride);
}

const decoder_order decoder_luong = {.name = "luong",
                                     .fed = fed,
                                     .features = features,
                                     .declare = declare,
                                     .layout = layout,
                                     .layout_gradient = layout_gradient,
                                     .step = step,
                                     .forward = forward,
                                     .backward = backward};
