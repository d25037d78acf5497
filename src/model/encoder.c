#include "model/encoder.h"

#include <string.h>

#include "core/parallel.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"

void encoder_declare(encoder *layer, parameter_table *table, size_t vocabulary, size_t embedding_size, size_t hidden,
                     gru_reset reset)
{
    layer->embedding_size = embedding_size;
    layer->hidden = hidden;
    layer->vocabulary = vocabulary;
    layer->embedding = parameters_add(table, "encoder.embedding.weight", vocabulary, embedding_size, INIT_EMBEDDING);
    gru_declare(&layer->direction[FORWARD], table, "encoder.forward", embedding_size, hidden, reset);
    gru_declare(&layer->direction[BACKWARD], table, "encoder.backward", embedding_size, hidden, reset);
}

void encoder_layout(const encoder *layer, encoder_workspace *work, arena *space, const sequences *source,
                    int with_gradient)
{
    const size_t N = source->tokens, B = source->count, E = layer->embedding_size, H = layer->hidden;
    *work = (encoder_workspace){.embedded = arena_reals(space, N * E),
                                .annotations = arena_reals(space, N * 2 * H),
                                .start = arena_take(space, B, sizeof(uint32_t))};
    for (int d = 0; d < DIRECTIONS; d++) {
        encoder_direction_workspace *one = &work->direction[d];
        gru_layout(&layer->direction[d], &one->trace, space, N, B, with_gradient);
        one->trace.previous = arena_reals(space, N * H);
        one->trace.previous_stride = H;
        one->state = arena_reals(space, N * H);
        one->scratch = arena_reals(space, B * 3 * H);
        if (with_gradient) {
            gru_layout_gradient(&layer->direction[d], &one->gradient, space, N);
            one->carry = arena_reals(space, B * H);
        }
    }
    if (with_gradient) {
        work->dannotations = arena_reals(space, N * 2 * H);
        work->dembedded = arena_reals(space, N * E);
        work->embedding_mask =
            layer->dropout_embedding > 0 || layer->dropout_word > 0 ? arena_reals(space, N * E) : NULL;
        work->annotation_mask = layer->dropout_annotation > 0 ? arena_reals(space, N * 2 * H) : NULL;
    }
}

/* What a loop over the two directions needs. */
typedef struct encoder_pass {
    const encoder *layer;
    const weights_view *theta; /* in backward only its block */
    encoder_workspace *work;
    const sequences *source;
} encoder_pass;

/* The step whose state a direction continues from step t, and how many of its sequences come from there; the others
 * start from zero at t. */
static size_t continued(const sequences *source, int direction, size_t t, size_t *from)
{
    const size_t here = source->active[t];
    if (direction == FORWARD) {
        *from = t - 1;
        return t > 0 ? here : 0;
    }
    *from = t + 1;
    return t + 1 < source->steps ? source->active[t + 1] : 0;
}

static void direction_forward(const encoder_pass *pass, int d)
{
    const sequences *source = pass->source;
    encoder_direction_workspace *work = &pass->work->direction[d];
    const size_t H = pass->layer->hidden;
    const weights_view theta = weights_beside(pass->theta, (size_t)d * source->count); /* the directions run at once */
    for (size_t k = 0; k < source->steps; k++) {
        const size_t t = d == FORWARD ? k : source->steps - 1 - k;
        const size_t first = source->offset[t], rows = source->active[t];
        size_t from;
        const size_t going_on = continued(source, d, t, &from);
        real *previous = work->trace.previous + first * H;
        if (going_on > 0) {
            memcpy(previous, work->state + source->offset[from] * H, going_on * H * sizeof *previous);
        }
        memset(previous + going_on * H, 0, (rows - going_on) * H * sizeof *previous);
        gru_step_forward(&pass->layer->direction[d], &theta, work->state + first * H, H, &work->trace, first, rows,
                         work->scratch);
    }
}

static void directions_forward(void *context, size_t begin, size_t end)
{
    for (size_t d = begin; d < end; d++) {
        direction_forward(context, (int)d);
    }
}

/* Copies between the packed states of both directions and the annotations' order. */
static void join_directions(const encoder *layer, encoder_workspace *work, const sequences *source)
{
    const size_t H = layer->hidden;
    for (size_t t = 0; t < source->steps; t++) {
        for (size_t row = 0; row < source->active[t]; row++) {
            real *annotation = work->annotations + (work->start[row] + t) * 2 * H;
            const size_t packed = source->offset[t] + row;
            memcpy(annotation, work->direction[FORWARD].state + packed * H, H * sizeof *annotation);
            memcpy(annotation + H, work->direction[BACKWARD].state + packed * H, H * sizeof *annotation);
        }
    }
}

void encoder_forward(const encoder *layer, const weights_view *theta, encoder_workspace *work, const sequences *source)
{
    const size_t N = source->tokens, E = layer->embedding_size, H = layer->hidden;
    uint32_t start = 0;
    for (size_t row = 0; row < source->count; row++) {
        work->start[row] = start;
        start += source->length[row];
    }
    embedding_forward(work->embedded, E, theta->block + layer->embedding, source->id, N, E);
    if (work->embedding_mask != NULL) {
        dropout_mask(work->embedding_mask, N * E, layer->dropout_embedding, work->embedding_key);
        dropout_mask_rows(work->embedding_mask, N, E, layer->dropout_word, work->word_key);
        dropout_apply(work->embedded, E, work->embedding_mask, N, E);
    }
    for (int d = 0; d < DIRECTIONS; d++) {
        const gru *cell = &layer->direction[d];
        gru_draw_mask(cell, &work->direction[d].trace, source->count);
        weights_forward(theta, work->direction[d].trace.gates, 3 * H, work->embedded, E, cell->weight_ih, E,
                        cell->bias_ih, N, 3 * H, E);
    }
    encoder_pass pass = {layer, theta, work, source};
    parallel_for(DIRECTIONS, 1, directions_forward, &pass);
    join_directions(layer, work, source);
    if (work->annotation_mask != NULL) {
        dropout_mask(work->annotation_mask, N * 2 * H, layer->dropout_annotation, work->annotation_key);
        dropout_apply(work->annotations, 2 * H, work->annotation_mask, N, 2 * H);
    }
}

static void direction_backward(const encoder_pass *pass, int d)
{
    const sequences *source = pass->source;
    encoder_direction_workspace *work = &pass->work->direction[d];
    const size_t H = pass->layer->hidden;
    memset(work->carry, 0, source->count * H * sizeof *work->carry);
    for (size_t k = 0; k < source->steps; k++) {
        const size_t t = d == FORWARD ? source->steps - 1 - k : k;
        const size_t first = source->offset[t], rows = source->active[t];
        for (size_t row = 0; row < rows; row++) {
            const real *da = pass->work->dannotations + (pass->work->start[row] + t) * 2 * H + (size_t)d * H;
            real *dh = work->carry + row * H;
            for (size_t i = 0; i < H; i++) {
                dh[i] += da[i];
            }
        }
        gru_step_backward(&pass->layer->direction[d], pass->theta->block, work->carry, &work->trace, &work->gradient,
                          first, rows, work->scratch);
    }
}

static void directions_backward(void *context, size_t begin, size_t end)
{
    for (size_t d = begin; d < end; d++) {
        direction_backward(context, (int)d);
    }
}

void encoder_backward(const encoder *layer, const real *theta, real *dtheta, encoder_workspace *work,
                      const sequences *source)
{
    const size_t N = source->tokens, E = layer->embedding_size, H = layer->hidden;
    const weights_view all = {.block = theta};
    encoder_pass pass = {layer, &all, work, source};
    if (work->annotation_mask != NULL) {
        dropout_apply(work->dannotations, 2 * H, work->annotation_mask, N, 2 * H);
    }
    parallel_for(DIRECTIONS, 1, directions_backward, &pass);
    memset(work->dembedded, 0, N * E * sizeof *work->dembedded);
    for (int d = 0; d < DIRECTIONS; d++) {
        const gru *cell = &layer->direction[d];
        const encoder_direction_workspace *one = &work->direction[d];
        gru_backward_weights(cell, dtheta, &one->trace, &one->gradient, N);
        linear_backward_weight(dtheta + cell->weight_ih, E, one->gradient.input, 3 * H, work->embedded, E, N, 3 * H, E);
        linear_backward_input(work->dembedded, E, one->gradient.input, 3 * H, theta + cell->weight_ih, E, N, 3 * H, E);
    }
    if (work->embedding_mask != NULL) {
        dropout_apply(work->dembedded, E, work->embedding_mask, N, E);
    }
    embedding_backward(dtheta + layer->embedding, work->dembedded, E, source->id, N, E);
}
