#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "core/simd.h"

enum { GRAIN = 8192 };

size_t optimizer_slot_count(const optimizer *rule)
{
    switch (rule->options.kind) {
    case OPTIMIZE_ADAM:
    case OPTIMIZE_ADADELTA:
        return 2;
    case OPTIMIZE_SGD:
        break;
    }
    return rule->options.momentum > 0 ? 1 : 0;
}

nmt_status optimizer_create(optimizer *rule, const optimizer_options *options, size_t size, nmt_error *error)
{
    *rule = (optimizer){.options = *options, .size = size};
    for (size_t i = 0; i < optimizer_slot_count(rule); i++) {
        const nmt_status status = memory_new(&rule->slots[i], size, sizeof(real), "the optimizer", error);
        if (status != NMT_OK) {
            optimizer_free(rule);
            return status;
        }
    }
    return NMT_OK;
}

void optimizer_free(optimizer *rule)
{
    for (size_t i = 0; i < OPTIMIZER_SLOTS; i++) {
        free(rule->slots[i]);
        rule->slots[i] = NULL;
    }
}

typedef struct update_pass {
    real *block, *gradient, *first, *second;
    real scale, rate, beta1, beta2, epsilon; /* as the rule below names them */
    real rest1, rest2;                       /* 1 - beta, rounded once: in float, 1 - 0.999f is off by 5e-5 of itself */
    real correction;                         /* Adam: sqrt(1 - beta2^t) */
} update_pass;

/* m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  p -= rate m / (sqrt(v) / correction + epsilon),
 * rate = learning rate / (1 - b1^t). */
static SIMD_CLONES void adam(void *context, size_t begin, size_t end)
{
    const update_pass *pass = context;
    real *restrict p = pass->block, *restrict g = pass->gradient, *restrict m = pass->first, *restrict v = pass->second;
    const real b1 = pass->beta1, b2 = pass->beta2, scale = pass->scale, rate = pass->rate, epsilon = pass->epsilon;
    const real rest1 = pass->rest1, rest2 = pass->rest2;
    const real inverse = 1 / pass->correction;
    SIMD_LOOP
    for (size_t i = begin; i < end; i++) {
        const real d = g[i] * scale;
        m[i] = b1 * m[i] + rest1 * d;
        v[i] = b2 * v[i] + rest2 * d * d;
        p[i] -= rate * m[i] / (REAL(sqrt)(v[i]) * inverse + epsilon);
        g[i] = 0;
    }
}

/* E[g^2] and E[dx^2] decay by rho;  dx = -sqrt(E[dx^2] + e) / sqrt(E[g^2] + e) g;  p += rate dx. */
static SIMD_CLONES void adadelta(void *context, size_t begin, size_t end)
{
    const update_pass *pass = context;
    real *restrict p = pass->block, *restrict g = pass->gradient, *restrict square = pass->first,
                   *restrict moved = pass->second;
    const real rho = pass->beta1, rest = pass->rest1, scale = pass->scale, rate = pass->rate, epsilon = pass->epsilon;
    SIMD_LOOP
    for (size_t i = begin; i < end; i++) {
        const real d = g[i] * scale;
        square[i] = rho * square[i] + rest * d * d;
        const real dx = -REAL(sqrt)(moved[i] + epsilon) / REAL(sqrt)(square[i] + epsilon) * d;
        moved[i] = rho * moved[i] + rest * dx * dx;
        p[i] += rate * dx;
        g[i] = 0;
    }
}

static SIMD_CLONES void sgd(void *context, size_t begin, size_t end)
{
    const update_pass *pass = context;
    real *restrict p = pass->block, *restrict g = pass->gradient;
    for (size_t i = begin; i < end; i++) {
        p[i] -= pass->rate * pass->scale * g[i];
        g[i] = 0;
    }
}

/* u = momentum u + g;  p -= rate u. */
static SIMD_CLONES void sgd_momentum(void *context, size_t begin, size_t end)
{
    const update_pass *pass = context;
    real *restrict p = pass->block, *restrict g = pass->gradient, *restrict u = pass->first;
    for (size_t i = begin; i < end; i++) {
        u[i] = pass->beta1 * u[i] + pass->scale * g[i];
        p[i] -= pass->rate * u[i];
        g[i] = 0;
    }
}

void optimizer_update(optimizer *rule, real *block, real *gradient, double learning_rate, double scale)
{
    const optimizer_options *o = &rule->options;
    update_pass pass = {.block = block,
                        .gradient = gradient,
                        .first = rule->slots[0],
                        .second = rule->slots[1],
                        .scale = (real)scale,
                        .rate = (real)learning_rate};
    const double t = (double)++rule->step;
    switch (o->kind) {
    case OPTIMIZE_ADAM:
        pass.rate = (real)(learning_rate / (1 - pow(o->beta1, t)));
        pass.correction = (real)sqrt(1 - pow(o->beta2, t));
        pass.beta1 = (real)o->beta1;
        pass.beta2 = (real)o->beta2;
        pass.rest1 = (real)(1 - o->beta1);
        pass.rest2 = (real)(1 - o->beta2);
        pass.epsilon = (real)o->epsilon;
        parallel_for(rule->size, GRAIN, adam, &pass);
        return;
    case OPTIMIZE_ADADELTA:
        pass.beta1 = (real)o->rho;
        pass.rest1 = (real)(1 - o->rho);
        pass.epsilon = (real)o->adadelta_epsilon;
        parallel_for(rule->size, GRAIN, adadelta, &pass);
        return;
    case OPTIMIZE_SGD:
        pass.beta1 = (real)o->momentum;
        parallel_for(rule->size, GRAIN, o->momentum > 0 ? sgd_momentum : sgd, &pass);
        return;
    }
}
