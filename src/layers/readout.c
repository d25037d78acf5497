#include "layers/readout.h"

#include <string.h>

#include "ops/activation.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"

/* Logits in one tile at the most: 16 MB of floats. */
static const size_t TILE_NUMBERS = (size_t)4 << 20;

static size_t hidden_size(const readout *layer)
{
    return layer->kind == READOUT_KIND_MAXOUT ? 2 * layer->units : layer->units;
}

static bool has_hidden_bias(const readout *layer)
{
    return layer->kind == READOUT_KIND_TANH || layer->normalized;
}

void readout_declare(readout *layer, parameter_table *table, readout_kind kind, size_t features, size_t units,
                     size_t vocabulary, bool normalized, size_t tied)
{
    *layer = (readout){.kind = kind,
                       .features = features,
                       .units = kind == READOUT_KIND_LINEAR ? features : units,
                       .vocabulary = vocabulary,
                       .normalized = normalized && kind != READOUT_KIND_LINEAR};
    if (kind != READOUT_KIND_LINEAR) {
        layer->hidden_weight =
            parameters_add(table, "readout.hidden.weight", hidden_size(layer), features, INIT_WEIGHT);
    }
    if (has_hidden_bias(layer)) {
        layer->hidden_bias = parameters_add(table, "readout.hidden.bias", hidden_size(layer), 0, INIT_ZERO);
    }
    if (layer->normalized) {
        layer->hidden_gain = parameters_add(table, "readout.hidden.gain", hidden_size(layer), 0, INIT_ONE);
    }
    layer->weight = tied != READOUT_UNTIED
                        ? tied
                        : parameters_add(table, "readout.output.weight", vocabulary, layer->units, INIT_WEIGHT);
    parameters_use(table, layer->weight, USE_MATRIX);
    layer->bias = parameters_add(table, "readout.output.bias", vocabulary, 0, INIT_ZERO);
}

/* W_o reads the features themselves. */
static int is_direct(const readout *layer)
{
    return layer->kind == READOUT_KIND_LINEAR && layer->dropout == 0;
}

static size_t tile_rows(const readout *layer, size_t rows)
{
    /* Tiles of equal size: a short last one would waste its product. */
    const size_t most = TILE_NUMBERS / layer->vocabulary > 64 ? TILE_NUMBERS / layer->vocabulary : 64;
    const size_t tiles = (rows + most - 1) / most;
    return tiles > 0 ? (rows + tiles - 1) / tiles : 0;
}

void readout_layout(const readout *layer, readout_workspace *work, arena *space, size_t rows, int with_gradient)
{
    *work = (readout_workspace){.tile = tile_rows(layer, rows)};
    if (layer->kind != READOUT_KIND_LINEAR) {
        work->hidden = arena_reals(space, rows * hidden_size(layer));
    }
    if (layer->kind == READOUT_KIND_MAXOUT) {
        work->largest = arena_reals(space, rows * layer->units);
    }
    work->logits = arena_reals(space, work->tile * layer->vocabulary);
    work->nats = arena_take(space, rows, sizeof(double));
    work->objective = arena_take(space, rows, sizeof(double));
    if (with_gradient && layer->dropout > 0) {
        work->mask = arena_reals(space, rows * layer->units);
        work->dropped = arena_reals(space, rows * layer->units);
    }
    if (with_gradient && !is_direct(layer)) {
        work->doutput = arena_reals(space, rows * layer->units);
    }
    if (with_gradient && layer->kind != READOUT_KIND_LINEAR) {
        work->dhidden = arena_reals(space, rows * hidden_size(layer));
        work->dproduct = layer->normalized ? arena_reals(space, rows * hidden_size(layer)) : work->dhidden;
    }
    if (with_gradient && layer->normalized) {
        work->normal = arena_reals(space, rows * hidden_size(layer));
        work->inverse = arena_reals(space, rows);
    }
}

/* Sets work->output to what W_o reads. */
static void hidden_forward(const readout *layer, const weights_view *theta, const real *features, size_t stride,
                           readout_workspace *work, size_t rows)
{
    if (layer->kind == READOUT_KIND_LINEAR) {
        work->output = (real *)features;
        work->output_stride = stride;
        return;
    }
    const size_t R = hidden_size(layer);
    const size_t bias = has_hidden_bias(layer) && !layer->normalized ? layer->hidden_bias : WEIGHTS_NO_BIAS;
    weights_forward(theta, work->hidden, R, features, stride, layer->hidden_weight, layer->features, bias, rows, R,
                    layer->features);
    if (layer->normalized) {
        const layer_norm_kept kept = {work->normal, R, work->inverse, 1};
        layer_norm_forward(work->hidden, R, &kept, theta->block + layer->hidden_gain, theta->block + layer->hidden_bias,
                           rows, R);
    }
    if (layer->kind == READOUT_KIND_TANH) {
        tanh_forward(work->hidden, rows * R);
        work->output = work->hidden;
    } else {
        maxout_forward(work->largest, work->hidden, rows, layer->units);
        work->output = work->largest;
    }
    work->output_stride = layer->units;
}

/* From dhidden to dproduct, where they are not the same. */
static void normalize_backward(const readout *layer, const real *theta, real *dtheta, readout_workspace *work,
                               size_t rows)
{
    const size_t R = hidden_size(layer);
    const layer_norm_kept kept = {work->normal, R, work->inverse, 1};
    if (layer->normalized) {
        memset(work->dproduct, 0, rows * R * sizeof *work->dproduct);
        layer_norm_backward_gain(dtheta + layer->hidden_gain, work->dhidden, R, &kept, rows, R);
        layer_norm_backward_input(work->dproduct, R, work->dhidden, R, &kept, theta + layer->hidden_gain, rows, R);
    }
}

static void hidden_backward(const readout *layer, const real *theta, real *dtheta, real *dfeatures,
                            const real *features, size_t stride, readout_workspace *work, size_t rows)
{
    const size_t R = hidden_size(layer), F = layer->features;
    memset(work->dhidden, 0, rows * R * sizeof(real));
    if (layer->kind == READOUT_KIND_TANH) {
        tanh_backward(work->dhidden, work->doutput, work->hidden, rows * R);
    } else {
        maxout_backward(work->dhidden, work->doutput, work->hidden, rows, layer->units);
    }
    if (has_hidden_bias(layer)) {
        linear_backward_bias(dtheta + layer->hidden_bias, work->dhidden, R, rows, R);
    }
    normalize_backward(layer, theta, dtheta, work, rows);
    linear_backward_weight(dtheta + layer->hidden_weight, F, work->dproduct, R, features, stride, rows, R, F);
    linear_backward_input(dfeatures, stride, work->dproduct, R, theta + layer->hidden_weight, F, rows, R, F);
}

static void drop_output(const readout *layer, readout_workspace *work, size_t rows)
{
    const size_t R = layer->units;
    if (work->mask == NULL) {
        return;
    }
    dropout_mask(work->mask, rows * R, layer->dropout, work->key);
    for (size_t row = 0; row < rows; row++) {
        memcpy(work->dropped + row * R, work->output + row * work->output_stride, R * sizeof *work->dropped);
    }
    dropout_apply(work->dropped, R, work->mask, rows, R);
    work->output = work->dropped;
    work->output_stride = R;
}

/* From work->doutput to what comes before W_o. */
static void output_backward(const readout *layer, const real *theta, real *dtheta, real *dfeatures,
                            const real *features, size_t stride, readout_workspace *work, size_t rows)
{
    const size_t R = layer->units;
    if (work->mask != NULL) {
        dropout_apply(work->doutput, R, work->mask, rows, R);
    }
    if (layer->kind != READOUT_KIND_LINEAR) {
        hidden_backward(layer, theta, dtheta, dfeatures, features, stride, work, rows);
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < R; i++) {
            dfeatures[row * stride + i] += work->doutput[row * R + i];
        }
    }
}

void readout_logits(const readout *layer, const weights_view *theta, real *logits, const real *features, size_t stride,
                    readout_workspace *work, size_t rows)
{
    hidden_forward(layer, theta, features, stride, work, rows);
    weights_forward(theta, logits, layer->vocabulary, work->output, work->output_stride, layer->weight, layer->units,
                    layer->bias, rows, layer->vocabulary, layer->units);
}

readout_sums readout_loss(const readout *layer, const real *theta, real *dtheta, real *dfeatures, const real *features,
                          size_t stride, const int32_t *target, double smoothing, real scale, readout_workspace *work,
                          size_t rows)
{
    const size_t V = layer->vocabulary, R = layer->units;
    const int direct = is_direct(layer);
    real *doutput = direct ? dfeatures : work->doutput;
    const size_t dstride = direct ? stride : R;
    hidden_forward(layer, &(weights_view){.block = theta}, features, stride, work, rows);
    drop_output(layer, work, rows);
    if (dtheta != NULL && !direct) {
        memset(doutput, 0, rows * R * sizeof *doutput);
    }
    for (size_t first = 0; first < rows; first += work->tile) {
        const size_t count = rows - first < work->tile ? rows - first : work->tile;
        const real *output = work->output + first * work->output_stride;
        linear_forward(work->logits, V, output, work->output_stride, theta + layer->weight, R, theta + layer->bias,
                       count, V, R);
        cross_entropy_forward(work->logits, work->nats + first, work->objective + first, target + first, smoothing,
                              count, V);
        if (dtheta != NULL) {
            cross_entropy_backward(work->logits, target + first, smoothing, scale, count, V);
            linear_backward_bias(dtheta + layer->bias, work->logits, V, count, V);
            linear_backward_weight(dtheta + layer->weight, R, work->logits, V, output, work->output_stride, count, V,
                                   R);
            linear_backward_input(doutput + first * dstride, dstride, work->logits, V, theta + layer->weight, R, count,
                                  V, R);
        }
    }
    if (dtheta != NULL && !direct) {
        output_backward(layer, theta, dtheta, dfeatures, features, stride, work, rows);
    }
    readout_sums sums = {0, 0};
    for (size_t row = 0; row < rows; row++) {
        sums.nats += work->nats[row];
        sums.objective += work->objective[row];
    }
    return sums;
}
