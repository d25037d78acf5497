#include "layers/gru.h"

#include <stdio.h>
#include <string.h>

#include "core/parallel.h"
#include "core/simd.h"
#include "ops/dropout.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"

static size_t declare_one(parameter_table *table, const char *prefix, const char *name, size_t rows, size_t columns,
                          tensor_init init)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s.%s", prefix, name);
    return parameters_add(table, whole, rows, columns, init);
}

void gru_declare(gru *layer, parameter_table *table, const char *prefix, size_t input, size_t hidden,
                 const gru_kind *kind)
{
    *layer = (gru){.input = input, .hidden = hidden, .kind = *kind};
    layer->weight_ih = declare_one(table, prefix, "weight_ih", 3 * hidden, input, INIT_WEIGHT);
    layer->weight_hh = declare_one(table, prefix, "weight_hh", 3 * hidden, hidden, INIT_RECURRENT);
    parameters_use(table, layer->weight_hh, USE_STEPS);
    layer->bias_ih = declare_one(table, prefix, "bias_ih", 3 * hidden, 0, INIT_ZERO);
    layer->bias_hh = declare_one(table, prefix, "bias_hh", 3 * hidden, 0, INIT_ZERO);
    if (kind->normalized) {
        layer->gain_ih = declare_one(table, prefix, "gain_ih", 3 * hidden, 0, INIT_ONE);
        layer->gain_hh = declare_one(table, prefix, "gain_hh", 3 * hidden, 0, INIT_ONE);
    }
}

size_t gru_input_bias(const gru *layer)
{
    return layer->kind.normalized ? WEIGHTS_NO_BIAS : layer->bias_ih;
}

void gru_layout(const gru *layer, gru_trace *trace, arena *space, size_t rows, size_t width, bool with_gradient)
{
    const size_t H = layer->hidden;
    *trace = (gru_trace){.gates = arena_reals(space, rows * 3 * H), .recurrent = arena_reals(space, rows * H)};
    if (with_gradient && layer->kind.dropout > 0) {
        trace->mask = arena_reals(space, width * H);
        trace->masked = arena_reals(space, rows * H);
    }
    if (with_gradient && layer->kind.normalized) {
        trace->normal_input = arena_reals(space, rows * 3 * H);
        trace->normal_recurrent = arena_reals(space, rows * 3 * H);
        trace->inverse_input = arena_reals(space, rows * 2);
        trace->inverse_recurrent = arena_reals(space, rows * 2);
    }
}

void gru_layout_gradient(const gru *layer, gru_gradient *gradient, arena *space, size_t rows)
{
    const size_t count = rows * 3 * layer->hidden;
    const bool one = layer->kind.reset == GRU_BEFORE;
    gradient->input_part = arena_reals(space, count);
    gradient->recurrent_part = one ? gradient->input_part : arena_reals(space, count);
    gradient->input = layer->kind.normalized ? arena_reals(space, count) : gradient->input_part;
    gradient->recurrent = layer->kind.normalized ? arena_reals(space, count) : gradient->recurrent_part;
}

void gru_draw_mask(const gru *layer, const gru_trace *trace, size_t sequences)
{
    if (trace->mask != NULL) {
        dropout_mask(trace->mask, sequences * layer->hidden, layer->kind.dropout, trace->key);
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

/* ---- layer normalisation, where there is any ------------------------------------------------------------------------
 */

/* Groups of gates that are normalised together: r and z, n. */
typedef enum gate_group { GROUP_RESET_UPDATE, GROUP_CANDIDATE, GROUPS } gate_group;

static size_t group_begin(gate_group group, size_t H)
{
    return group == GROUP_CANDIDATE ? 2 * H : 0;
}

static size_t group_width(gate_group group, size_t H)
{
    return group == GROUP_CANDIDATE ? H : 2 * H;
}

/* What backward needs of a group, from row `first` on. */
static layer_norm_kept kept_of(real *values, real *inverse, gate_group group, size_t first, size_t H)
{
    if (values == NULL) {
        return (layer_norm_kept){0};
    }
    return (layer_norm_kept){values + first * 3 * H + group_begin(group, H), 3 * H, inverse + first * GROUPS + group,
                             GROUPS};
}

static void normalize_recurrent(const gru *layer, const real *theta, const gru_trace *trace, gate_group group,
                                real *part, size_t first, size_t rows)
{
    const size_t H = layer->hidden, begin = group_begin(group, H);
    const layer_norm_kept kept = kept_of(trace->normal_recurrent, trace->inverse_recurrent, group, first, H);
    if (layer->kind.normalized) {
        layer_norm_forward(part + begin, 3 * H, &kept, theta + layer->gain_hh + begin, theta + layer->bias_hh + begin,
                           rows, group_width(group, H));
    }
}

static void normalize_input(const gru *layer, const real *theta, const gru_trace *trace, size_t first, size_t rows)
{
    const size_t H = layer->hidden;
    for (gate_group group = 0; group < GROUPS && layer->kind.normalized; group++) {
        const size_t begin = group_begin(group, H);
        const layer_norm_kept kept = kept_of(trace->normal_input, trace->inverse_input, group, first, H);
        layer_norm_forward(trace->gates + first * 3 * H + begin, 3 * H, &kept, theta + layer->gain_ih + begin,
                           theta + layer->bias_ih + begin, rows, group_width(group, H));
    }
}

/* From the gradient at a part to that at its product, both from row `first` on. */
static void normalize_backward(const gru *layer, const real *gain, const layer_norm_kept *kept, gate_group group,
                               real *product, const real *part, size_t rows)
{
    const size_t H = layer->hidden, begin = group_begin(group, H), width = group_width(group, H);
    for (size_t row = 0; row < rows; row++) {
        memset(product + row * 3 * H + begin, 0, width * sizeof *product);
    }
    layer_norm_backward_input(product + begin, 3 * H, part + begin, 3 * H, kept, gain + begin, rows, width);
}

static void normalize_recurrent_backward(const gru *layer, const real *theta, const gru_trace *trace,
                                         const gru_gradient *gradient, gate_group group, size_t first, size_t rows)
{
    const size_t H = layer->hidden;
    if (layer->kind.normalized) {
        const layer_norm_kept kept = kept_of(trace->normal_recurrent, trace->inverse_recurrent, group, first, H);
        normalize_backward(layer, theta + layer->gain_hh, &kept, group, gradient->recurrent + first * 3 * H,
                           gradient->recurrent_part + first * 3 * H, rows);
    }
}

static void normalize_input_backward(const gru *layer, const real *theta, const gru_trace *trace,
                                     const gru_gradient *gradient, size_t first, size_t rows)
{
    const size_t H = layer->hidden;
    for (gate_group group = 0; group < GROUPS && layer->kind.normalized; group++) {
        const layer_norm_kept kept = kept_of(trace->normal_input, trace->inverse_input, group, first, H);
        normalize_backward(layer, theta + layer->gain_ih, &kept, group, gradient->input + first * 3 * H,
                           gradient->input_part + first * 3 * H, rows);
    }
}

static void gain_backward(const gru *layer, real *dtheta, const gru_trace *trace, const gru_gradient *gradient,
                          size_t rows)
{
    const size_t H = layer->hidden;
    const layer_norm_kept input = {trace->normal_input, 3 * H, NULL, 0};
    const layer_norm_kept recurrent = {trace->normal_recurrent, 3 * H, NULL, 0};
    layer_norm_backward_gain(dtheta + layer->gain_ih, gradient->input_part, 3 * H, &input, rows, 3 * H);
    layer_norm_backward_gain(dtheta + layer->gain_hh, gradient->recurrent_part, 3 * H, &recurrent, rows, 3 * H);
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
    const bool normal = layer->kind.normalized;
    const size_t W = layer->weight_hh, b = normal ? WEIGHTS_NO_BIAS : layer->bias_hh;
    const size_t b_n = normal ? WEIGHTS_NO_BIAS : layer->bias_hh + 2 * H;
    gru_rows step = step_rows(layer, h, stride, trace, first, scratch);
    const size_t grain = rows_per_thread(H);
    drop_previous(layer, trace, first, rows);
    normalize_input(layer, theta->block, trace, first, rows);
    if (layer->kind.reset == GRU_AFTER) {
        weights_forward(theta, scratch, 3 * H, step.read, step.read_stride, W, H, b, rows, 3 * H, H);
        normalize_recurrent(layer, theta->block, trace, GROUP_RESET_UPDATE, scratch, first, rows);
        normalize_recurrent(layer, theta->block, trace, GROUP_CANDIDATE, scratch, first, rows);
        parallel_for(rows, grain, after_forward, &step);
        return;
    }
    weights_forward(theta, scratch, 3 * H, step.read, step.read_stride, W, H, b, rows, 2 * H, H);
    normalize_recurrent(layer, theta->block, trace, GROUP_RESET_UPDATE, scratch, first, rows);
    parallel_for(rows, grain, before_forward_gates, &step);
    weights_forward(theta, scratch + 2 * H, 3 * H, step.recurrent, H, W + 2 * H * H, H, b_n, rows, H, H);
    normalize_recurrent(layer, theta->block, trace, GROUP_CANDIDATE, scratch, first, rows);
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

void gru_step_backward(const gru *layer, const weights_view *theta, real *dh, const gru_trace *trace,
                       const gru_gradient *gradient, size_t first, size_t rows, real *scratch)
{
    const size_t H = layer->hidden, grain = rows_per_thread(H);
    const size_t W = layer->weight_hh;
    gru_rows step = step_rows(layer, dh, H, trace, first, scratch);
    const real *d_product = gradient->recurrent + first * 3 * H;
    step.d_input = gradient->input_part + first * 3 * H;
    step.d_recurrent = gradient->recurrent_part + first * 3 * H;
    step.d_read = dh;
    if (trace->mask != NULL) {
        step.d_read = scratch + rows * H;
        memset(step.d_read, 0, rows * H * sizeof *step.d_read);
    }
    if (layer->kind.reset == GRU_AFTER) {
        parallel_for(rows, grain, after_backward, &step);
        normalize_recurrent_backward(layer, theta->block, trace, gradient, GROUP_RESET_UPDATE, first, rows);
        normalize_recurrent_backward(layer, theta->block, trace, gradient, GROUP_CANDIDATE, first, rows);
        weights_backward_input(theta, step.d_read, H, d_product, 3 * H, W, H, rows, 3 * H, H);
    } else {
        parallel_for(rows, grain, before_backward_candidate, &step);
        normalize_recurrent_backward(layer, theta->block, trace, gradient, GROUP_CANDIDATE, first, rows);
        memset(scratch, 0, rows * H * sizeof *scratch);
        weights_backward_input(theta, scratch, H, d_product + 2 * H, 3 * H, W + 2 * H * H, H, rows, H, H);
        parallel_for(rows, grain, before_backward_reset, &step);
        normalize_recurrent_backward(layer, theta->block, trace, gradient, GROUP_RESET_UPDATE, first, rows);
        weights_backward_input(theta, step.d_read, H, d_product, 3 * H, W, H, rows, 2 * H, H);
    }
    normalize_input_backward(layer, theta->block, trace, gradient, first, rows);
    drop_previous_backward(trace, &step, rows);
}

void gru_backward_weights(const gru *layer, real *dtheta, const gru_trace *trace, const gru_gradient *gradient,
                          size_t rows)
{
    const size_t H = layer->hidden;
    real *dW = dtheta + layer->weight_hh;
    const size_t gates_of_state = layer->kind.reset == GRU_AFTER ? 3 * H : 2 * H;
    linear_backward_weight(dW, H, gradient->recurrent, 3 * H, read_row(layer, trace, 0), read_stride(layer, trace),
                           rows, gates_of_state, H);
    if (layer->kind.reset == GRU_BEFORE) {
        linear_backward_weight(dW + 2 * H * H, H, gradient->recurrent + 2 * H, 3 * H, trace->recurrent, H, rows, H, H);
    }
    linear_backward_bias(dtheta + layer->bias_ih, gradient->input_part, 3 * H, rows, 3 * H);
    linear_backward_bias(dtheta + layer->bias_hh, gradient->recurrent_part, 3 * H, rows, 3 * H);
    if (layer->kind.normalized) {
        gain_backward(layer, dtheta, trace, gradient, rows);
    }
}
