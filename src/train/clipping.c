#include "train/clipping.h"

#include <math.h>

#include "core/parallel.h"
#include "core/simd.h"

enum { PARTS = 256 };

typedef struct norm_pass {
    const real *gradient;
    size_t size;
    double squares[PARTS];
} norm_pass;

static SIMD_CLONES double sum_of_squares(const real *values, size_t count)
{
    double sum = 0;
    _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < count; i++)
    {
        sum += (double)values[i] * (double)values[i];
    }
    return sum;
}

static void sum_parts(void *context, size_t begin, size_t end)
{
    norm_pass *pass = context;
    for (size_t part = begin; part < end; part++) {
        const size_t first = pass->size * part / PARTS, last = pass->size * (part + 1) / PARTS;
        pass->squares[part] = sum_of_squares(pass->gradient + first, last - first);
    }
}

double gradient_norm(const real *gradient, size_t size)
{
    norm_pass pass = {.gradient = gradient, .size = size};
    parallel_for(PARTS, 1, sum_parts, &pass);
    double sum = 0;
    for (size_t part = 0; part < PARTS; part++) {
        sum += pass.squares[part];
    }
    return sqrt(sum);
}

double clipping_scale(double norm, double limit)
{
    return limit > 0 && norm > limit ? limit / norm : 1;
}
