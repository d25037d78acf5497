/*
 * Layer normalisation (Ba, Kiros and Hinton 2016) of each row by itself:
 *
 *   n = (x - mean) / sqrt(variance + 1e-5);  y = gain o n + bias
 *
 * The variance is that of the row's own numbers, their squares summed over `width`.
 */
#ifndef OPS_LAYER_NORM_H
#define OPS_LAYER_NORM_H

#include <stddef.h>

#include "core/real.h"

/* What a forward pass leaves for backward. */
typedef struct layer_norm_kept {
    real *values; /* n, [rows,width] with `stride`; NULL: there will be no backward */
    size_t stride;
    real *inverse; /* 1 / sqrt(variance + 1e-5), one a row with `inverse_stride` */
    size_t inverse_stride;
} layer_norm_kept;

/* y[rows,width] with stride ldy holds x and gets y. */
void layer_norm_forward(real *y, size_t ldy, const layer_norm_kept *kept, const real *gain, const real *bias,
                        size_t rows, size_t width);

/* dx += inverse (g - mean of g - n mean of (g o n)), g = gain o dy. */
void layer_norm_backward_input(real *dx, size_t lddx, const real *dy, size_t lddy, const layer_norm_kept *kept,
                               const real *gain, size_t rows, size_t width);

/* dgain += sum over rows of dy o n; the bias has linear_backward_bias. */
void layer_norm_backward_gain(real *dgain, const real *dy, size_t lddy, const layer_norm_kept *kept, size_t rows,
                              size_t width);

#endif
