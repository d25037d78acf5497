#include "ops/layer_norm.h"

#include <math.h>

#include "core/parallel.h"
#include "core/simd.h"

static const real EPSILON = (real)1e-5;

typedef struct norm_pass {
    real *y;
    size_t ldy;
    const real *dy;
    size_t lddy;
    layer_norm_kept kept;
    const real *gain, *bias;
    size_t rows, width;
} norm_pass;

static size_t rows_per_thread(size_t width)
{
    return 4096 / width + 1;
}

static SIMD_CLONES void forward_rows(void *context, size_t begin, size_t end)
{
    const norm_pass *pass = context;
    const size_t width = pass->width;
    const real *restrict gain = pass->gain, *restrict bias = pass->bias;
    for (size_t row = begin; row < end; row++) {
        real *restrict y = pass->y + row * pass->ldy;
        real sum = 0, squares = 0;
        _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < width; i++)
        {
            sum += y[i];
        }
        const real mean = sum / (real)width;
        _Pragma("omp simd reduction(+ : squares)") for (size_t i = 0; i < width; i++)
        {
            squares += (y[i] - mean) * (y[i] - mean);
        }
        const real inverse = 1 / REAL(sqrt)(squares / (real)width + EPSILON);
        SIMD_LOOP
        for (size_t i = 0; i < width; i++) {
            y[i] = (y[i] - mean) * inverse;
        }
        if (pass->kept.values != NULL) {
            real *restrict n = pass->kept.values + row * pass->kept.stride;
            pass->kept.inverse[row * pass->kept.inverse_stride] = inverse;
            for (size_t i = 0; i < width; i++) {
                n[i] = y[i];
            }
        }
        SIMD_LOOP
        for (size_t i = 0; i < width; i++) {
            y[i] = gain[i] * y[i] + bias[i];
        }
    }
}

void layer_norm_forward(real *y, size_t ldy, const layer_norm_kept *kept, const real *gain, const real *bias,
                        size_t rows, size_t width)
{
    norm_pass pass = {.y = y, .ldy = ldy, .kept = *kept, .gain = gain, .bias = bias, .width = width};
    parallel_for(rows, rows_per_thread(width), forward_rows, &pass);
}

static SIMD_CLONES void backward_rows(void *context, size_t begin, size_t end)
{
    const norm_pass *pass = context;
    const size_t width = pass->width;
    const real *restrict gain = pass->gain;
    for (size_t row = begin; row < end; row++) {
        real *restrict dx = pass->y + row * pass->ldy;
        const real *restrict dy = pass->dy + row * pass->lddy;
        const real *restrict n = pass->kept.values + row * pass->kept.stride;
        const real inverse = pass->kept.inverse[row * pass->kept.inverse_stride];
        real sum = 0, along = 0; /* of g; of g o n */
        _Pragma("omp simd reduction(+ : sum, along)") for (size_t i = 0; i < width; i++)
        {
            sum += gain[i] * dy[i];
            along += gain[i] * dy[i] * n[i];
        }
        const real mean = sum / (real)width, share = along / (real)width;
        SIMD_LOOP
        for (size_t i = 0; i < width; i++) {
            dx[i] += inverse * (gain[i] * dy[i] - mean - n[i] * share);
        }
    }
}

void layer_norm_backward_input(real *dx, size_t lddx, const real *dy, size_t lddy, const layer_norm_kept *kept,
                               const real *gain, size_t rows, size_t width)
{
    norm_pass pass = {.y = dx, .ldy = lddx, .dy = dy, .lddy = lddy, .kept = *kept, .gain = gain, .width = width};
    parallel_for(rows, rows_per_thread(width), backward_rows, &pass);
}

static SIMD_CLONES void sum_columns(void *context, size_t begin, size_t end)
{
    const norm_pass *pass = context;
    real *restrict dgain = pass->y;
    for (size_t row = 0; row < pass->rows; row++) {
        const real *restrict dy = pass->dy + row * pass->lddy;
        const real *restrict n = pass->kept.values + row * pass->kept.stride;
        SIMD_LOOP
        for (size_t i = begin; i < end; i++) {
            dgain[i] += dy[i] * n[i];
        }
    }
}

void layer_norm_backward_gain(real *dgain, const real *dy, size_t lddy, const layer_norm_kept *kept, size_t rows,
                              size_t width)
{
    norm_pass pass = {.y = dgain, .dy = dy, .lddy = lddy, .kept = *kept, .rows = rows};
    parallel_for(width, rows * width < 16384 ? width : 64, sum_columns, &pass);
}
