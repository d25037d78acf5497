/*
 * Parameters as passes read them. Whatever a matrix is named by is its offset in the block. Decoding may read matrices
 * in 8 bits instead (core/quantized.h); decoding of several rows, and each step of training, read them as packed
 * (core/packed.h). Embeddings and vectors are read from the block always.
 */
#ifndef LAYERS_WEIGHTS_H
#define LAYERS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/error.h"
#include "core/packed.h"
#include "core/quantized.h"
#include "core/real.h"
#include "layers/parameters.h"

typedef struct weights_quantized weights_quantized;

/* Matrices packed for products with their rows' inputs, and with gradients at their outputs. */
typedef struct weights_packed {
    struct packed_tensor {
        size_t offset, rows, columns;
        real *panels, *transposed;
    } tensors[PARAMETERS_CAPACITY];
    size_t count;
} weights_packed;

typedef struct weights_view {
    const real *block;
    const weights_packed *packed;       /* of the block as it is now; or NULL */
    const weights_quantized *quantized; /* instead of either; or NULL */
    quantized_scratch scratch;          /* with `quantized`: weights_layout */
} weights_view;

/* Quantizes every matrix of the block. The caller's: weights_quantized_free. */
nmt_status weights_quantize(weights_quantized **quantized, const parameter_table *table, const real *block,
                            nmt_error *error);

void weights_quantized_free(weights_quantized *quantized);

/* Room for the matrices of this use or a stronger one, transposed ones as well where there is a backward pass. */
void weights_layout_packed(weights_packed *packed, arena *space, const parameter_table *table, tensor_use use,
                           bool with_gradient);

/* Packs what was laid out. */
void weights_pack(weights_packed *packed, const real *block);

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

/* dx[rows,in] += dy[rows,out] W; of the block or packed. */
void weights_backward_input(const weights_view *theta, real *dx, size_t lddx, const real *dy, size_t lddy,
                            size_t matrix, size_t ldw, size_t rows, size_t out, size_t in);

#endif
