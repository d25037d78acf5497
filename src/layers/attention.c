#include "layers/attention.h"

#include <string.h>

#include "core/parallel.h"
#include "core/simd.h"
#include "layers/scores.h"
#include "ops/softmax.h"

/* Adding a score: a file score_<name>.c with its row, its declaration in scores.h, and the row here. */
static const attention_score *const scores[] = {&score_additive};
static const char score_names[] = "additive";

const attention_score *attention_score_find(const char *name)
{
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
        if (strcmp(scores[i]->name, name) == 0) {
            return scores[i];
        }
    }
    return NULL;
}

const char *attention_score_names(void)
{
    return score_names;
}

void attention_declare(attention *layer, parameter_table *table, const attention_score *score, size_t state,
                       size_t annotation, size_t size)
{
    *layer = (attention){.score = score, .state = state, .annotation = annotation, .size = size};
    score->declare(layer, table);
}

typedef struct attention_step {
    const attention *layer;
    const real *theta;
    const attention_memory *memory;
    const uint32_t *sentence;
    const real *query;
    real *alpha, *context; /* written in forward, read in backward (context: its gradient) */
    size_t stride;         /* of context */
    real *dquery, *dkeys, *dvector, *scratch;
} attention_step;

/* c = sum_i alpha_i h_i */
static SIMD_CLONES void weighted_sum(real *restrict context, const real *restrict alpha, const real *restrict h,
                                     size_t S, size_t C)
{
    memset(context, 0, C * sizeof *context);
    for (size_t i = 0; i < S; i++) {
        SIMD_LOOP
        for (size_t j = 0; j < C; j++) {
            context[j] += alpha[i] * h[i * C + j];
        }
    }
}

/* dalpha_i = h_i . dc */
static SIMD_CLONES void weights_backward(real *restrict dalpha, const real *restrict dcontext, const real *restrict h,
                                         size_t S, size_t C)
{
    for (size_t i = 0; i < S; i++) {
        real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (size_t j = 0; j < C; j++)
        {
            sum += h[i * C + j] * dcontext[j];
        }
        dalpha[i] = sum;
    }
}

static void forward_rows(void *context, size_t begin, size_t end)
{
    const attention_step *step = context;
    const attention *layer = step->layer;
    const attention_memory *memory = step->memory;
    for (size_t row = begin; row < end; row++) {
        const size_t start = memory->start[step->sentence[row]], S = memory->length[step->sentence[row]];
        real *alpha = step->alpha + row * memory->longest;
        layer->score->energies(layer, step->theta, alpha, step->query + row * layer->size,
                               memory->keys + start * layer->size, S);
        softmax_forward(alpha, alpha, S, memory->longest);
        weighted_sum(step->context + row * step->stride, alpha, memory->annotations + start * layer->annotation, S,
                     layer->annotation);
    }
}

void attention_forward(const attention *layer, const real *theta, real *alpha, real *context, size_t stride,
                       const real *query, const attention_memory *memory, const uint32_t *sentence, size_t rows)
{
    attention_step step = {.layer = layer,
                           .theta = theta,
                           .memory = memory,
                           .sentence = sentence,
                           .query = query,
                           .alpha = alpha,
                           .context = context,
                           .stride = stride};
    parallel_for(rows, 1, forward_rows, &step);
}

/* dh_i += alpha_i dc */
static SIMD_CLONES void weighted_sum_backward(real *restrict dh, const real *restrict alpha,
                                              const real *restrict dcontext, size_t S, size_t C)
{
    for (size_t i = 0; i < S; i++) {
        SIMD_LOOP
        for (size_t j = 0; j < C; j++) {
            dh[i * C + j] += alpha[i] * dcontext[j];
        }
    }
}

void attention_backward_value(const attention *layer, real *dannotations, const real *alpha, const real *dcontext,
                              const attention_memory *memory, const uint32_t *sentence, size_t rows)
{
    const size_t C = layer->annotation;
    for (size_t row = 0; row < rows; row++) {
        weighted_sum_backward(dannotations + memory->start[sentence[row]] * C, alpha + row * memory->longest,
                              dcontext + row * C, memory->length[sentence[row]], C);
    }
}

static void backward_score_rows(void *context, size_t begin, size_t end)
{
    const attention_step *step = context;
    const attention *layer = step->layer;
    const attention_memory *memory = step->memory;
    const size_t A = layer->size, C = layer->annotation;
    for (size_t row = begin; row < end; row++) {
        const size_t sentence = step->sentence[row];
        const size_t start = memory->start[sentence], S = memory->length[sentence];
        real *dalpha = step->scratch + row * 2 * memory->longest;
        real *denergies = dalpha + memory->longest;
        real *dquery = step->dquery + row * A;
        weights_backward(dalpha, step->context + row * C, memory->annotations + start * C, S, C);
        memset(denergies, 0, S * sizeof *denergies);
        softmax_backward(denergies, dalpha, step->alpha + row * memory->longest, S);
        memset(dquery, 0, A * sizeof *dquery);
        layer->score->energies_backward(layer, step->theta, dquery, step->dkeys + start * A,
                                        step->dvector + sentence * A, denergies, step->query + row * A,
                                        memory->keys + start * A, S);
    }
}

void attention_backward_score(const attention *layer, const real *theta, real *dquery, real *dkeys, real *dvector,
                              const real *alpha, const real *dcontext, const real *query,
                              const attention_memory *memory, const uint32_t *sentence, size_t rows, real *scratch)
{
    attention_step step = {.layer = layer,
                           .theta = theta,
                           .memory = memory,
                           .sentence = sentence,
                           .query = query,
                           .alpha = (real *)alpha,
                           .context = (real *)dcontext,
                           .dquery = dquery,
                           .dkeys = dkeys,
                           .dvector = dvector,
                           .scratch = scratch};
    parallel_for(rows, 1, backward_score_rows, &step);
}
