#include "train/average.h"

#include <math.h>

#include "core/parallel.h"
#include "core/simd.h"

enum { GRAIN = 8192 };

typedef struct average_pass {
    real *average;
    const real *block;
    real share; /* of the block */
} average_pass;

static SIMD_CLONES void follow(void *context, size_t begin, size_t end)
{
    const average_pass *pass = context;
    real *restrict average = pass->average;
    const real *restrict block = pass->block;
    const real share = pass->share;
    SIMD_LOOP
    for (size_t i = begin; i < end; i++) {
        average[i] += share * (block[i] - average[i]);
    }
}

void average_follow(real *average, const real *block, size_t size, double decay, uint64_t update)
{
    const double early = (1 + (double)update) / (10 + (double)update);
    average_pass pass = {average, block, (real)(1 - fmin(decay, early))};
    parallel_for(size, GRAIN, follow, &pass);
}
