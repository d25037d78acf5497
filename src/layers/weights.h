/*
 * Parameters as a forward pass reads them. Training reads the block itself. Decoding may read its matrices in 8 bits
 * instead (core/quantized.h), which have the same offsets; embeddings and vectors are read from the block always.
 */
#ifndef LAYERS_WEIGHTS_H
#define LAYERS_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/error.h"
#include "core/quantized.h"
#include "core/real.h"
#include "layers/parameters.h"

typedef struct weights_quantized weights_quantized;

typedef struct weights_view {
    const real *block;
    const weights_quantized *quantized; /* NULL: everything is read from the block */
    quantized_scratch scratch;          /* with `quantized`: weights_layout */
} weights_view;

/* Quantizes every matrix of the block. The caller's: weights_quantized_free. */
nmt_status weights_quantize(weights_quantized **quantized, const parameter_table *table, const real *block,
                            nmt_error *error);

void weights_quantized_free(weights_quantized *quantized);

/* Room for the inputs of products over up to `rows` rows; nothing where nothing is quantized. */
void weights_layout(weights_view *theta, arena *space, size_t rows);

/* The same with inputs of products put behind the first `rows` rows' room: for work on another thread. */
weights_view weights_beside(const weights_view *theta, size_t rows);

#define WEIGHTS_NO_BIAS SIZE_MAX

/* y[rows,out] = x[rows,in] W^T + b[out]; `matrix` and `bias` are offsets, W's rows are `ldw` apart and may be columns
 * of a wider matrix. */
void weights_forward(const weights_view *theta, real *y, size_t ldy, const real *x, size_t ldx, size_t matrix,
                     size_t ldw, size_t bias, size_t rows, size_t out, size_t in);

/* y += x W^T */
void weights_forward_add(const weights_view *theta, real *y, size_t ldy, const real *x, size_t ldx, size_t matrix,
                         size_t ldw, size_t rows, size_t out, size_t in);

#endif
