#include "model/encoder.h"

#include <stdio.h>
#include <string.h>

#include "core/parallel.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"

/* "encoder.forward", and "encoder.layer2.forward" from the second layer on. */
static void declare_direction(encoder *layer, parameter_table *table, size_t index, int d, const char *name,
                              size_t input)
{
    char prefix[48];
    if (index == 0) {
        snprintf(prefix, sizeof prefix, "encoder.%s", name);
    } else {
        snprintf(prefix, sizeof prefix, "encoder.layer%zu.%s", index + 1, name);
    }
    gru_declare(&layer->direction[index][d], table, prefix, input, layer->options.hidden, &layer->options.cell);
}

void encoder_declare(encoder *layer, parameter_table *table, const encoder_options *options)
{
    const encoder_options *o = options;
    layer->options = *options;
    layer->embedding =
        parameters_add(table, "encoder.embedding.weight", o->vocabulary, o->embedding_size, INIT_EMBEDDING);
    for (size_t index = 0; index < o->layers; index++) {
        const size_t input = index == 0 ? o->embedding_size : 2 * o->hidden;
        declare_direction(layer, table, index, FORWARD, "forward", input);
        declare_direction(layer, table, index, BACKWARD, "backward", input);
    }
}

static bool drops_words(const encoder *layer)
{
    return layer->options.dropout_embedding > 0 || layer->options.dropout_word > 0;
}

/* What backward needs of one layer at a time is the same for all. */
static void layout_gradient(const encoder *layer, encoder_workspace *work, arena *space, const sequences *source)
{
    const size_t N = source->tokens, H = layer->options.hidden, E = layer->options.embedding_size;
    for (int d = 0; d < DIRECTIONS; d++) {
        encoder_direction_workspace *first = &work->layer[0].direction[d];
        gru_layout_gradient(&layer->direction[0][d], &first->gradient, space, N);
        first->carry = arena_reals(space, source->count * H);
        for (size_t index = 1; index < layer->options.layers; index++) {
            work->layer[index].direction[d].gradient = first->gradient;
            work->layer[index].direction[d].carry = first->carry;
        }
    }
    for (size_t index = 0; index < layer->options.layers; index++) {
        work->layer[index].dinput = arena_reals(space, N * layer->direction[index][FORWARD].input);
    }
    work->dannotations = arena_reals(space, N * 2 * H);
    work->embedding_mask = drops_words(layer) ? arena_reals(space, N * E) : NULL;
    work->annotation_mask = layer->options.dropout_annotation > 0 ? arena_reals(space, N * 2 * H) : NULL;
}

void encoder_layout(const encoder *layer, encoder_workspace *work, arena *space, const sequences *source,
                    int with_gradient)
{
    const size_t N = source->tokens, B = source->count, H = layer->options.hidden;
    *work = (encoder_workspace){.annotations = arena_reals(space, N * 2 * H),
                                .start = arena_take(space, B, sizeof(uint32_t))};
    lookup_layout(&work->words, space, N, 3 * H, !(with_gradient && drops_words(layer)));
    for (size_t index = 0; index < layer->options.layers; index++) {
        work->layer[index].input = arena_reals(space, N * layer->direction[index][FORWARD].input);
        for (int d = 0; d < DIRECTIONS; d++) {
            encoder_direction_workspace *one = &work->layer[index].direction[d];
            gru_layout(&layer->direction[index][d], &one->trace, space, N, B, with_gradient);
            one->trace.previous = arena_reals(space, N * H);
            one->trace.previous_stride = H;
            one->state = arena_reals(space, N * H);
            one->scratch = index == 0 ? arena_reals(space, B * 3 * H) : work->layer[0].direction[d].scratch;
        }
    }
    if (with_gradient) {
        layout_gradient(layer, work, space, source);
    }
}

/* What a loop over the two directions needs. */
typedef struct encoder_pass {
    const encoder *layer;
    const weights_view *theta;
    encoder_workspace *work;
    const sequences *source;
    size_t index;        /* of the layer */
    const real *doutput; /* in backward: the gradient at what the layer gives */
} encoder_pass;

static bool is_last(const encoder_pass *pass)
{
    return pass->index + 1 == pass->layer->options.layers;
}

static bool adds_input(const encoder_pass *pass)
{
    return pass->layer->options.residual && pass->index > 0;
}

/* Where a layer leaves token t of a row: packed, as the next one reads it; the last in the annotations' order. */
static size_t output_row(const encoder_pass *pass, size_t t, size_t row)
{
    return is_last(pass) ? pass->work->start[row] + t : pass->source->offset[t] + row;
}

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
    encoder_direction_workspace *work = &pass->work->layer[pass->index].direction[d];
    const size_t H = pass->layer->options.hidden;
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
        gru_step_forward(&pass->layer->direction[pass->index][d], &theta, work->state + first * H, H, &work->trace,
                         first, rows, work->scratch);
    }
}

static void directions_forward(void *context, size_t begin, size_t end)
{
    for (size_t d = begin; d < end; d++) {
        direction_forward(context, (int)d);
    }
}

/* What the layer gives: both directions' states, and with residual connections what it read. */
static void join_directions(const encoder_pass *pass)
{
    const sequences *source = pass->source;
    const encoder_layer_workspace *work = &pass->work->layer[pass->index];
    const size_t H = pass->layer->options.hidden;
    real *output = is_last(pass) ? pass->work->annotations : pass->work->layer[pass->index + 1].input;
    for (size_t t = 0; t < source->steps; t++) {
        for (size_t row = 0; row < source->active[t]; row++) {
            real *to = output + output_row(pass, t, row) * 2 * H;
            const size_t packed = source->offset[t] + row;
            memcpy(to, work->direction[FORWARD].state + packed * H, H * sizeof *to);
            memcpy(to + H, work->direction[BACKWARD].state + packed * H, H * sizeof *to);
            for (size_t i = 0; i < 2 * H && adds_input(pass); i++) {
                to[i] += work->input[packed * 2 * H + i];
            }
        }
    }
}

static void layer_forward(encoder_pass *pass)
{
    encoder_layer_workspace *work = &pass->work->layer[pass->index];
    const size_t N = pass->source->tokens, H = pass->layer->options.hidden;
    for (int d = 0; d < DIRECTIONS; d++) {
        const gru *cell = &pass->layer->direction[pass->index][d];
        gru_draw_mask(cell, &work->direction[d].trace, pass->source->count);
        real *gates = work->direction[d].trace.gates;
        if (pass->index == 0) {
            lookup_forward(&pass->work->words, pass->theta, gates, 3 * H, work->input, cell->input, cell->weight_ih,
                           cell->input, gru_input_bias(cell), 3 * H, cell->input);
        } else {
            weights_forward(pass->theta, gates, 3 * H, work->input, cell->input, cell->weight_ih, cell->input,
                            gru_input_bias(cell), N, 3 * H, cell->input);
        }
    }
    parallel_for(DIRECTIONS, 1, directions_forward, pass);
    join_directions(pass);
}

void encoder_forward(const encoder *layer, const weights_view *theta, encoder_workspace *work, const sequences *source)
{
    const size_t N = source->tokens, E = layer->options.embedding_size, H = layer->options.hidden;
    real *embedded = work->layer[0].input;
    uint32_t start = 0;
    for (size_t row = 0; row < source->count; row++) {
        work->start[row] = start;
        start += source->length[row];
    }
    lookup_find(&work->words, source->id, N);
    embedding_forward(embedded, E, theta->block + layer->embedding, work->words.id, work->words.distinct, E);
    if (work->embedding_mask != NULL) {
        dropout_mask(work->embedding_mask, N * E, layer->options.dropout_embedding, work->embedding_key);
        dropout_mask_rows(work->embedding_mask, N, E, layer->options.dropout_word, work->word_key);
        dropout_apply(embedded, E, work->embedding_mask, N, E);
    }
    for (size_t index = 0; index < layer->options.layers; index++) {
        layer_forward(&(encoder_pass){layer, theta, work, source, index, NULL});
    }
    if (work->annotation_mask != NULL) {
        dropout_mask(work->annotation_mask, N * 2 * H, layer->options.dropout_annotation, work->annotation_key);
        dropout_apply(work->annotations, 2 * H, work->annotation_mask, N, 2 * H);
    }
}

static void direction_backward(const encoder_pass *pass, int d)
{
    const sequences *source = pass->source;
    encoder_direction_workspace *work = &pass->work->layer[pass->index].direction[d];
    const size_t H = pass->layer->options.hidden;
    memset(work->carry, 0, source->count * H * sizeof *work->carry);
    for (size_t k = 0; k < source->steps; k++) {
        const size_t t = d == FORWARD ? source->steps - 1 - k : k;
        const size_t first = source->offset[t], rows = source->active[t];
        for (size_t row = 0; row < rows; row++) {
            const real *da = pass->doutput + output_row(pass, t, row) * 2 * H + (size_t)d * H;
            real *dh = work->carry + row * H;
            for (size_t i = 0; i < H; i++) {
                dh[i] += da[i];
            }
        }
        gru_step_backward(&pass->layer->direction[pass->index][d], pass->theta, work->carry, &work->trace,
                          &work->gradient, first, rows, work->scratch);
    }
}

static void directions_backward(void *context, size_t begin, size_t end)
{
    for (size_t d = begin; d < end; d++) {
        direction_backward(context, (int)d);
    }
}

/* What reaches the layer's input past its cells. */
static void start_input_gradient(const encoder_pass *pass, real *dinput, size_t width)
{
    const sequences *source = pass->source;
    memset(dinput, 0, source->tokens * width * sizeof *dinput);
    for (size_t t = 0; t < source->steps && adds_input(pass); t++) {
        for (size_t row = 0; row < source->active[t]; row++) {
            memcpy(dinput + (source->offset[t] + row) * width, pass->doutput + output_row(pass, t, row) * width,
                   width * sizeof *dinput);
        }
    }
}

static void layer_backward(encoder_pass *pass, real *dtheta)
{
    encoder_layer_workspace *work = &pass->work->layer[pass->index];
    const lookup *words = pass->index == 0 ? &pass->work->words : NULL;
    const size_t N = pass->source->tokens, H = pass->layer->options.hidden;
    const size_t inputs = words != NULL ? words->distinct : N;
    const size_t I = pass->layer->direction[pass->index][FORWARD].input;
    parallel_for(DIRECTIONS, 1, directions_backward, pass);
    start_input_gradient(pass, work->dinput, I);
    for (int d = 0; d < DIRECTIONS; d++) {
        const gru *cell = &pass->layer->direction[pass->index][d];
        const encoder_direction_workspace *one = &work->direction[d];
        gru_backward_weights(cell, dtheta, &one->trace, &one->gradient, N);
        real *dgates = one->gradient.input;
        const columns sums = words != NULL ? lookup_sum(words, dgates, 3 * H, 3 * H) : columns_of(dgates, 0, 3 * H);
        linear_backward_weight(dtheta + cell->weight_ih, I, sums.data, sums.stride, work->input, I, inputs, 3 * H, I);
        weights_backward_input(pass->theta, work->dinput, I, sums.data, sums.stride, cell->weight_ih, I, inputs, 3 * H,
                               I);
    }
}

void encoder_backward(const encoder *layer, const weights_view *theta, real *dtheta, encoder_workspace *work,
                      const sequences *source)
{
    const size_t N = source->tokens, E = layer->options.embedding_size, H = layer->options.hidden;
    const real *doutput = work->dannotations;
    real *dembedded = work->layer[0].dinput;
    if (work->annotation_mask != NULL) {
        dropout_apply(work->dannotations, 2 * H, work->annotation_mask, N, 2 * H);
    }
    for (size_t index = layer->options.layers; index-- > 0;) {
        layer_backward(&(encoder_pass){layer, theta, work, source, index, doutput}, dtheta);
        doutput = work->layer[index].dinput;
    }
    if (work->embedding_mask != NULL) {
        dropout_apply(dembedded, E, work->embedding_mask, N, E);
    }
    embedding_backward(dtheta + layer->embedding, dembedded, E, work->words.id, work->words.distinct, E);
}
