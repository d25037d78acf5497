#include "ops/linear.h"

#include <string.h>

#include "core/blas.h"
#include "core/parallel.h"
#include "core/simd.h"

void linear_forward(real *y, size_t ldy, const real *x, size_t ldx, const real *W, size_t ldw, const real *b,
                    size_t rows, size_t out, size_t in)
{
    if (b != NULL) {
        for (size_t row = 0; row < rows; row++) {
            memcpy(y + row * ldy, b, out * sizeof *b);
        }
    }
    gemm_nt(y, ldy, x, ldx, W, ldw, rows, out, in, b != NULL ? 1 : 0);
}

void linear_forward_add(real *y, size_t ldy, const real *x, size_t ldx, const real *W, size_t ldw, size_t rows,
                        size_t out, size_t in)
{
    gemm_nt(y, ldy, x, ldx, W, ldw, rows, out, in, 1);
}

void linear_backward_input(real *dx, size_t lddx, const real *dy, size_t lddy, const real *W, size_t ldw, size_t rows,
                           size_t out, size_t in)
{
    gemm_nn(dx, lddx, dy, lddy, W, ldw, rows, in, out, 1);
}

void linear_backward_weight(real *dW, size_t lddw, const real *dy, size_t lddy, const real *x, size_t ldx, size_t rows,
                            size_t out, size_t in)
{
    gemm_tn(dW, lddw, dy, lddy, x, ldx, out, in, rows, 1);
}

typedef struct column_sum {
    real *db;
    const real *dy;
    size_t lddy, rows;
} column_sum;

static SIMD_CLONES void sum_columns(void *context, size_t begin, size_t end)
{
    const column_sum *sum = context;
    real *restrict db = sum->db;
    for (size_t row = 0; row < sum->rows; row++) {
        const real *restrict dy = sum->dy + row * sum->lddy;
        SIMD_LOOP
        for (size_t i = begin; i < end; i++) {
            db[i] += dy[i];
        }
    }
}

void linear_backward_bias(real *db, const real *dy, size_t lddy, size_t rows, size_t out)
{
    column_sum sum = {db, dy, lddy, rows};
    parallel_for(out, rows * out < 16384 ? out : 64, sum_columns, &sum);
}
