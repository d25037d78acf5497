/* Dot score (Luong, Pham and Manning 2015, section 3.1): e_i = s . h_i, without parameters. */
#include "core/simd.h"
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    (void)table;
    (void)prefix;
    head->query = projection_identity(head->state);
    head->key = projection_identity(head->annotation);
    head->scale = 1;
}

static SIMD_CLONES void energies(real *restrict e, const real *restrict q, const real *restrict k, real scale, size_t S,
                                 size_t K)
{
    for (size_t i = 0; i < S; i++) {
        real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (size_t j = 0; j < K; j++)
        {
            sum += q[j] * k[i * K + j];
        }
        e[i] = scale * sum;
    }
}

void dot_energies(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S)
{
    (void)theta;
    energies(e, q, k, head->scale, S, head->key.out);
}

static SIMD_CLONES void energies_backward(real *restrict dq, real *restrict dk, const real *restrict de,
                                          const real *restrict q, const real *restrict k, real scale, size_t S,
                                          size_t K)
{
    for (size_t i = 0; i < S; i++) {
        const real u = scale * de[i];
        SIMD_LOOP
        for (size_t j = 0; j < K; j++) {
            dq[j] += u * k[i * K + j];
            dk[i * K + j] += u * q[j];
        }
    }
}

void dot_energies_backward(const attention_head *head, const real *theta, real *dq, real *dk, real *down,
                           const real *de, const real *q, const real *k, size_t S)
{
    (void)theta;
    (void)down;
    energies_backward(dq, dk, de, q, k, head->scale, S, head->key.out);
}

const attention_score score_dot = {.name = "dot",
                                   .equal_sizes = true,
                                   .declare = declare,
                                   .energies = dot_energies,
                                   .energies_backward = dot_energies_backward};
