/*
 * The decoder's layers above the first. Each is a GRU that reads what the layer below gives at the same step, and gives
 * its state, with residual connections its state and what it read (He et al. 2016; Wu et al. 2016):
 *
 *   s^l_t = GRU(o^{l-1}_t, s^l_{t-1});  o^l_t = s^l_t [+ o^{l-1}_t];  o^1_t = s^1_t
 *
 * All start from the s_0 of the first.
 */
#ifndef MODEL_DECODER_STACK_H
#define MODEL_DECODER_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/real.h"
#include "layers/columns.h"
#include "layers/gru.h"
#include "layers/parameters.h"
#include "layers/weights.h"

enum { DECODER_LAYERS_MAX = 8 };

typedef struct decoder_stack {
    size_t count, hidden; /* layers above the first; D */
    bool residual;
    gru cell[DECODER_LAYERS_MAX - 1];
} decoder_stack;

/* Named "decoder.layer2" and so on. */
void stack_declare(decoder_stack *stack, parameter_table *table, size_t count, size_t hidden, const gru_kind *kind,
                   bool residual);

typedef struct stack_layer_workspace {
    columns input, state, output; /* [N,D] each; without residual connections the state is the output */
    gru_trace trace;              /* [N, ...] */
    gru_gradient gradient;
    real *carry; /* [B,D] gradient at the state, on its way to the step before */
} stack_layer_workspace;

typedef struct stack_workspace {
    stack_layer_workspace layer[DECODER_LAYERS_MAX - 1];
    real *scratch; /* [B,3D] */
    real *passing; /* [B,D] gradient on its way down */
} stack_workspace;

/* Between `bottom` and `top`, [N,D] each: what the first layer gives, where the last leaves what it gives. */
void stack_layout(const decoder_stack *stack, stack_workspace *work, arena *space, const columns *bottom,
                  const columns *top, size_t rows, size_t width, bool with_gradient);

void stack_draw_masks(const decoder_stack *stack, const stack_workspace *work, size_t sequences);

/* Row `row` comes first in its sequence, with the state s[D]; or after row `from`. */
void stack_start(const decoder_stack *stack, stack_workspace *work, size_t row, const real *s);
void stack_continue(const decoder_stack *stack, stack_workspace *work, size_t row, size_t from);

/* One step of rows first .. first+rows-1. */
void stack_step(const decoder_stack *stack, const weights_view *theta, stack_workspace *work, size_t first,
                size_t rows);

/* Before the last step's backward. */
void stack_backward_begin(const decoder_stack *stack, stack_workspace *work, size_t sequences);

/* One step, from dtop[rows, stride]; returns the gradient at what the first layer gives, [rows,D]. */
const real *stack_step_backward(const decoder_stack *stack, const weights_view *theta, stack_workspace *work,
                                const real *dtop, size_t stride, size_t first, size_t rows);

/* Adds the gradients of all weights over all `rows` rows. */
void stack_backward_weights(const decoder_stack *stack, real *dtheta, const stack_workspace *work, size_t rows);

#endif
