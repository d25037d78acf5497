#include "model/decoder_stack.h"

#include <stdio.h>
#include <string.h>

#include "ops/linear.h"

void stack_declare(decoder_stack *stack, parameter_table *table, size_t count, size_t hidden, const gru_kind *kind,
                   bool residual)
{
    *stack = (decoder_stack){.count = count, .hidden = hidden, .residual = residual};
    for (size_t l = 0; l < count; l++) {
        char prefix[48];
        snprintf(prefix, sizeof prefix, "decoder.layer%zu", l + 2);
        gru_declare(&stack->cell[l], table, prefix, hidden, hidden, kind);
        parameters_use(table, stack->cell[l].weight_ih, USE_STEPS);
    }
}

void stack_layout(const decoder_stack *stack, stack_workspace *work, arena *space, const columns *bottom,
                  const columns *top, size_t rows, size_t width, bool with_gradient)
{
    const size_t D = stack->hidden;
    *work = (stack_workspace){0};
    for (size_t l = 0; l < stack->count; l++) {
        stack_layer_workspace *layer = &work->layer[l];
        gru_layout(&stack->cell[l], &layer->trace, space, rows, width, with_gradient);
        layer->trace.previous = arena_reals(space, rows * D);
        layer->trace.previous_stride = D;
        layer->input = l == 0 ? *bottom : work->layer[l - 1].output;
        layer->output = l + 1 == stack->count ? *top : columns_own(space, rows, D);
        layer->state = stack->residual ? columns_own(space, rows, D) : layer->output;
        if (with_gradient) {
            gru_layout_gradient(&stack->cell[l], &layer->gradient, space, rows);
            layer->carry = arena_reals(space, width * D);
        }
    }
    if (stack->count > 0) {
        work->scratch = arena_reals(space, width * 3 * D);
        work->passing = arena_reals(space, width * D);
    }
}

void stack_draw_masks(const decoder_stack *stack, const stack_workspace *work, size_t sequences)
{
    for (size_t l = 0; l < stack->count; l++) {
        gru_draw_mask(&stack->cell[l], &work->layer[l].trace, sequences);
    }
}

void stack_start(const decoder_stack *stack, stack_workspace *work, size_t row, const real *s)
{
    for (size_t l = 0; l < stack->count; l++) {
        memcpy(work->layer[l].trace.previous + row * stack->hidden, s, stack->hidden * sizeof *s);
    }
}

void stack_continue(const decoder_stack *stack, stack_workspace *work, size_t row, size_t from)
{
    for (size_t l = 0; l < stack->count; l++) {
        memcpy(work->layer[l].trace.previous + row * stack->hidden, columns_row(&work->layer[l].state, from),
               stack->hidden * sizeof(real));
    }
}

static void add_input(const stack_layer_workspace *layer, size_t first, size_t rows, size_t D)
{
    for (size_t row = first; row < first + rows; row++) {
        const real *input = columns_row(&layer->input, row), *state = columns_row(&layer->state, row);
        real *output = columns_row(&layer->output, row);
        for (size_t i = 0; i < D; i++) {
            output[i] = state[i] + input[i];
        }
    }
}

void stack_step(const decoder_stack *stack, const weights_view *theta, stack_workspace *work, size_t first, size_t rows)
{
    const size_t D = stack->hidden;
    for (size_t l = 0; l < stack->count; l++) {
        const gru *cell = &stack->cell[l];
        const stack_layer_workspace *layer = &work->layer[l];
        weights_forward(theta, layer->trace.gates + first * 3 * D, 3 * D, columns_row(&layer->input, first),
                        layer->input.stride, cell->weight_ih, D, gru_input_bias(cell), rows, 3 * D, D);
        gru_step_forward(cell, theta, columns_row(&layer->state, first), layer->state.stride, &layer->trace, first,
                         rows, work->scratch);
        if (stack->residual) {
            add_input(layer, first, rows, D);
        }
    }
}

void stack_backward_begin(const decoder_stack *stack, stack_workspace *work, size_t sequences)
{
    for (size_t l = 0; l < stack->count; l++) {
        memset(work->layer[l].carry, 0, sequences * stack->hidden * sizeof(real));
    }
}

const real *stack_step_backward(const decoder_stack *stack, const weights_view *theta, stack_workspace *work,
                                const real *dtop, size_t stride, size_t first, size_t rows)
{
    const size_t D = stack->hidden;
    for (size_t row = 0; row < rows; row++) {
        memcpy(work->passing + row * D, dtop + row * stride, D * sizeof *dtop);
    }
    for (size_t l = stack->count; l-- > 0;) {
        const gru *cell = &stack->cell[l];
        stack_layer_workspace *layer = &work->layer[l];
        for (size_t i = 0; i < rows * D; i++) {
            layer->carry[i] += work->passing[i];
        }
        gru_step_backward(cell, theta, layer->carry, &layer->trace, &layer->gradient, first, rows, work->scratch);
        if (!stack->residual) {
            memset(work->passing, 0, rows * D * sizeof *work->passing);
        }
        weights_backward_input(theta, work->passing, D, layer->gradient.input + first * 3 * D, 3 * D, cell->weight_ih,
                               D, rows, 3 * D, D);
    }
    return work->passing;
}

void stack_backward_weights(const decoder_stack *stack, real *dtheta, const stack_workspace *work, size_t rows)
{
    const size_t D = stack->hidden;
    for (size_t l = 0; l < stack->count; l++) {
        const stack_layer_workspace *layer = &work->layer[l];
        gru_backward_weights(&stack->cell[l], dtheta, &layer->trace, &layer->gradient, rows);
        linear_backward_weight(dtheta + stack->cell[l].weight_ih, D, layer->gradient.input, 3 * D, layer->input.data,
                               layer->input.stride, rows, 3 * D, D);
    }
}
