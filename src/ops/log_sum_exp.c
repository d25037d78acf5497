#include "ops/log_sum_exp.h"

#include "core/simd.h"

/* Values looked at for their maximum before anyone asks where it stands. */
enum { BLOCK = 512 };

/* Each exponential is a real, at most 1; their sum is a double, so that it holds over vocabularies of any size. */
static SIMD_CLONES double sum_of_exponentials(const real *logits, real largest, size_t count)
{
    double sum = 0;
    _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < count; i++)
    {
        sum += (double)REAL(exp)(logits[i] - largest);
    }
    return sum;
}

static SIMD_CLONES real largest_of(const real *values, size_t count)
{
    real largest = values[0];
    _Pragma("omp simd reduction(max : largest)") for (size_t i = 1; i < count; i++)
    {
        largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
}

double log_sum_exp(const real *logits, size_t count)
{
    const real largest = largest_of(logits, count);
    return (double)largest + log(sum_of_exponentials(logits, largest, count));
}

size_t largest_place(const real *values, size_t count)
{
    size_t start = 0;
    real largest = values[0];
    for (size_t block = 0; block < count; block += BLOCK) {
        const real found = largest_of(values + block, count - block < BLOCK ? count - block : BLOCK);
        if (found > largest) {
            largest = found;
            start = block;
        }
    }
    for (size_t i = start; i < count; i++) {
        if (values[i] == largest) {
            return i;
        }
    }
    return start;
}
