/*
 * Attention over the annotations of a sentence (Bahdanau, Cho and Bengio 2015, section 3.1 and A.1.2):
 *
 *   e_i = score(s, h_i)      alpha = softmax(e)      c = sum_i alpha_i h_i
 *
 * What tells one attention from another is its score, and scores are rows of a table. A score works on queries (made
 * from the decoder's state, once a step) and keys (made from the annotations, once a sentence).
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

#include "core/real.h"
#include "layers/parameters.h"

typedef struct attention attention;

/* One row of the table of scores. Gradient functions add. */
typedef struct attention_score {
    const char *name;

    /* Adds the score's parameters to the table and sets the layer's offsets and `size`. */
    void (*declare)(attention *layer, parameter_table *table);

    /* keys[rows,A] from annotations[rows,C]. */
    void (*keys)(const attention *layer, const real *theta, real *keys, const real *annotations, size_t rows);
    void (*keys_backward)(const attention *layer, const real *theta, real *dtheta, real *dannotations,
                          const real *dkeys, const real *annotations, size_t rows);

    /* query[rows,A] from s[rows,D]. */
    void (*query)(const attention *layer, const real *theta, real *query, const real *s, size_t stride, size_t rows);
    void (*query_backward)(const attention *layer, const real *theta, real *ds, const real *dquery, size_t rows);
    /* The query's own parameters, over all rows of a batch at once. */
    void (*query_weights)(const attention *layer, real *dtheta, const real *dquery, const real *s, size_t stride,
                          size_t rows);

    /* energies[S] of one query over the keys[S,A] of one sentence. */
    void (*energies)(const attention *layer, const real *theta, real *energies, const real *query, const real *keys,
                     size_t S);
    /* dvector[A] takes the gradient of what the score keeps besides its matrices, one row a sentence; see `vector`. */
    void (*energies_backward)(const attention *layer, const real *theta, real *dquery, real *dkeys, real *dvector,
                              const real *denergies, const real *query, const real *keys, size_t S);
} attention_score;

struct attention {
    const attention_score *score;
    size_t state;      /* D */
    size_t annotation; /* C = 2H */
    size_t size;       /* A, of queries and keys */
    size_t query_weight, query_bias, key_weight; /* offsets: [A,D] [A] [A,C] */
    size_t vector, vector_size; /* offset, and A or 0: what the score keeps besides its matrices, as v_a */
};

/* The row of that name, or NULL; and all names for a message: "additive, dot". */
const attention_score *attention_score_find(const char *name);
const char *attention_score_names(void);

void attention_declare(attention *layer, parameter_table *table, const attention_score *score, size_t state,
                       size_t annotation, size_t size);

/* The annotations of a batch, one sentence behind the other. */
typedef struct attention_memory {
    const real *annotations; /* [tokens,C] */
    const real *keys;        /* [tokens,A] */
    const uint32_t *start;   /* [sentences] first row */
    const uint32_t *length;  /* [sentences] S */
    size_t longest;          /* largest S */
} attention_memory;

/*
 * One step for `rows` queries: row i reads sentence sentence[i]. alpha[rows,longest] gets the weights, 0 behind a
 * sentence's end; context[rows, stride] gets c.
 */
void attention_forward(const attention *layer, const real *theta, real *alpha, real *context, size_t stride,
                       const real *query, const attention_memory *memory, const uint32_t *sentence, size_t rows);

/* Value path: dannotations[tokens,C] += alpha_i dc, for `rows` reads. Rows may read the same sentence. */
void attention_backward_value(const attention *layer, real *dannotations, const real *alpha, const real *dcontext,
                              const attention_memory *memory, const uint32_t *sentence, size_t rows);

/*
 * Score path of one step down to queries and keys: dquery[rows,A] is overwritten, dkeys[tokens,A] and
 * dvector[sentences,A] are added to. No two rows may read the same sentence. `scratch` holds [rows, 2 longest].
 */
void attention_backward_score(const attention *layer, const real *theta, real *dquery, real *dkeys, real *dvector,
                              const real *alpha, const real *dcontext, const real *query,
                              const attention_memory *memory, const uint32_t *sentence, size_t rows, real *scratch);

#endif
