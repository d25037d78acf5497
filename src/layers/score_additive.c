/*
 * Additive score (Bahdanau, Cho and Bengio 2015, A.1.2): e_i = v . tanh(q + k_i), q = W_s s + b_a, k_i = W_h h_i.
 *
 * tanh(q + k_i) is computed again in backward: that is cheaper than to carry [T,S,A] numbers through memory.
 */
#include "core/simd.h"
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    head->query = score_projection(table, prefix, "query.weight", head->state, head->size);
    head->key = score_projection(table, prefix, "key.weight", head->annotation, head->size);
    head->query.bias = score_tensor(table, prefix, "bias", head->size, 0, INIT_ZERO);
    head->own = score_tensor(table, prefix, "energy.weight", head->size, 0, INIT_ATTENTION);
    head->own_size = head->size;
}

static SIMD_CLONES void energies(real *restrict e, const real *restrict v, const real *restrict q,
                                 const real *restrict keys, size_t S, size_t A)
{
    for (size_t i = 0; i < S; i++) {
        const real *restrict k = keys + i * A;
        real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (size_t a = 0; a < A; a++)
        {
            sum += v[a] * REAL(tanh)(q[a] + k[a]);
        }
        e[i] = sum;
    }
}

void tanh_energies(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S)
{
    energies(e, theta + head->own, q, k, S, head->own_size);
}

/* u = de_i v (1 - tanh^2) flows to the query and to key i. */
static SIMD_CLONES void energies_backward(real *restrict dq, real *restrict dkeys, real *restrict dv,
                                          const real *restrict de, const real *restrict v, const real *restrict q,
                                          const real *restrict keys, size_t S, size_t A)
{
    for (size_t i = 0; i < S; i++) {
        const real *restrict k = keys + i * A;
        real *restrict dk = dkeys + i * A;
        SIMD_LOOP
        for (size_t a = 0; a < A; a++) {
            const real t = REAL(tanh)(q[a] + k[a]);
            const real u = de[i] * v[a] * (1 - t * t);
            dq[a] += u;
            dk[a] += u;
            dv[a] += de[i] * t;
        }
    }
}

void tanh_energies_backward(const attention_head *head, const real *theta, real *dq, real *dk, real *down,
                            const real *de, const real *q, const real *k, size_t S)
{
    energies_backward(dq, dk, down, de, theta + head->own, q, k, S, head->own_size);
}

const attention_score score_additive = {
    .name = "additive", .declare = declare, .energies = tanh_energies, .energies_backward = tanh_energies_backward};
