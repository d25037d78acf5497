/*
 * Additive score (Bahdanau, Cho and Bengio 2015, A.1.2): e_i = v . tanh(q + k_i), q = W_s s + b_a, k_i = W_h h_i.
 *
 * tanh(q + k_i) is computed again in backward: that is cheaper than to carry [T,S,A] numbers through memory.
 */
#include "core/simd.h"
#include "layers/scores.h"
#include "ops/linear.h"

static void declare(attention *layer, parameter_table *table)
{
    const size_t A = layer->size;
    layer->query_weight = parameters_add(table, "attention.query.weight", A, layer->state, INIT_ATTENTION);
    layer->key_weight = parameters_add(table, "attention.key.weight", A, layer->annotation, INIT_ATTENTION);
    layer->query_bias = parameters_add(table, "attention.bias", A, 0, INIT_ZERO);
    layer->vector = parameters_add(table, "attention.energy.weight", A, 0, INIT_ATTENTION);
    layer->vector_size = A;
}

static void keys(const attention *layer, const real *theta, real *key, const real *annotations, size_t rows)
{
    const size_t A = layer->size, C = layer->annotation;
    linear_forward(key, A, annotations, C, theta + layer->key_weight, C, NULL, rows, A, C);
}

static void keys_backward(const attention *layer, const real *theta, real *dtheta, real *dannotations,
                          const real *dkeys, const real *annotations, size_t rows)
{
    const size_t A = layer->size, C = layer->annotation;
    linear_backward_weight(dtheta + layer->key_weight, C, dkeys, A, annotations, C, rows, A, C);
    linear_backward_input(dannotations, C, dkeys, A, theta + layer->key_weight, C, rows, A, C);
}

static void query(const attention *layer, const real *theta, real *q, const real *s, size_t stride, size_t rows)
{
    const size_t A = layer->size, D = layer->state;
    linear_forward(q, A, s, stride, theta + layer->query_weight, D, theta + layer->query_bias, rows, A, D);
}

static void query_backward(const attention *layer, const real *theta, real *ds, const real *dquery, size_t rows)
{
    const size_t A = layer->size, D = layer->state;
    linear_backward_input(ds, D, dquery, A, theta + layer->query_weight, D, rows, A, D);
}

static void query_weights(const attention *layer, real *dtheta, const real *dquery, const real *s, size_t stride,
                          size_t rows)
{
    const size_t A = layer->size, D = layer->state;
    linear_backward_weight(dtheta + layer->query_weight, D, dquery, A, s, stride, rows, A, D);
    linear_backward_bias(dtheta + layer->query_bias, dquery, A, rows, A);
}

static SIMD_CLONES void energies(const attention *layer, const real *theta, real *e, const real *q, const real *key,
                                 size_t S)
{
    const size_t A = layer->size;
    const real *restrict v = theta + layer->vector;
    for (size_t i = 0; i < S; i++) {
        const real *restrict k = key + i * A;
        real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (size_t a = 0; a < A; a++)
        {
            sum += v[a] * REAL(tanh)(q[a] + k[a]);
        }
        e[i] = sum;
    }
}

/* u = de_i v (1 - tanh^2) flows to the query and to key i. */
static SIMD_CLONES void energies_backward(const attention *layer, const real *theta, real *dquery, real *dkeys,
                                          real *dvector, const real *de, const real *q, const real *key, size_t S)
{
    const size_t A = layer->size;
    const real *restrict v = theta + layer->vector;
    real *restrict dq = dquery, *restrict dv = dvector;
    for (size_t i = 0; i < S; i++) {
        const real *restrict k = key + i * A;
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

const attention_score score_additive = {.name = "additive",
                                        .declare = declare,
                                        .keys = keys,
                                        .keys_backward = keys_backward,
                                        .query = query,
                                        .query_backward = query_backward,
                                        .query_weights = query_weights,
                                        .energies = energies,
                                        .energies_backward = energies_backward};
