#include "ops/embedding.h"

#include <string.h>

void embedding_forward(real *y, size_t ldy, const real *W, const int32_t *id, size_t rows, size_t E)
{
    for (size_t row = 0; row < rows; row++) {
        memcpy(y + row * ldy, W + (size_t)id[row] * E, E * sizeof *y);
    }
}

void embedding_backward(real *dW, const real *dy, size_t lddy, const int32_t *id, size_t rows, size_t E)
{
    for (size_t row = 0; row < rows; row++) {
        real *restrict to = dW + (size_t)id[row] * E;
        const real *restrict from = dy + row * lddy;
        for (size_t i = 0; i < E; i++) {
            to[i] += from[i];
        }
    }
}
