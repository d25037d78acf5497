/*
 * Gated recurrent unit (Cho et al. 2014), gates in the order r, z, n:
 *
 *   r = sigma(W_ir x + b_ir + W_hr h + b_hr)
 *   z = sigma(W_iz x + b_iz + W_hz h + b_hz)
 *   n = tanh(W_in x + b_in + r o (W_hn h + b_hn))     reset_after, as torch.nn.GRU
 *   n = tanh(W_in x + b_in + W_hn (r o h) + b_hn)     reset_before, as Bahdanau et al. 2015, A.1.1
 *   h' = (1 - z) o n + z o h
 *
 * With layer normalisation (Ba, Kiros and Hinton 2016, supplement) the input's and the state's part are normalised each
 * by itself, r and z together and n alone, before their biases: LN(W_i x) o g_i + b_i, LN(W_h h) o g_h + b_h.
 *
 * The input's part of the gates, W_i x + b_i, does not depend on the recurrence: the caller computes it for all steps
 * at once. The same holds in backward for every weight gradient: a step leaves the gates' gradients behind, and one
 * product over all rows makes the weights' from them.
 */
#ifndef LAYERS_GRU_H
#define LAYERS_GRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "layers/parameters.h"
#include "layers/weights.h"

typedef enum gru_reset { GRU_AFTER, GRU_BEFORE } gru_reset;

/* What the cells of a model have in common. */
typedef struct gru_kind {
    gru_reset reset;
    bool normalized; /* layer normalisation */
    double dropout;  /* of h as the recurrent matrices read it, in training; what z keeps is whole */
} gru_kind;

typedef struct gru {
    size_t input, hidden; /* I, H */
    gru_kind kind;
    size_t weight_ih, weight_hh, bias_ih, bias_hh; /* offsets: [3H,I] [3H,H] [3H] [3H] */
    size_t gain_ih, gain_hh;                       /* of layer normalisation: [3H] [3H] */
} gru;

/*
 * What the steps leave behind for backward, row by row; N rows. Recurrent dropout (Gal and Ghahramani 2016) has one
 * mask a sequence for all its steps; rows of a step are sequences from the first on, so row i of every step has row i
 * of it.
 */
typedef struct gru_trace {
    real *gates;     /* [N,3H] in: the input's part; after the step: r, z, n */
    real *recurrent; /* [N,H] reset_after: W_hn h + b_hn; reset_before: r o h */
    real *previous;  /* [N,H] h before the step, with stride previous_stride */
    size_t previous_stride;
    real *mask;                              /* [B,H] of recurrent dropout, or NULL */
    real *normal_input, *normal_recurrent;   /* [N,3H] each: the parts as normalised, in training */
    real *inverse_input, *inverse_recurrent; /* [N,2] each: of r and z, of n */
    real *masked; /* [N,H] with a mask: h before the step as the recurrent matrices read it */
    uint64_t key; /* of the mask, set between layout and gru_draw_mask */
} gru_trace;

/* Gradients of the gates before their activation: with respect to the products W_i x and W_h h, and to the two parts
 * that are summed. They are the same arrays unless there is layer normalisation between; and for reset_before there is
 * one gradient of both parts. */
typedef struct gru_gradient {
    real *input, *recurrent;           /* [N,3H] each, of the products */
    real *input_part, *recurrent_part; /* [N,3H] each */
} gru_gradient;

void gru_declare(gru *layer, parameter_table *table, const char *prefix, size_t input, size_t hidden,
                 const gru_kind *kind);

/* The bias of the input's part as the caller computes it, an offset, or WEIGHTS_NO_BIAS: with layer normalisation it
 * comes later. */
size_t gru_input_bias(const gru *layer);

/* Lays out the trace of N rows, of which at most B at a time, without `previous`; with gradient, what training needs.
 */
void gru_layout(const gru *layer, gru_trace *trace, arena *space, size_t rows, size_t width, bool with_gradient);

void gru_layout_gradient(const gru *layer, gru_gradient *gradient, arena *space, size_t rows);

/* Draws the mask of `sequences` sequences, where there is one. */
void gru_draw_mask(const gru *layer, const gru_trace *trace, size_t sequences);

/* One step for `rows` rows of the trace from row `first` on. `h`[rows, stride] gets the new state; `scratch` holds
 * [rows,3H]. */
void gru_step_forward(const gru *layer, const weights_view *theta, real *h, size_t stride, const gru_trace *trace,
                      size_t first, size_t rows, real *scratch);

/* dh[rows,H] is the gradient at the new state and becomes the gradient at the state before. The gates' gradients are
 * overwritten from row `first` on; `scratch` holds [rows,2H]. */
void gru_step_backward(const gru *layer, const weights_view *theta, real *dh, const gru_trace *trace,
                       const gru_gradient *gradient, size_t first, size_t rows, real *scratch);

/* Adds the gradients of weight_hh, both biases and both gains over all `rows` rows; weight_ih is the caller's, who has
 * the input.
 */
void gru_backward_weights(const gru *layer, real *dtheta, const gru_trace *trace, const gru_gradient *gradient,
                          size_t rows);

#endif
