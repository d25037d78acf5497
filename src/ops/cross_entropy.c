#include "ops/cross_entropy.h"

#include "core/parallel.h"
#include "core/simd.h"

typedef struct cross_entropy {
    real *values; /* logits, probabilities, gradients in turn */
    double *nats, *objective;
    const int32_t *target;
    double smoothing;
    real scale;
    size_t V;
} cross_entropy;

/* values -> exp(values - max); returns their sum. */
static SIMD_CLONES real exponentials(real *restrict values, real *restrict largest, real *restrict total, size_t V)
{
    real top = values[0];
    _Pragma("omp simd reduction(max : top)") for (size_t i = 1; i < V; i++)
    {
        top = values[i] > top ? values[i] : top;
    }
    real sum = 0, logits = 0;
    _Pragma("omp simd reduction(+ : sum, logits)") for (size_t i = 0; i < V; i++)
    {
        logits += values[i] - top;
        values[i] = REAL(exp)(values[i] - top);
        sum += values[i];
    }
    *largest = top;
    *total = logits;
    return sum;
}

static SIMD_CLONES void scale_row(real *restrict values, real factor, real shift, size_t V)
{
    SIMD_LOOP
    for (size_t i = 0; i < V; i++) {
        values[i] = values[i] * factor + shift;
    }
}

static void forward_rows(void *context, size_t begin, size_t end)
{
    const cross_entropy *loss = context;
    for (size_t row = begin; row < end; row++) {
        real *values = loss->values + row * loss->V;
        const real truth = values[loss->target[row]];
        real largest, shifted_total;
        const real sum = exponentials(values, &largest, &shifted_total, loss->V);
        const double log_sum = log((double)sum);
        const double nats = log_sum - ((double)truth - (double)largest);
        const double even = log_sum - (double)shifted_total / (double)loss->V;
        loss->nats[row] = nats;
        loss->objective[row] = (1 - loss->smoothing) * nats + loss->smoothing * even;
        scale_row(values, 1 / sum, 0, loss->V);
    }
}

void cross_entropy_forward(real *logits, double *nats, double *objective, const int32_t *target, double smoothing,
                           size_t rows, size_t V)
{
    cross_entropy loss = {logits, nats, objective, target, smoothing, 1, V};
    parallel_for(rows, 1, forward_rows, &loss);
}

static void backward_rows(void *context, size_t begin, size_t end)
{
    const cross_entropy *loss = context;
    const real even = (real)(loss->smoothing / (double)loss->V) * loss->scale;
    for (size_t row = begin; row < end; row++) {
        real *values = loss->values + row * loss->V;
        scale_row(values, loss->scale, -even, loss->V);
        values[loss->target[row]] -= (real)(1 - loss->smoothing) * loss->scale;
    }
}

void cross_entropy_backward(real *probabilities, const int32_t *target, double smoothing, real scale, size_t rows,
                            size_t V)
{
    cross_entropy loss = {probabilities, NULL, NULL, target, smoothing, scale, V};
    parallel_for(rows, 1, backward_rows, &loss);
}
