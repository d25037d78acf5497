#include "layers/attention.h"

#include <stdio.h>
#include <string.h>

#include "core/parallel.h"
#include "core/simd.h"
#include "ops/softmax.h"

/* ---- parameters ----------------------------------------------------------------------------------------------------
 */

static void declare_projections(attention *layer, parameter_table *table, size_t A)
{
    layer->projected = true;
    layer->query = projection_declare(table, "attention.heads.query.weight", layer->state, A);
    layer->key = projection_declare(table, "attention.heads.key.weight", layer->annotation, A);
    layer->value = projection_declare(table, "attention.heads.value.weight", layer->annotation, A);
    layer->output = projection_declare(table, "attention.heads.output.weight", A, layer->annotation);
    projection_use_steps(&layer->query, table);
    projection_use_steps(&layer->output, table);
}

static void declare_heads(attention *layer, parameter_table *table, const attention_options *o)
{
    const size_t size = o->size / o->heads;
    for (size_t j = 0; j < layer->head_count; j++) {
        attention_head *head = &layer->head[j];
        char prefix[48] = "attention";
        if (layer->projected) {
            snprintf(prefix, sizeof prefix, "attention.head%zu", j + 1);
        }
        *head = (attention_head){.score = o->score,
                                 .index = j,
                                 .state = layer->projected ? size : o->state,
                                 .annotation = layer->projected ? size : o->annotation,
                                 .size = size};
        o->score->declare(head, table, prefix);
        projection_use_steps(&head->query, table);
    }
    layer->query_size = layer->head->query.out;
    layer->own_size = layer->head->own_size;
}

void attention_declare(attention *layer, parameter_table *table, const attention_options *o)
{
    *layer =
        (attention){.state = o->state, .annotation = o->annotation, .head_count = o->score->of_halves ? 2 : o->heads};
    if (o->heads > 1) {
        declare_projections(layer, table, o->size);
    }
    layer->value_size = (layer->projected ? o->size : o->annotation) / layer->head_count;
    declare_heads(layer, table, o);
    extent_declare(&layer->extent, table, o->extent, o->window, o->state, o->size);
}

/* ---- workspace -----------------------------------------------------------------------------------------------------
 */

/* The heads' values side by side: C or A columns. */
static size_t value_columns(const attention *layer)
{
    return layer->head_count * layer->value_size;
}

static void layout_gradient(const attention *layer, attention_workspace *work, arena *space, size_t width)
{
    const size_t N = work->rows, M = work->tokens, heads = layer->head_count, K = layer->query_size;
    const size_t A = value_columns(layer);
    work->dquery = arena_reals(space, heads * N * K);
    work->dkeys = arena_reals(space, heads * M * K);
    work->down = arena_reals(space, heads * work->sentences * layer->own_size);
    work->scratch = arena_reals(space, width * 3 * work->longest);
    if (layer->projected) {
        work->djoined = arena_reals(space, N * A);
        work->dprojected_query = arena_reals(space, N * A);
        work->dprojected_keys = arena_reals(space, M * A);
        work->dprojected_values = arena_reals(space, M * A);
    }
}

void attention_layout(const attention *layer, attention_workspace *work, arena *space, const sequences *source,
                      size_t rows, size_t width, bool with_gradient)
{
    const size_t M = source->tokens, heads = layer->head_count, K = layer->query_size, A = value_columns(layer);
    *work = (attention_workspace){.rows = rows,
                                  .tokens = M,
                                  .sentences = source->count,
                                  .longest = source->steps,
                                  .sentence = arena_take(space, width, sizeof(uint32_t)),
                                  .step = arena_take(space, width, sizeof(uint32_t)),
                                  .keys = arena_reals(space, heads * M * K),
                                  .query = arena_reals(space, heads * rows * K),
                                  .weights = arena_reals(space, heads * rows * source->steps)};
    work->alpha = heads > 1 ? arena_reals(space, rows * source->steps) : work->weights;
    if (layer->projected) {
        work->projected_keys = arena_reals(space, M * A);
        work->projected_values = arena_reals(space, M * A);
        work->projected_query = arena_reals(space, rows * A);
        work->joined = arena_reals(space, rows * A);
    }
    extent_layout(&layer->extent, &work->extent, space, rows, with_gradient);
    if (with_gradient) {
        layout_gradient(layer, work, space, width);
    }
}

/* ---- forward -------------------------------------------------------------------------------------------------------
 */

/* Head j's columns of a matrix that all heads share, or the matrix itself where the heads are not projected. */
static size_t head_column(const attention *layer, size_t j)
{
    return layer->projected ? j * layer->value_size : 0;
}

void attention_prepare(const attention *layer, const weights_view *theta, attention_workspace *work,
                       const sequences *source, const real *annotations, const uint32_t *start)
{
    const size_t M = work->tokens, C = layer->annotation, A = value_columns(layer);
    work->start = start;
    work->length = source->length;
    work->annotations = work->values = annotations;
    if (layer->projected) {
        projection_forward(&layer->key, theta, work->projected_keys, A, annotations, C, M);
        projection_forward(&layer->value, theta, work->projected_values, A, annotations, C, M);
        work->values = work->projected_values;
    }
    const real *compared = layer->projected ? work->projected_keys : annotations;
    for (size_t j = 0; j < layer->head_count; j++) {
        projection_forward(&layer->head[j].key, theta, work->keys + j * M * layer->query_size, layer->query_size,
                           compared + head_column(layer, j), A, M);
    }
}

void attention_ask(const attention *layer, const weights_view *theta, attention_workspace *work, const real *s,
                   size_t stride, size_t first, size_t rows)
{
    const size_t K = layer->query_size, A = value_columns(layer);
    extent_forward(&layer->extent, theta, &work->extent, s, stride, first, rows);
    if (layer->projected) {
        real *projected = work->projected_query + first * A;
        projection_forward(&layer->query, theta, projected, A, s, stride, rows);
        s = projected;
        stride = A;
    }
    for (size_t j = 0; j < layer->head_count; j++) {
        projection_forward(&layer->head[j].query, theta, work->query + (j * work->rows + first) * K, K,
                           s + head_column(layer, j), stride, rows);
    }
}

/* One step of reading, forward or backward. */
typedef struct reading {
    const attention *layer;
    const real *theta;
    attention_workspace *work;
    size_t first;
    real *context; /* [rows, stride] what is read, or the gradient at it, of all heads side by side */
    size_t context_stride;
} reading;

/* c = sum_i alpha_i h_i */
static SIMD_CLONES void weighted_sum(real *restrict context, const real *restrict alpha, const real *restrict h,
                                     size_t stride, size_t S, size_t C)
{
    memset(context, 0, C * sizeof *context);
    for (size_t i = 0; i < S; i++) {
        SIMD_LOOP
        for (size_t j = 0; j < C; j++) {
            context[j] += alpha[i] * h[i * stride + j];
        }
    }
}

static void read_head(const reading *step, size_t j, size_t row)
{
    const attention *layer = step->layer;
    const attention_workspace *work = step->work;
    const attention_head *head = &layer->head[j];
    const size_t sentence = work->sentence[row], start = work->start[sentence], S = work->length[sentence];
    const size_t K = layer->query_size, here = step->first + row, columns = value_columns(layer);
    const span seen = extent_span(&layer->extent, &work->extent, here, S);
    real *weights = work->weights + (j * work->rows + here) * work->longest, *alpha = weights + seen.begin;
    memset(weights, 0, seen.begin * sizeof *weights);
    head->score->energies(head, step->theta, alpha, work->query + (j * work->rows + here) * K,
                          work->keys + (j * work->tokens + start + seen.begin) * K, seen.end - seen.begin);
    softmax_forward(alpha, alpha, seen.end - seen.begin, work->longest - seen.begin);
    extent_favour(&layer->extent, &work->extent, weights, here, seen);
    weighted_sum(step->context + row * step->context_stride + j * layer->value_size, alpha,
                 work->values + (start + seen.begin) * columns + j * layer->value_size, columns, seen.end - seen.begin,
                 layer->value_size);
}

/* What is reported of several heads. */
static void mean_of_heads(const attention *layer, attention_workspace *work, size_t row)
{
    const size_t S = work->longest;
    real *alpha = work->alpha + row * S;
    memset(alpha, 0, S * sizeof *alpha);
    for (size_t j = 0; j < layer->head_count; j++) {
        const real *weights = work->weights + (j * work->rows + row) * S;
        for (size_t i = 0; i < S; i++) {
            alpha[i] += weights[i] / (real)layer->head_count;
        }
    }
}

static void read_rows(void *context, size_t begin, size_t end)
{
    const reading *step = context;
    attention_workspace *work = step->work;
    for (size_t row = begin; row < end; row++) {
        extent_centre(&step->layer->extent, step->theta, &work->extent, step->first + row, work->step[row],
                      work->length[work->sentence[row]]);
        for (size_t j = 0; j < step->layer->head_count; j++) {
            read_head(step, j, row);
        }
        if (step->layer->head_count > 1) {
            mean_of_heads(step->layer, work, step->first + row);
        }
    }
}

void attention_at_step(attention_workspace *work, size_t t, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        work->step[row] = (uint32_t)t;
    }
}

void attention_read(const attention *layer, const weights_view *theta, attention_workspace *work, real *context,
                    size_t stride, size_t first, size_t rows)
{
    const size_t A = value_columns(layer);
    real *joined = layer->projected ? work->joined + first * A : context;
    reading step = {layer, theta->block, work, first, joined, layer->projected ? A : stride};
    parallel_for(rows, 1, read_rows, &step);
    if (layer->projected) {
        projection_forward(&layer->output, theta, context, stride, joined, A, rows);
    }
}

bool attention_energies(const attention *layer, const real *theta, const attention_workspace *work, real *e, size_t row)
{
    const attention_head *head = &layer->head[0];
    const size_t sentence = work->sentence[row], K = layer->query_size;
    if (layer->head_count > 1 || layer->extent.kind != EXTENT_GLOBAL) {
        return false;
    }
    head->score->energies(head, theta, e, work->query + row * K, work->keys + work->start[sentence] * K,
                          work->length[sentence]);
    return true;
}

/* ---- backward: one step --------------------------------------------------------------------------------------------
 */

void attention_backward_begin(const attention *layer, attention_workspace *work)
{
    const size_t heads = layer->head_count;
    memset(work->dkeys, 0, heads * work->tokens * layer->query_size * sizeof *work->dkeys);
    extent_backward_begin(&layer->extent, &work->extent, work->rows);
    memset(work->down, 0, heads * work->sentences * layer->own_size * sizeof *work->down);
}

/* dalpha_i = h_i . dc */
static SIMD_CLONES void weights_backward(real *restrict dalpha, const real *restrict dcontext, const real *restrict h,
                                         size_t stride, size_t S, size_t C)
{
    for (size_t i = 0; i < S; i++) {
        real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (size_t j = 0; j < C; j++)
        {
            sum += h[i * stride + j] * dcontext[j];
        }
        dalpha[i] = sum;
    }
}

/* Each head's weights count in the mean. */
static void coverage_backward(const attention *layer, const attention_workspace *work, real *dalpha, size_t start,
                              span seen)
{
    for (size_t i = seen.begin; work->dcoverage != NULL && i < seen.end; i++) {
        dalpha[i] += work->dcoverage[start + i] / (real)layer->head_count;
    }
}

static void read_head_backward(const reading *step, size_t j, size_t row)
{
    const attention *layer = step->layer;
    attention_workspace *work = step->work;
    const attention_head *head = &layer->head[j];
    const size_t sentence = work->sentence[row], start = work->start[sentence], S = work->length[sentence];
    const size_t K = layer->query_size, here = step->first + row, columns = value_columns(layer);
    const span seen = extent_span(&layer->extent, &work->extent, here, S);
    const size_t count = seen.end - seen.begin, query = (j * work->rows + here) * K;
    const size_t keys = (j * work->tokens + start + seen.begin) * K;
    real *dalpha = work->scratch + row * 3 * work->longest;
    real *alpha = dalpha + work->longest, *denergies = alpha + work->longest;
    weights_backward(dalpha + seen.begin, step->context + row * step->context_stride + j * layer->value_size,
                     work->values + (start + seen.begin) * columns + j * layer->value_size, columns, count,
                     layer->value_size);
    coverage_backward(layer, work, dalpha, start, seen);
    memcpy(alpha, work->weights + (j * work->rows + here) * work->longest, S * sizeof *alpha);
    extent_favour_backward(&layer->extent, &work->extent, dalpha, alpha, here, seen, S);
    memset(denergies, 0, count * sizeof *denergies);
    softmax_backward(denergies, dalpha + seen.begin, alpha + seen.begin, count);
    memset(work->dquery + query, 0, K * sizeof *work->dquery);
    head->score->energies_backward(head, step->theta, work->dquery + query, work->dkeys + keys,
                                   work->down + (j * work->sentences + sentence) * layer->own_size, denergies,
                                   work->query + query, work->keys + keys, count);
}

static void read_rows_backward(void *context, size_t begin, size_t end)
{
    const reading *step = context;
    for (size_t row = begin; row < end; row++) {
        for (size_t j = 0; j < step->layer->head_count; j++) {
            if (step->layer->head[j].score->energies_backward != NULL) {
                read_head_backward(step, j, row);
            }
        }
    }
}

void attention_backward_read(const attention *layer, const weights_view *theta, attention_workspace *work,
                             const real *dcontext, size_t stride, size_t first, size_t rows)
{
    const size_t A = value_columns(layer);
    reading step = {layer, theta->block, work, first, (real *)dcontext, stride};
    if (layer->projected) {
        step.context = work->djoined + first * A;
        step.context_stride = A;
        memset(step.context, 0, rows * A * sizeof *step.context);
        projection_backward_input(&layer->output, theta, step.context, A, dcontext, stride, rows);
    }
    parallel_for(rows, 1, read_rows_backward, &step);
}

void attention_backward_ask(const attention *layer, const weights_view *theta, attention_workspace *work, real *ds,
                            size_t stride, size_t first, size_t rows)
{
    const size_t K = layer->query_size, A = value_columns(layer);
    real *dprojected = layer->projected ? work->dprojected_query + first * A : ds;
    const size_t dstride = layer->projected ? A : stride;
    if (work->unasked) {
        return;
    }
    if (layer->projected) {
        memset(dprojected, 0, rows * A * sizeof *dprojected);
    }
    for (size_t j = 0; j < layer->head_count; j++) {
        projection_backward_input(&layer->head[j].query, theta, dprojected + head_column(layer, j), dstride,
                                  work->dquery + (j * work->rows + first) * K, K, rows);
    }
    if (layer->projected) {
        projection_backward_input(&layer->query, theta, ds, stride, dprojected, A, rows);
    }
    extent_backward(&layer->extent, theta, &work->extent, ds, stride, first, rows);
}

/* ---- backward: all steps -------------------------------------------------------------------------------------------
 */

/* dh_i += alpha_i dc */
static SIMD_CLONES void weighted_sum_backward(real *restrict dh, const real *restrict alpha,
                                              const real *restrict dcontext, size_t stride, size_t S, size_t C)
{
    for (size_t i = 0; i < S; i++) {
        SIMD_LOOP
        for (size_t j = 0; j < C; j++) {
            dh[i * stride + j] += alpha[i] * dcontext[j];
        }
    }
}

typedef struct value_pass {
    const attention *layer;
    const attention_workspace *work;
    const sequences *target;
    const real *dcontext; /* [N, stride] */
    size_t stride;
    real *dvalues;
} value_pass;

/* Sentence by sentence: the gradient of its values stays in the cache over all its steps. */
static void value_sentences(void *context, size_t begin, size_t end)
{
    const value_pass *pass = context;
    const attention *layer = pass->layer;
    const attention_workspace *work = pass->work;
    const size_t columns = value_columns(layer);
    for (size_t row = begin; row < end; row++) {
        const size_t start = work->start[work->sentence[row]], S = work->length[work->sentence[row]];
        for (size_t t = 0; t < pass->target->length[row]; t++) {
            const size_t here = pass->target->offset[t] + row;
            const span seen = extent_span(&layer->extent, &work->extent, here, S);
            for (size_t j = 0; j < layer->head_count; j++) {
                weighted_sum_backward(pass->dvalues + (start + seen.begin) * columns + j * layer->value_size,
                                      work->weights + (j * work->rows + here) * work->longest + seen.begin,
                                      pass->dcontext + here * pass->stride + j * layer->value_size, columns,
                                      seen.end - seen.begin, layer->value_size);
            }
        }
    }
}

void attention_backward_values(const attention *layer, const weights_view *theta, real *dtheta, real *dannotations,
                               attention_workspace *work, const real *dcontext, size_t stride, const sequences *target)
{
    const size_t M = work->tokens, C = layer->annotation, A = value_columns(layer);
    value_pass pass = {layer, work, target, dcontext, stride, dannotations};
    if (!layer->projected) {
        parallel_for(target->count, 1, value_sentences, &pass);
        return;
    }
    projection_backward_weights(&layer->output, dtheta, dcontext, stride, work->joined, A, work->rows);
    pass = (value_pass){layer, work, target, work->djoined, A, work->dprojected_values};
    memset(pass.dvalues, 0, M * A * sizeof *pass.dvalues);
    parallel_for(target->count, 1, value_sentences, &pass);
    projection_backward_weights(&layer->value, dtheta, pass.dvalues, A, work->annotations, C, M);
    projection_backward_input(&layer->value, theta, dannotations, C, pass.dvalues, A, M);
}

/* One head's score: its parameters, and the gradient at what it compared, dcompared[M, stride]. */
static void head_backward(const attention_head *head, const weights_view *theta, real *dtheta, real *dcompared,
                          const real *compared, size_t compared_stride, const attention_workspace *work, const real *s,
                          size_t stride)
{
    const size_t K = head->query.out, j = head->index, M = work->tokens;
    const real *dkeys = work->dkeys + j * M * K;
    projection_backward_weights(&head->query, dtheta, work->dquery + j * work->rows * K, K, s, stride, work->rows);
    projection_backward_weights(&head->key, dtheta, dkeys, K, compared, compared_stride, M);
    projection_backward_input(&head->key, theta, dcompared, compared_stride, dkeys, K, M);
    for (size_t i = 0; i < work->sentences * head->own_size; i++) {
        dtheta[head->own + i % head->own_size] += work->down[j * work->sentences * head->own_size + i];
    }
}

void attention_backward_scores(const attention *layer, const weights_view *theta, real *dtheta, real *dannotations,
                               attention_workspace *work, const real *s, size_t stride)
{
    const size_t M = work->tokens, C = layer->annotation, A = value_columns(layer);
    extent_backward_weights(&layer->extent, dtheta, &work->extent, s, stride, work->rows);
    if (!layer->projected) {
        for (size_t j = 0; j < layer->head_count; j++) {
            head_backward(&layer->head[j], theta, dtheta, dannotations, work->annotations, C, work, s, stride);
        }
        return;
    }
    memset(work->dprojected_keys, 0, M * A * sizeof *work->dprojected_keys);
    for (size_t j = 0; j < layer->head_count; j++) {
        const size_t column = head_column(layer, j);
        head_backward(&layer->head[j], theta, dtheta, work->dprojected_keys + column, work->projected_keys + column, A,
                      work, work->projected_query + column, A);
    }
    projection_backward_weights(&layer->query, dtheta, work->dprojected_query, A, s, stride, work->rows);
    projection_backward_weights(&layer->key, dtheta, work->dprojected_keys, A, work->annotations, C, M);
    projection_backward_input(&layer->key, theta, dannotations, C, work->dprojected_keys, A, M);
}
