/* Rows of a table by number. */
#ifndef OPS_EMBEDDING_H
#define OPS_EMBEDDING_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

/* y[rows,E] = W[id[row]]. */
void embedding_forward(real *y, size_t ldy, const real *W, const int32_t *id, size_t rows, size_t E);

/* dW[id[row]] += dy[row]; a number may occur more than once. */
void embedding_backward(real *dW, const real *dy, size_t lddy, const int32_t *id, size_t rows, size_t E);

#endif
