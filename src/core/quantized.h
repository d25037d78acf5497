/*
 * Matrices stored in 8 bits, a scale a row, and their products with vectors. A decoder that translates one sentence
 * reads all its weights for every word, so a quarter of the bytes is a quarter of the time.
 *
 *   W[n][k] = scale[n] q[n][k],  |q| <= 127      x[k] = step p[k], |p| <= what a 32-bit sum over k allows, 15 bits at
 * most
 *
 * The sums are of integers, so neither the processor, nor the cutting over threads, nor the order can change a bit of
 * them.
 */
#ifndef CORE_QUANTIZED_H
#define CORE_QUANTIZED_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

/* Nearest q of row[count], and its scale: the largest magnitude is 127 steps; 0 for a row of zeros. */
void quantize_row(int8_t *q, real *scale, const real *row, size_t count);

typedef struct quantized_matrix {
    const int8_t *values; /* [out, in], rows `stride` apart */
    size_t stride;
    const real *scale; /* [out] */
} quantized_matrix;

/* Where the inputs of a product are put in 16 bits. */
typedef struct quantized_scratch {
    int16_t *values; /* [rows * in] */
    real *step;      /* [rows] */
} quantized_scratch;

/* y[rows,out] += x[rows,in] W^T. A NaN or an infinity in a row of x makes its whole row of y NaN. */
void quantized_product(real *y, size_t ldy, const real *x, size_t ldx, const quantized_matrix *W, size_t rows,
                       size_t out, size_t in, const quantized_scratch *scratch);

#endif
