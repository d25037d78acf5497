/*
 * The conditional order (Sennrich et al. 2017, Nematus, section 2.2; Caglayan et al. 2017): two cells a step, and
 * attention between them.
 *
 *   s'_t = GRU_1(E y_{t-1}, s_{t-1})
 *   c_t  = attention(s'_t)
 *   s_t  = GRU_2(c_t, s'_t)
 *   features of the readout: [s_t ; c_t ; E y_{t-1}]
 *
 * Dropout of what is fed is of E y as the first cell reads it and of c as the second does; recurrent dropout has a mask
 * for each cell, of s_{t-1} and of s'_t.
 */
#include "model/decoder_order.h"
#include "ops/linear.h"

static size_t fed(const decoder_options *o)
{
    (void)o;
    return 0; /* behind E y, the first cell's whole input */
}

static void declare(decoder *layer, parameter_table *table)
{
    const decoder_options *o = &layer->options;
    gru_declare(&layer->second, table, "decoder.gru2", o->annotation, o->hidden, &o->cell);
    parameters_use(table, layer->second.weight_ih, USE_STEPS);
}

static void layout(const decoder *layer, decoder_workspace *work, arena *space, size_t rows)
{
    const size_t D = layer->options.hidden;
    work->output = decoder_layout_joined(layer, work, space, rows);
    work->state = layer->options.layers > 1 ? columns_own(space, rows, D) : work->output;
    work->asking = columns_own(space, rows, D); /* s' */
    work->fed = columns_own(space, rows, 0);
    work->trace.previous = arena_reals(space, rows * D);
    work->trace.previous_stride = D;
    work->second_trace.previous = work->asking.data;
    work->second_trace.previous_stride = work->asking.stride;
}

/* s_t of s'_t and c_t; and the layers above. */
static void update(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation;
    const gru *cell = &layer->second;
    const columns *seen = &work->second_fed.seen;
    dropped_forward(&work->second_fed, first, rows);
    weights_forward(theta, work->second_trace.gates + first * 3 * D, 3 * D, columns_row(seen, first), seen->stride,
                    cell->weight_ih, C, gru_input_bias(cell), rows, 3 * D, C);
    gru_step_forward(cell, theta, columns_row(&work->state, first), work->state.stride, &work->second_trace, first,
                     rows, work->scratch);
    stack_step(&layer->above, theta, &work->above, first, rows);
}

static void step(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first, size_t rows)
{
    gru_step_forward(&layer->cell, theta, columns_row(&work->asking, first), work->asking.stride, &work->trace, first,
                     rows, work->scratch);
    decoder_ask(layer, theta, work, first, rows);
    attention_read(&layer->attention, theta, &work->attention, columns_row(&work->context, first), work->context.stride,
                   first, rows);
    update(layer, theta, work, first, rows);
}

/* work->carry goes from s_t to s'_t, and the gradient at c_t is added to. */
static void update_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                            size_t rows)
{
    const size_t D = layer->options.hidden, C = layer->options.annotation;
    const gru *cell = &layer->second;
    const columns whole = columns_of(columns_row(&work->dcontext, first), 0, work->dcontext.stride);
    gru_step_backward(cell, theta, work->carry, &work->second_trace, &work->second_gradient, first, rows,
                      work->scratch);
    const columns seen = dropped_backward_begin(&work->second_fed, &whole, first, rows);
    weights_backward_input(theta, seen.data, seen.stride, work->second_gradient.input + first * 3 * D, 3 * D,
                           cell->weight_ih, C, rows, 3 * D, C);
    dropped_backward_end(&work->second_fed, &whole, first, rows);
}

/* work->carry holds the gradient at s_t that came from later steps, and takes that at s_{t-1}. */
static void step_backward(const decoder *layer, const weights_view *theta, decoder_workspace *work, size_t first,
                          size_t rows)
{
    const columns *doutput = &work->doutput, *dcontext = &work->dcontext;
    decoder_output_backward(layer, theta, work, columns_row(doutput, first), doutput->stride, first, rows);
    update_backward(layer, theta, work, first, rows);
    attention_backward_read(&layer->attention, theta, &work->attention, columns_row(dcontext, first), dcontext->stride,
                            first, rows);
    decoder_ask_backward(layer, theta, work, work->carry, layer->options.hidden, first, rows);
    decoder_update_backward(layer, theta, work, NULL, 0, first, rows);
}

static void backward(const decoder *layer, const weights_view *theta, real *dtheta, decoder_workspace *work,
                     const sequences *target)
{
    const size_t N = target->tokens, D = layer->options.hidden, C = layer->options.annotation;
    const columns *read = &work->second_fed.seen;
    decoder_clear_unread(layer, work, N);
    for (size_t t = target->steps; t-- > 0;) {
        step_backward(layer, theta, work, target->offset[t], target->active[t]);
    }
    gru_backward_weights(&layer->second, dtheta, &work->second_trace, &work->second_gradient, N);
    linear_backward_weight(dtheta + layer->second.weight_ih, C, work->second_gradient.input, 3 * D, read->data,
                           read->stride, N, 3 * D, C);
}

const decoder_order decoder_conditional = {.name = "conditional",
                                           .fed = fed,
                                           .features = decoder_joined_features,
                                           .declare = declare,
                                           .layout = layout,
                                           .layout_gradient = decoder_layout_joined_gradient,
                                           .step = step,
                                           .forward = decoder_forward_steps,
                                           .backward = backward};
