#include "layers/extent.h"

#include <string.h>

#include "core/simd.h"
#include "ops/activation.h"
#include "ops/linear.h"

void extent_declare(extent *layer, parameter_table *table, extent_kind kind, size_t window, size_t state, size_t units)
{
    *layer = (extent){.kind = kind, .window = window};
    if (kind == EXTENT_LOCAL_P) {
        layer->hidden = projection_declare(table, "attention.centre.hidden.weight", state, units);
        projection_use_steps(&layer->hidden, table);
        layer->vector = parameters_add(table, "attention.centre.output.weight", units, 0, INIT_ATTENTION);
    }
}

void extent_layout(const extent *layer, extent_workspace *work, arena *space, size_t rows, int with_gradient)
{
    *work = (extent_workspace){0};
    if (layer->kind != EXTENT_GLOBAL) {
        work->centre = arena_reals(space, rows);
    }
    if (layer->kind == EXTENT_LOCAL_P) {
        work->hidden = arena_reals(space, rows * layer->hidden.out);
        work->dlogit = with_gradient ? arena_reals(space, rows) : NULL;
        work->dhidden = with_gradient ? arena_reals(space, rows * layer->hidden.out) : NULL;
    }
}

void extent_forward(const extent *layer, const weights_view *theta, extent_workspace *work, const real *s,
                    size_t stride, size_t first, size_t rows)
{
    const size_t P = layer->hidden.out;
    if (layer->kind == EXTENT_LOCAL_P) {
        projection_forward(&layer->hidden, theta, work->hidden + first * P, P, s, stride, rows);
        tanh_forward(work->hidden + first * P, rows * P);
    }
}

void extent_centre(const extent *layer, const real *theta, extent_workspace *work, size_t row, size_t t, size_t S)
{
    const size_t P = layer->hidden.out;
    real logit = 0;
    switch (layer->kind) {
    case EXTENT_GLOBAL:
        break;
    case EXTENT_LOCAL_M:
        work->centre[row] = (real)(t < S ? t : S - 1);
        break;
    case EXTENT_LOCAL_P:
        for (size_t j = 0; j < P; j++) {
            logit += theta[layer->vector + j] * work->hidden[row * P + j];
        }
        work->centre[row] = (real)S * logistic(logit);
        break;
    }
}

span extent_span(const extent *layer, const extent_workspace *work, size_t row, size_t S)
{
    if (layer->kind == EXTENT_GLOBAL) {
        return (span){0, S};
    }
    const real first = REAL(ceil)(work->centre[row] - (real)layer->window);
    const real last = REAL(floor)(work->centre[row] + (real)layer->window);
    return (span){first > 0 ? (size_t)first : 0, last < (real)S ? (size_t)last + 1 : S};
}

static real square(real x)
{
    return x * x;
}

/* The Gaussian's variance: its standard deviation is half the window. */
static real variance(const extent *layer)
{
    return square((real)layer->window / 2);
}

static real favour(const extent *layer, real distance)
{
    return REAL(exp)(-square(distance) / (2 * variance(layer)));
}

void extent_favour(const extent *layer, const extent_workspace *work, real *alpha, size_t row, span seen)
{
    if (layer->kind == EXTENT_LOCAL_P) {
        for (size_t i = seen.begin; i < seen.end; i++) {
            alpha[i] *= favour(layer, (real)i - work->centre[row]);
        }
    }
}

void extent_backward_begin(const extent *layer, extent_workspace *work, size_t rows)
{
    if (layer->kind == EXTENT_LOCAL_P) {
        memset(work->dlogit, 0, rows * sizeof *work->dlogit);
    }
}

/* The factor is at least exp(-2) within the window, so dividing by it loses nothing. */
void extent_favour_backward(const extent *layer, extent_workspace *work, real *dalpha, real *alpha, size_t row,
                            span seen, size_t S)
{
    if (layer->kind != EXTENT_LOCAL_P) {
        return;
    }
    const real p = work->centre[row];
    real dp = 0;
    for (size_t i = seen.begin; i < seen.end; i++) {
        const real distance = (real)i - p, factor = favour(layer, distance);
        dp += dalpha[i] * alpha[i] * distance / variance(layer);
        dalpha[i] *= factor;
        alpha[i] /= factor;
    }
    work->dlogit[row] += dp * p * (1 - p / (real)S);
}

void extent_backward(const extent *layer, const weights_view *theta, extent_workspace *work, real *ds, size_t stride,
                     size_t first, size_t rows)
{
    const size_t P = layer->hidden.out;
    if (layer->kind != EXTENT_LOCAL_P) {
        return;
    }
    for (size_t row = first; row < first + rows; row++) {
        for (size_t j = 0; j < P; j++) {
            const real t = work->hidden[row * P + j];
            work->dhidden[row * P + j] = work->dlogit[row] * theta->block[layer->vector + j] * (1 - t * t);
        }
    }
    projection_backward_input(&layer->hidden, theta, ds, stride, work->dhidden + first * P, P, rows);
}

void extent_backward_weights(const extent *layer, real *dtheta, const extent_workspace *work, const real *s,
                             size_t stride, size_t rows)
{
    const size_t P = layer->hidden.out;
    if (layer->kind == EXTENT_LOCAL_P) {
        projection_backward_weights(&layer->hidden, dtheta, work->dhidden, P, s, stride, rows);
        linear_backward_weight(dtheta + layer->vector, P, work->dlogit, 1, work->hidden, P, rows, 1, P);
    }
}
