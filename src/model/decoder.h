/*
 * Attentive GRU decoder in Bahdanau's order: attend with s_{t-1}, then update (Bahdanau, Cho and Bengio 2015, A.2.2):
 *
 *   s_0 = tanh(W_init h_1<- + b_init)        or from the mean of the annotations, or 0
 *   c_t = attention(s_{t-1})
 *   s_t = GRU([E y_{t-1} ; c_t], s_{t-1})
 *   features of the readout: [s_t or s_{t-1} ; c_t ; E y_{t-1}]
 *
 * All rows are packed as the target is (data/batch.h). The features of a batch lie in one matrix, and c (and s, and
 * E y) are computed in place in its columns, so that nothing is copied together for the readout.
 */
#ifndef MODEL_DECODER_H
#define MODEL_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "data/batch.h"
#include "layers/attention.h"
#include "layers/gru.h"
#include "layers/parameters.h"
#include "layers/readout.h"

typedef enum decoder_start { START_BACKWARD, START_MEAN, START_ZERO } decoder_start;

typedef struct decoder_options {
    size_t vocabulary, embedding_size, hidden, annotation; /* V, E, D, C = 2H */
    gru_reset reset;
    decoder_start start;
    const attention_score *score;
    size_t attention_size;
    readout_kind readout;
    size_t readout_units;
    bool readout_embedding;      /* E y among the features */
    bool readout_previous_state; /* s_{t-1} among the features instead of s_t */
    bool tied;                   /* E serves as the readout's output matrix as well */
    double dropout_embedding, dropout_readout; /* rates, in training */
} decoder_options;

typedef struct decoder {
    decoder_options options;
    size_t initial_weight, initial_bias; /* offsets: [D,H] or [D,2H]; [D] */
    size_t embedding;                    /* [V,E] */
    attention attention;
    gru cell; /* input [E y ; c] */
    readout readout;
} decoder;

void decoder_declare(decoder *layer, parameter_table *table, const decoder_options *options);

/*
 * Ways by which gradient reaches the annotations: through the sum that makes c (Value path), through the weights of
 * that sum (Score path). What comes through s_0 comes with each of these, and alone with PATH_NONE; so beyond it, the
 * shares of PATH_VALUE and PATH_SCORE add up to that of PATH_BOTH.
 */
typedef enum attention_paths { PATH_NONE = 0, PATH_VALUE = 1, PATH_SCORE = 2, PATH_BOTH = 3 } attention_paths;

/* A column range of a matrix: row i starts at data + i * stride. */
typedef struct columns {
    real *data;
    size_t stride;
} columns;

/* Arrays for N rows of which at most B at a time, over B sentences with M source tokens, the longest of S. */
typedef struct decoder_workspace {
    attention_memory memory;
    real *keys; /* [M,A] */

    real *features;                         /* [N,F] */
    columns state, context, embedded;       /* [N,D] [N,C] [N,E], in the features where they are part of them */
    real *initial;                          /* [B,D] s_0, in packed order of the source */
    real *summary;                          /* [B,C] mean of the annotations, where s_0 comes from it */
    gru_trace trace;                        /* [N, ...]; trace.previous is s_{t-1} */
    real *query;                            /* [N,A] */
    real *alpha;                            /* [N,S] */
    real *scratch;                          /* [B,3D] */
    uint32_t *sentence;                     /* [B] the sentence that row i of a step reads */
    readout_workspace readout;

    real *embedding_mask;   /* [N,E] of dropout, or NULL */
    uint64_t embedding_key; /* of the mask, set between layout and forward */

    gru_gradient gradient;   /* [N,3D] each */
    real *dfeatures;         /* [N,F] */
    real *dcontext;          /* [N,C] */
    real *dembedded;         /* [N,E] */
    real *dquery;            /* [N,A] */
    real *dkeys;             /* [M,A] */
    real *dvector;           /* [B,A] */
    real *carry;             /* [B,D] gradient at the state, on its way to the step before */
    real *dinitial;          /* [B,D] */
    real *dsummary;          /* [B,C] */
    real *attention_scratch; /* [B,2S] */
} decoder_workspace;

/* `rows` N, `width` B: for training the target's tokens and sentences, for decoding the hypotheses twice. */
void decoder_layout(const decoder *layer, decoder_workspace *work, arena *space, const sequences *source, size_t rows,
                    size_t width, bool with_gradient);

/* Attention's view of the source, keys, and s_0 of every sentence. `annotations` and `start` as encoder.h has them. */
void decoder_prepare(const decoder *layer, const real *theta, decoder_workspace *work, const sequences *source,
                     const real *annotations, const uint32_t *start);

/* Teacher forcing over the whole target; fills features and alpha. */
void decoder_forward(const decoder *layer, const real *theta, decoder_workspace *work, const batch *pairs);

/*
 * From work->dfeatures, adds to dtheta and to dannotations [M,C]; `paths` says through which of attention's paths. The
 * gradients at c_t and s_{t-1} are whole, whatever it says: only so do the shares add up over more than one step.
 */
void decoder_backward(const decoder *layer, const real *theta, real *dtheta, real *dannotations,
                      decoder_workspace *work, const batch *pairs, attention_paths paths);

/*
 * One step of `rows` hypotheses for decoding: work->trace.previous [rows,D] holds their states, work->sentence whom
 * they read. Fills state, context, embedded and alpha of rows 0 .. rows-1.
 */
void decoder_step(const decoder *layer, const real *theta, decoder_workspace *work, const int32_t *previous,
                  size_t rows);

#endif
