#include "layers/gru.h"

#include <stdio.h>
#include <string.h>

#include "core/parallel.h"
#include "core/simd.h"
#include "ops/dropout.h"
#include "ops/linear.h"

void gru_declare(gru *layer, parameter_table *table, const char *prefix, size_t input, size_t hidden, gru_reset reset)
{
    char name[64];
    layer->input = input;
    layer->hidden = hidden;
    layer->reset = reset;
    layer->dropout = 0;
    snprintf(name, sizeof name, "%s.weight_ih", prefix);
    layer->weight_ih = parameters_add(table, name, 3 * hidden, input, INIT_WEIGHT);
    snprintf(name, sizeof name, "%s.weight_hh", prefix);
    layer->weight_hh = parameters_add(table, name, 3 * hidden, hidden, INIT_RECURRENT);
    snprintf(name, sizeof name, "%s.bias_ih", prefix);
    layer->bias_ih = parameters_add(table, name, 3 * hidden, 0, INIT_ZERO);
    snprintf(name, sizeof name, "%s.bias_hh", prefix);
    layer->bias_hh = parameters_add(table, name, 3 * hidden, 0, INIT_ZERO);
}

void gru_layout(const gru *layer, gru_trace *trace, arena *space, size_t rows, size_t width, bool with_gradient)
{
    const size_t H = layer->hidden;
    *trace = (gru_trace){.gates = arena_reals(space, rows * 3 * H), .recurrent = arena_reals(space, rows * H)};
    if (with_gradient && layer->dropout > 0) {
        trace->mask = arena_reals(space, width * H);
        trace->masked = arena_reals(space, rows * H);
    }
}

void gru_layout_gradient(const gru *layer, gru_gradient *gradient, arena *space, size_t rows)
{
    gradient->input = arena_reals(space, rows * 3 * layer->hidden);
    gradient->recurrent = layer->reset == GRU_AFTER ? arena_reals(space, rows * 3 * layer->hidden) : gradient->input;
}

void gru_draw_mask(const gru *layer, const gru_trace *trace, size_t sequences)
{
    if (trace->mask != NULL) {
        dropout_mask(trace->mask, sequences * layer->hidden, layer->dropout, trace->key);
    }
}

/* Everything a loop over rows of one step needs. */
typedef struct gru_rows {
    size_t H;
    real *h; /* new state, or in backward its gradient */
    size_t stride;
    real *gates, *recurrent, *previous; /* at the first row of the step */
    size_t previous_stride;
    const real *read; /* h before the step as the recurrent matrices read it */
    size_t read_stride;
    real *d_input, *d_recurrent;
    real *d_read;  /* [rows,H] in backward: the gradient at what they read; without dropout, at h itself */
    real *scratch; /* the state's part of the gates; in backward W_hn^T dn */
} gru_rows;

static const real *read_row(const gru *layer, const gru_trace *trace, size_t row)
{
    return trace->mask != NULL ? trace->masked + row * layer->hidden : trace->previous + row * trace->previous_stride;
}

static size_t read_stride(const gru *layer, const gru_trace *trace)
{
    return trace->mask != NULL ? layer->hidden : trace->previous_stride;
}

static gru_rows step_rows(const gru *layer, real *h, size_t stride, const gru_trace *trace, size_t first, real *scratch)
{
    const size_t H = layer->hidden;
    return (gru_rows){.H = H,
                      .h = h,
                      .stride = stride,
                      .gates = trace->gates + first * 3 * H,
                      .recurrent = trace->recurrent + first * H,
                      .previous = trace->previous + first * trace->previous_stride,
                      .previous_stride = trace->previous_stride,
                      .read = read_row(layer, trace, first),
                      .read_stride = read_stride(layer, trace),
                      .scratch = scratch};
}

static size_t rows_per_thread(size_t H)
{
    return 2048 / H + 1;
}

/* ---- reset_after ---------------------------------------------------------------------------------------------------
 */

static SIMD_CLONES void after_forward(void *context, size_t begin, size_t end)
{
    const gru_rows *step = context;
    const size_t H = step->H;
    for (size_t row = begin; row < end; row++) {
        real *restrict gate = step->gates + row * 3 * H;
        const real *restrict state = step->scratch + row * 3 * H;
        const real *restrict previous = step->previous + row * step->previous_stride;
        real *restrict kept = step->recurrent + row * H;
        real *restrict h = step->h + row * step->stride;
        SIMD_LOOP
        for (size_t i = 0; i < H; i++) {
            const real r = logistic(gate[i] + state[i]);
            const real z = logistic(gate[H + i] + state[H + i]);
            const real n = REAL(tanh)(gate[2 * H + i] + r * state[2 * H + i]);
            kept[i] = state[2 * H + i];
            gate[i] = r;
            gate[H + i] = z;
            gate[2 * H + i] = n;
            h[i] = (1 - z) * n + z * previous[i];
        }
    }
}

static SIMD_CLONES void after_backward(void *context, size_t begin, size_t end)
{
    const gru_rows *step = context;
    const size_t H = step->H;
    for (size_t row = begin; row < end; row++) {
        const real *restrict gate = step->gates + row * 3 * H;
        const real *restrict kept = step->recurrent + row * H;
        const real *restrict previous = step->previous + row * step->previous_stride;
        real *restrict d_input = step->d_input + row * 3 * H;
        real *restrict d_recurrent = step->d_recurrent + row * 3 * H;
        real *restrict dh = step->h + row * step->stride;
        SIMD_LOOP
        for (size_t i = 0; i < H; i++) {
            const real r = gate[i], z = gate[H + i], n = gate[2 * H + i];
            const real dn = dh[i] * (1 - z) * (1 - n * n);
            const real dz = dh[i] * (previous[i] - n) * z * (1 - z);
            const real dr = dn * kept[i] * r * (1 - r);
            d_input[i] = dr;
            d_input[H + i] = dz;
            d_input[2 * H + i] = dn;
            d_recurrent[i] = dr;
            d_recurrent[H + i] = dz;
            d_recurrent[2 * H + i] = dn * r;
            dh[i] *= z;
        }
    }
}

/* ---- reset_before: the candidate's recurrent product waits for r ----------------------------------------------------
 */

static SIMD_CLONES void before_forward_gates(void *context, size_t begin, size_t end)
{
    const gru_rows *step = context;
    const size_t H = step->H;
    for (size_t row = begin; row < end; row++) {
        real *restrict gate = step->gates + row * 3 * H;
        const real *restrict state = step->scratch + row * 3 * H;
        const real *restrict read = step->read + row * step->read_stride;
        real *restrict reset = step->recurrent + row * H;
        SIMD_LOOP
        for (size_t i = 0; i < H; i++) {
            gate[i] = logistic(gate[i] + state[i]);
            gate[H + i] = logistic(gate[H + i] + state[H + i]);
            reset[i] = gate[i] * read[i];
        }
    }
}

static SIMD_CLONES void before_forward_state(void *context, size_t begin, size_t end)
{
    const gru_rows *step = context;
    const size_t H = step->H;
    for (size_t row = begin; row < end; row++) {
        real *restrict gate = step->gates + row * 3 * H;
        const real *restrict state = step->scratch + row * 3 * H;
        const real *restrict previous = step->previous + row * step->previous_stride;
        real *restrict h = step->h + row * step->stride;
        SIMD_LOOP
        for (size_t i = 0; i < H; i++) {
            const real z = gate[H + i];
            const real n = REAL(tanh)(gate[2 * H + i] + state[2 * H + i]);
            gate[2 * H + i] = n;
            h[i] = (1 - z) * n + z * previous[i];
        }
    }
}

static SIMD_CLONES void before_backward_candidate(void *context, size_t begin, size_t end)
{
    const gru_rows *step = context;
    const size_t H = step->H;
    for (size_t row = begin; row < end; row++) {
        const real *restrict gate = step->gates + row * 3 * H;
        const real *restrict previous = step->previous + row * step->previous_stride;
        real *restrict d_gate = step->d_input + row * 3 * H;
        real *restrict dh = step->h + row * step->stride;
        SIMD_LOOP
        for (size_t i = 0; i < H; i++) {
            const real z = gate[H + i], n = gate[2 * H + i];
            d_gate[H + i] = dh[i] * (previous[i] - n) * z * (1 - z);
            d_gate[2 * H + i] = dh[i] * (1 - z) * (1 - n * n);
            dh[i] *= z;
        }
    }
}

static SIMD_CLONES void before_backward_reset(void *context, size_t begin, size_t end)
{
    const gru_rows *step = context;
    const size_t H = step->H;
    for (size_t row = begin; row < end; row++) {
        const real *restrict gate = step->gates + row * 3 * H;
        const real *restrict read = step->read + row * step->read_stride;
        const real *restrict d_reset = step->scratch + row * H;
        real *restrict d_gate = step->d_input + row * 3 * H;
        real *restrict d_read = step->d_read + row * H;
        SIMD_LOOP
        for (size_t i = 0; i < H; i++) {
            const real r = gate[i];
            d_gate[i] = d_reset[i] * read[i] * r * (1 - r);
            d_read[i] += d_reset[i] * r;
        }
    }
}

/* ---- both ----------------------------------------------------------------------------------------------------------
 */

/* What the recurrent matrices read in a step. */
static void drop_previous(const gru *layer, const gru_trace *trace, size_t first, size_t rows)
{
    const size_t H = layer->hidden;
    if (trace->mask == NULL) {
        return;
    }
    for (size_t row = first; row < first + rows; row++) {
        memcpy(trace->masked + row * H, trace->previous + row * trace->previous_stride, H * sizeof *trace->masked);
    }
    dropout_apply(trace->masked + first * H, H, trace->mask, rows, H);
}

void gru_step_forward(const gru *layer, const weights_view *theta, real *h, size_t stride, const gru_trace *trace,
                      size_t first, size_t rows, real *scratch)
{
    const size_t H = layer->hidden;
    const size_t W = layer->weight_hh, b = layer->bias_hh;
    gru_rows step = step_rows(layer, h, stride, trace, first, scratch);
    const size_t grain = rows_per_thread(H);
    drop_previous(layer, trace, first, rows);
    if (layer->reset == GRU_AFTER) {
        weights_forward(theta, scratch, 3 * H, step.read, step.read_stride, W, H, b, rows, 3 * H, H);
        parallel_for(rows, grain, after_forward, &step);
        return;
    }
    weights_forward(theta, scratch, 3 * H, step.read, step.read_stride, W, H, b, rows, 2 * H, H);
    parallel_for(rows, grain, before_forward_gates, &step);
    weights_forward(theta, scratch + 2 * H, 3 * H, step.recurrent, H, W + 2 * H * H, H, b + 2 * H, rows, H, H);
    parallel_for(rows, grain, before_forward_state, &step);
}

/* From the gradient at what the recurrent matrices read, in step->d_read, to dh. */
static void drop_previous_backward(const gru_trace *trace, gru_rows *step, size_t rows)
{
    if (trace->mask == NULL) {
        return;
    }
    dropout_apply(step->d_read, step->H, trace->mask, rows, step->H);
    for (size_t i = 0; i < rows * step->H; i++) {
        step->h[i] += step->d_read[i];
    }
}

void gru_step_backward(const gru *layer, const real *theta, real *dh, const gru_trace *trace,
                       const gru_gradient *gradient, size_t first, size_t rows, real *scratch)
{
    const size_t H = layer->hidden, grain = rows_per_thread(H);
    const real *W = theta + layer->weight_hh;
    gru_rows step = step_rows(layer, dh, H, trace, first, scratch);
    step.d_input = gradient->input + first * 3 * H;
    step.d_recurrent = gradient->recurrent + first * 3 * H;
    step.d_read = dh;
    if (trace->mask != NULL) {
        step.d_read = scratch + rows * H;
        memset(step.d_read, 0, rows * H * sizeof *step.d_read);
    }
    if (layer->reset == GRU_AFTER) {
        parallel_for(rows, grain, after_backward, &step);
        linear_backward_input(step.d_read, H, step.d_recurrent, 3 * H, W, H, rows, 3 * H, H);
    } else {
        parallel_for(rows, grain, before_backward_candidate, &step);
        memset(scratch, 0, rows * H * sizeof *scratch);
        linear_backward_input(scratch, H, step.d_input + 2 * H, 3 * H, W + 2 * H * H, H, rows, H, H);
        parallel_for(rows, grain, before_backward_reset, &step);
        linear_backward_input(step.d_read, H, step.d_input, 3 * H, W, H, rows, 2 * H, H);
    }
    drop_previous_backward(trace, &step, rows);
}

void gru_backward_weights(const gru *layer, real *dtheta, const gru_trace *trace, const gru_gradient *gradient,
                          size_t rows)
{
    const size_t H = layer->hidden;
    real *dW = dtheta + layer->weight_hh;
    const size_t gates_of_state = layer->reset == GRU_AFTER ? 3 * H : 2 * H;
    linear_backward_weight(dW, H, gradient->recurrent, 3 * H, read_row(layer, trace, 0), read_stride(layer, trace),
                           rows, gates_of_state, H);
    if (layer->reset == GRU_BEFORE) {
        linear_backward_weight(dW + 2 * H * H, H, gradient->recurrent + 2 * H, 3 * H, trace->recurrent, H, rows, H, H);
    }
    linear_backward_bias(dtheta + layer->bias_ih, gradient->input, 3 * H, rows, 3 * H);
    linear_backward_bias(dtheta + layer->bias_hh, gradient->recurrent, 3 * H, rows, 3 * H);
}
