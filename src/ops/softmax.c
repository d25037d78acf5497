#include "ops/softmax.h"

#include "core/simd.h"

static SIMD_CLONES void normalise(real *alpha, const real *e, size_t length)
{
    /* The maximum is taken off first: exp never overflows, and the largest term is 1, so the sum is never 0. */
    real largest = e[0];
    for (size_t i = 1; i < length; i++) {
        largest = e[i] > largest ? e[i] : largest;
    }
    real sum = 0;
    _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < length; i++)
    {
        alpha[i] = REAL(exp)(e[i] - largest);
        sum += alpha[i];
    }
    SIMD_LOOP
    for (size_t i = 0; i < length; i++) {
        alpha[i] /= sum;
    }
}

void softmax_forward(real *alpha, const real *e, size_t length, size_t count)
{
    normalise(alpha, e, length);
    for (size_t i = length; i < count; i++) {
        alpha[i] = 0;
    }
}

void softmax_backward(real *de, const real *dalpha, const real *alpha, size_t length)
{
    real mean = 0;
    for (size_t j = 0; j < length; j++) {
        mean += alpha[j] * dalpha[j];
    }
    for (size_t i = 0; i < length; i++) {
        de[i] += alpha[i] * (dalpha[i] - mean);
    }
}
