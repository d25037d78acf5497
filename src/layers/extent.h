/*
 * How much of the source one step of attention sees (Luong, Pham and Manning 2015, section 3.2):
 *
 *   global    every position
 *   local-m   positions p-w .. p+w round p = t, the step's own number, or the sentence's last position beyond its end
 *   local-p   positions within w of p = S sigma(v_p . tanh(W_p s)), and the weights of the softmax over them are then
 *             multiplied by exp(-(i - p)^2 / (2 (w/2)^2)): so p is learned, and the weights sum to less than 1
 *
 * Steps and positions count from 0. The window's borders carry no gradient.
 */
#ifndef LAYERS_EXTENT_H
#define LAYERS_EXTENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "layers/parameters.h"
#include "layers/projection.h"

typedef enum extent_kind { EXTENT_GLOBAL, EXTENT_LOCAL_M, EXTENT_LOCAL_P } extent_kind;

typedef struct extent {
    extent_kind kind;
    size_t window;     /* w */
    projection hidden; /* W_p [P,D] */
    size_t vector;     /* v_p [P] */
} extent;

/* Of N target rows; NULL where the kind has no use for it. */
typedef struct extent_workspace {
    real *centre;  /* [N] p */
    real *hidden;  /* [N,P] tanh(W_p s) */
    real *dlogit;  /* [N] gradient at what sigma takes */
    real *dhidden; /* [N,P] gradient at W_p s */
} extent_workspace;

/* `units` P of the prediction from states of size D. */
void extent_declare(extent *layer, parameter_table *table, extent_kind kind, size_t window, size_t state, size_t units);
void extent_layout(const extent *layer, extent_workspace *work, arena *space, size_t rows, int with_gradient);

/* local-p: W_p s for rows first .. first+rows-1, whose states are s[rows, stride]. */
void extent_forward(const extent *layer, const weights_view *theta, extent_workspace *work, const real *s,
                    size_t stride, size_t first, size_t rows);
/* Sets p of one row, which belongs to step t and reads a sentence of S tokens. */
void extent_centre(const extent *layer, const real *theta, extent_workspace *work, size_t row, size_t t, size_t S);

/* The positions that a row sees: begin .. end-1, at least one. */
typedef struct span {
    size_t begin, end;
} span;
span extent_span(const extent *layer, const extent_workspace *work, size_t row, size_t S);

/* local-p: alpha[S] *= the factor, within the span. */
void extent_favour(const extent *layer, const extent_workspace *work, real *alpha, size_t row, span seen);
/* local-p: dlogit = 0 for rows 0 .. rows-1. */
void extent_backward_begin(const extent *layer, extent_workspace *work, size_t rows);
/*
 * local-p: turns the gradient at the weights and the weights, both [S], into those without the factor, within the span;
 * what p learns is added to dlogit of the row, once for each head.
 */
void extent_favour_backward(const extent *layer, extent_workspace *work, real *dalpha, real *alpha, size_t row,
                            span seen, size_t S);

/* local-p: from dlogit of rows first .. to their states' gradient ds[rows, stride], adding. */
void extent_backward(const extent *layer, const weights_view *theta, extent_workspace *work, real *ds, size_t stride,
                     size_t first, size_t rows);
/* local-p: adds the gradients of W_p and v_p over rows 0 .. rows-1. */
void extent_backward_weights(const extent *layer, real *dtheta, const extent_workspace *work, const real *s,
                             size_t stride, size_t rows);

#endif
