#include "ops/activation.h"

#include <string.h>

#include "core/parallel.h"
#include "core/simd.h"

enum { GRAIN = 4096, BLOCK = 16 };

static inline __attribute__((always_inline)) void tanh_block(real *restrict y)
{
    SIMD_LOOP
    for (size_t i = 0; i < BLOCK; i++) {
        y[i] = REAL(tanh)(y[i]);
    }
}

/* Vectors and single numbers are rounded differently. All go through vectors here, so that neither its place nor the
 * cutting changes a number. */
static SIMD_CLONES void tanh_part(void *context, size_t begin, size_t end)
{
    real *y = context, rest[BLOCK] = {0};
    for (; end - begin >= BLOCK; begin += BLOCK) {
        tanh_block(y + begin);
    }
    memcpy(rest, y + begin, (end - begin) * sizeof *rest);
    tanh_block(rest);
    memcpy(y + begin, rest, (end - begin) * sizeof *rest);
}

void tanh_forward(real *y, size_t count)
{
    parallel_for(count, GRAIN, tanh_part, y);
}

static SIMD_CLONES void add_tanh_gradient(real *restrict dx, const real *restrict dy, const real *restrict y,
                                          size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        dx[i] += dy[i] * (1 - y[i] * y[i]);
    }
}

void tanh_backward(real *dx, const real *dy, const real *y, size_t count)
{
    add_tanh_gradient(dx, dy, y, count);
}

void maxout_forward(real *y, const real *x, size_t rows, size_t units)
{
    for (size_t i = 0; i < rows * units; i++) {
        y[i] = x[2 * i] >= x[2 * i + 1] ? x[2 * i] : x[2 * i + 1];
    }
}

void maxout_backward(real *dx, const real *dy, const real *x, size_t rows, size_t units)
{
    for (size_t i = 0; i < rows * units; i++) {
        dx[x[2 * i] >= x[2 * i + 1] ? 2 * i : 2 * i + 1] += dy[i];
    }
}
