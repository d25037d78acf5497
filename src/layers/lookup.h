/*
 * The words of a batch's rows, each word once. Rows with the same word read the same embedding, so the product of an
 * embedding with a matrix is taken once a word and copied to the word's rows; and as the gradient of a sum is the sum
 * of gradients, backward adds up the rows of a word before its products. Of the tokens of 64 captions of Multi30k about
 * a third are distinct.
 *
 * Under dropout each row reads numbers of its own; then each is taken for itself.
 */
#ifndef LAYERS_LOOKUP_H
#define LAYERS_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "layers/columns.h"
#include "layers/weights.h"

typedef struct lookup {
    size_t rows;       /* N */
    size_t distinct;   /* U <= N */
    const int32_t *id; /* [U] */
    uint32_t *place;   /* [N] which of the U a row is; NULL where each row is taken for itself */
    int32_t *words;    /* [N] room for id */
    uint64_t *sorted;  /* [N] */
    real *product;     /* [N,width] room for U rows of a product, or of sums */
} lookup;

/* Room for up to `rows` rows and for products of up to `width` columns. `once` false: each row for itself. */
void lookup_layout(lookup *words, arena *space, size_t rows, size_t width, bool once);

/* `id`[rows] must stay as long as what was found is used. */
void lookup_find(lookup *words, const int32_t *id, size_t rows);

/* y[N,out] = x[U,in] W^T + b[out], spread over the rows; matrix, ldw and bias as weights_forward has them. */
void lookup_forward(const lookup *words, const weights_view *theta, real *y, size_t ldy, const real *x, size_t ldx,
                    size_t matrix, size_t ldw, size_t bias, size_t out, size_t in);

/* [U,width]: dy[N,width] summed over the rows of each word; until the next call. */
columns lookup_sum(const lookup *words, real *dy, size_t lddy, size_t width);

#endif
