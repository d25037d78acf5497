/*
 * Gaussian score: e_i = -|q - k_i|^2 / (2 w^2), q = W_s s, k_i = W_h h_i. Under the softmax it makes attention the
 * kernel regression of Nadaraya (1964) and Watson (1964) with a Gaussian kernel of width w. What is learned is log w,
 * which keeps w positive.
 */
#include "core/simd.h"
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    head->query = score_projection(table, prefix, "query.weight", head->state, head->size);
    head->key = score_projection(table, prefix, "key.weight", head->annotation, head->size);
    head->own = score_tensor(table, prefix, "log_width", 1, 0, INIT_ZERO);
    head->own_size = 1;
}

/* 1 / w^2 */
static real precision(const attention_head *head, const real *theta)
{
    return REAL(exp)(-2 * theta[head->own]);
}

static SIMD_CLONES real squared_distance(const real *restrict q, const real *restrict k, size_t K)
{
    real sum = 0;
    _Pragma("omp simd reduction(+ : sum)") for (size_t j = 0; j < K; j++)
    {
        sum += (q[j] - k[j]) * (q[j] - k[j]);
    }
    return sum;
}

static void energies(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S)
{
    const size_t K = head->size;
    const real half = precision(head, theta) / 2;
    for (size_t i = 0; i < S; i++) {
        e[i] = -half * squared_distance(q, k + i * K, K);
    }
}

static SIMD_CLONES void distance_backward(real *restrict dq, real *restrict dk, real u, const real *restrict q,
                                          const real *restrict k, size_t K)
{
    SIMD_LOOP
    for (size_t j = 0; j < K; j++) {
        dq[j] -= u * (q[j] - k[j]);
        dk[j] += u * (q[j] - k[j]);
    }
}

/* de/dq = -(q - k) / w^2, de/dk the opposite, de/d(log w) = |q - k|^2 / w^2. */
static void energies_backward(const attention_head *head, const real *theta, real *dq, real *dk, real *down,
                              const real *de, const real *q, const real *k, size_t S)
{
    const size_t K = head->size;
    for (size_t i = 0; i < S; i++) {
        const real u = de[i] * precision(head, theta);
        distance_backward(dq, dk + i * K, u, q, k + i * K, K);
        down[0] += u * squared_distance(q, k + i * K, K);
    }
}

const attention_score score_gaussian = {
    .name = "gaussian", .declare = declare, .energies = energies, .energies_backward = energies_backward};
