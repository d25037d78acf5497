/*
 * Attention over the annotations of a sentence (Bahdanau, Cho and Bengio 2015, section 3.1 and A.1.2):
 *
 *   e_i = score(s, h_i)      alpha = softmax(e)      c = sum_i alpha_i h_i
 *
 * What tells one attention from another is its score, a row of a table (layers/score.h); its extent, which says what
 * positions a step sees (layers/extent.h); and its heads. Several heads (Vaswani et al. 2017, section 3.2.2) each see
 * states, annotations and values through projections of their own; what they read is joined and projected back:
 *
 *   head j: c^j = sum_i alpha^j_i V^j h_i, alpha^j from score(Q^j s, K^j h_i)      c = O [c^1 ; ... ; c^n]
 *
 * All arrays are packed: target rows as data/batch.h lays them out, source tokens one sentence behind the other.
 *
 * Backward has two paths that know nothing of each other, and add up to the gradient:
 *   Value path   through the sum:     dh_i += alpha_i dc
 *   Score path   through the weights: dalpha_i = h_i . dc, the softmax Jacobian, the score, its queries and keys
 */
#ifndef LAYERS_ATTENTION_H
#define LAYERS_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "data/batch.h"
#include "layers/extent.h"
#include "layers/parameters.h"
#include "layers/projection.h"
#include "layers/score.h"

typedef struct attention_options {
    const attention_score *score;
    size_t state, annotation; /* D, C = 2H */
    size_t size;              /* A: of the score; of all heads together */
    size_t heads;             /* 1: the score sees states and annotations themselves; else a divisor of A */
    extent_kind extent;
    size_t window;
} attention_options;

typedef struct attention {
    size_t state, annotation; /* D, C */
    size_t head_count;
    attention_head head[ATTENTION_HEADS_MAX];
    size_t query_size, own_size; /* K of each head; its own parameters */
    size_t value_size;           /* columns of the values that each head sums */
    bool projected;
    projection query, key, value, output; /* where projected: [A,D] [A,C] [A,C] [C,A] */
    extent extent;
} attention;

void attention_declare(attention *layer, parameter_table *table, const attention_options *options);

/* Arrays for N target rows of which at most B at a time, over B sentences with M source tokens, the longest of S. */
typedef struct attention_workspace {
    size_t rows, tokens, sentences; /* N, M, B */
    size_t longest;                 /* S */
    const uint32_t *start, *length; /* [B] first row of a sentence, its tokens */
    uint32_t *sentence;             /* [B] the sentence that row i of a step reads: the caller's to set */
    uint32_t *step; /* [B] the step that row i is at, from 0: attention_at_step, or the caller's to set */

    const real *annotations;                 /* [M,C] */
    const real *values;                      /* [M,C], or [M,A] where projected */
    real *projected_keys, *projected_values; /* [M,A] each, where projected */
    real *keys;                              /* [heads,M,K] */
    real *projected_query;                   /* [N,A], where projected */
    real *query;                             /* [heads,N,K] */
    real *weights;                           /* [heads,N,S] */
    real *alpha;                             /* [N,S] their mean, 0 behind a sentence's end: what is reported */
    real *joined;                            /* [N,A] what the heads read, where projected */
    extent_workspace extent;

    bool unasked;                              /* attention_backward_ask adds nothing: the caller's to set */
    const real *dcoverage;                     /* [M] gradient at every alpha of a source token, or NULL */
    real *djoined, *dprojected_query;          /* [N,A] each */
    real *dprojected_keys, *dprojected_values; /* [M,A] each */
    real *dquery, *dkeys;                      /* as query and keys */
    real *down;                                /* [heads,B,own] of the heads' own parameters */
    real *scratch;                             /* [B,3S] */
} attention_workspace;

void attention_layout(const attention *layer, attention_workspace *work, arena *space, const sequences *source,
                      size_t rows, size_t width, bool with_gradient);

/* Keys and values, once a sentence. `annotations`[M,C] and `start` as model/encoder.h has them. */
void attention_prepare(const attention *layer, const weights_view *theta, attention_workspace *work,
                       const sequences *source, const real *annotations, const uint32_t *start);

/* What is asked by rows first .. first+rows-1, whose states are s[rows, stride]. */
void attention_ask(const attention *layer, const weights_view *theta, attention_workspace *work, const real *s,
                   size_t stride, size_t first, size_t rows);

/* The next rows read are all at step t. */
void attention_at_step(attention_workspace *work, size_t t, size_t rows);

/* Alpha and context[rows, stride] of a step, whose rows start at `first`. */
void attention_read(const attention *layer, const weights_view *theta, attention_workspace *work, real *context,
                    size_t stride, size_t first, size_t rows);

/* The scores e[S] of a row that was read. False, and nothing is written, where several heads or a window stand between
 * them and alpha. */
bool attention_energies(const attention *layer, const real *theta, const attention_workspace *work, real *e,
                        size_t row);

/* ---- backward: once begin; each step read, each row ask; then the paths, whichever are wanted ----------------------
 */

void attention_backward_begin(const attention *layer, attention_workspace *work);

/* Score path of one step, from dcontext[rows, stride] down to queries and keys. */
void attention_backward_read(const attention *layer, const weights_view *theta, attention_workspace *work,
                             const real *dcontext, size_t stride, size_t first, size_t rows);

/* Score path from queries to the states that asked: ds[rows, stride], adding. */
void attention_backward_ask(const attention *layer, const weights_view *theta, attention_workspace *work, real *ds,
                            size_t stride, size_t first, size_t rows);

/* Value path of all steps: adds to dtheta and to dannotations[M,C] from dcontext[N, stride]. */
void attention_backward_values(const attention *layer, const weights_view *theta, real *dtheta, real *dannotations,
                               attention_workspace *work, const real *dcontext, size_t stride, const sequences *target);

/* Score path from keys to annotations, and its parameters, over all rows, whose states are s[N, stride]. */
void attention_backward_scores(const attention *layer, const weights_view *theta, real *dtheta, real *dannotations,
                               attention_workspace *work, const real *s, size_t stride);

#endif
