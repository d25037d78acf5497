/*
 * Scores: how well the state that asks fits an annotation, e_i = score(s, h_i). The table of scores is all that tells
 * one attention from another; a row is a file score_<name>.c and its line in scores.h.
 *
 * A score works on a query q, made of s once a step, and keys k_i, made of the annotations once a sentence. Making them
 * is a projection or a copy, which a row declares and attention.c carries out; so a row is its parameters and one
 * function of q and k with its gradient.
 */
#ifndef LAYERS_SCORE_H
#define LAYERS_SCORE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/real.h"
#include "layers/parameters.h"
#include "layers/projection.h"

enum { ATTENTION_HEADS_MAX = 32 };

typedef struct attention_head attention_head;

typedef struct attention_score {
    const char *name;
    bool equal_sizes; /* s and h must be of one size */
    bool of_halves;   /* one head for the forward half of the annotations, one for the backward half */

    /* Adds the parameters, under names that start with `prefix`, and sets what of a head is the score's to say. */
    void (*declare)(attention_head *head, parameter_table *table, const char *prefix);

    /* e[S] of one query q[K] over the keys k[S,K] of one sentence. */
    void (*energies)(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S);
    /* Adds to dq[K], dk[S,K] and down[own_size]; NULL: nothing learns from its energies. */
    void (*energies_backward)(const attention_head *head, const real *theta, real *dq, real *dk, real *down,
                              const real *de, const real *q, const real *k, size_t S);
} attention_score;

/* One reading of the annotations: a score with its parameters. */
struct attention_head {
    const attention_score *score;
    size_t index;                   /* among the heads of the attention */
    size_t state, annotation, size; /* D, C, A: what the score may shape its parameters by */

    /* Set by the score. */
    projection query, key; /* of s, of h; both to the same size K */
    size_t own, own_size;  /* parameters besides the projections, as v_a: offset, how many */
    real scale;            /* of products */
};

/* The row of that name, or NULL. */
const attention_score *attention_score_find(const char *name);

/* A tensor "<prefix>.<name>". */
size_t score_tensor(parameter_table *table, const char *prefix, const char *name, size_t rows, size_t columns,
                    tensor_init init);

/* W of its own; no bias. */
projection score_projection(parameter_table *table, const char *prefix, const char *name, size_t in, size_t out);

#endif
