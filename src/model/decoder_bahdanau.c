/*
 * Bahdanau's order (Bahdanau, Cho and Bengio 2015, A.2.2):
 *
 *   c_t = attention(s_{t-1})
 *   s_t = GRU([E y_{t-1} ; c_t], s_{t-1})
 *   features of the readout: [s_t or s_{t-1} ; c_t ; E y_{t-1}]
 */
#include "model/decoder_order.h"

static size_t fed(const decoder_options *o)
{
    return o->annotation;
}

static void declare(decoder *layer, parameter_table *table)
{
    (void)layer;
    (void)table;
}

static void layout(const decoder *layer, decoder_workspace *work, arena *space, size_t rows)
{
    const decoder_options *o = &layer->options;
    const size_t D = o->hidden;
    const columns seen = decoder_layout_joined(layer, work, space, rows), other = columns_own(space, rows, D);
    const columns previous = o->readout_previous_state ? seen : other;
    work->output = o->readout_previous_state ? other : seen;
    work->state = o->layers > 1 ? columns_own(space, rows, D) : work->output;
    work->asking = previous;
    work->fed = work->context;
    work->trace.previous = previous.data;
    work->trace.previous_stride = previous.stride;
}

static void step(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    decoder_ask(layer, theta, work, first, rows);
    attention_read(&layer->attention, theta, &work->attention, columns_row(&work->context, first), work->context.stride,
                   first, rows);
    decoder_update(layer, theta, work, first, rows);
}

/* work->carry holds the gradient at s_t that came from later steps, and takes that at s_{t-1}. */
static void step_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                          size_t rows)
{
    const bool previous = layer->options.readout_previous_state;
    const size_t D = layer->options.hidden;
    real *dcontext = columns_row(&work->dcontext, first);
    const real *doutput = columns_row(&work->doutput, first);
    if (!previous) {
        decoder_output_backward(layer, theta, work, doutput, work->doutput.stride, first, rows);
    }
    decoder_update_backward(layer, theta, work, dcontext, work->dcontext.stride, first, rows);
    attention_backward_read(&layer->attention, theta, &work->attention, dcontext, work->dcontext.stride, first, rows);
    decoder_ask_backward(layer, theta, work, work->carry, D, first, rows);
    if (previous) {
        decoder_carry(layer, work, doutput, work->doutput.stride, rows);
    }
}

static void backward(const decoder *layer, const weights_view *theta, real *dtheta, decoder_workspace *work,
                     const sequences *target)
{
    (void)dtheta;
    decoder_clear_unread(layer, work, target->tokens);
    for (size_t t = target->steps; t-- > 0;) {
        step_backward(layer, theta, work, target->offset[t], target->active[t]);
    }
}

const decoder_order decoder_bahdanau = {.name = "bahdanau",
                                        .fed = fed,
                                        .features = decoder_joined_features,
                                        .declare = declare,
                                        .layout = layout,
                                        .layout_gradient = decoder_layout_joined_gradient,
                                        .step = step,
                                        .forward = decoder_forward_steps,
                                        .backward = backward};
