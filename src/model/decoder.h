/*
 * Attentive GRU decoder. What is common to the orders of work: s_0, the embedded target, the cell, and the attention:
 *
 *   s_0 = tanh(W_init h_1<- + b_init)        or from the mean of the annotations, or 0
 *   s_t = GRU([E y_{t-1} ; what is fed], s_{t-1})
 *
 * The order says what is fed, which state asks, and what the readout sees; it is a row of decoder_order.h:
 *
 *   Bahdanau      attends with s_{t-1}, then updates, feeding c_t       (decoder_bahdanau.c)
 *   Luong         updates, then attends with s_t                        (decoder_luong.c)
 *   conditional   updates to s'_t, attends with it, and updates it with
 *                 a second cell, feeding c_t                            (decoder_conditional.c)
 *
 * Of several layers (decoder_stack.h) the cell is the first, with the second cell where there is one: it is fed, and
 * its state asks, as in Wu et al. 2016. What the last layer gives takes the place of s_t in the readout's features, and
 * in Luong's order asks.
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
#include "layers/columns.h"
#include "layers/gru.h"
#include "layers/lookup.h"
#include "layers/parameters.h"
#include "layers/readout.h"
#include "model/decoder_stack.h"

typedef enum decoder_start { START_BACKWARD, START_MEAN, START_ZERO } decoder_start;

typedef struct decoder_order decoder_order;
extern const decoder_order decoder_bahdanau, decoder_luong, decoder_conditional;

typedef struct decoder_options {
    size_t vocabulary, embedding_size, hidden, annotation; /* V, E, D, C = 2H */
    const decoder_order *order;
    gru_kind cell;
    size_t layers;
    bool residual;
    decoder_start start;
    attention_options attention; /* without its state and annotation, which are D and C */
    readout_kind readout;
    size_t readout_units;
    bool readout_embedding;      /* not Luong: E y among the features */
    bool readout_previous_state; /* Bahdanau: s_{t-1} among the features instead of s_t */
    bool input_feeding;          /* Luong: s~_{t-1} is fed */
    bool shared_embedding;       /* E is the source's, at offset source_embedding */
    size_t source_embedding;
    bool normalized;                        /* layer normalisation of the readout's hidden layer */
    bool tied;                              /* E serves as the readout's output matrix as well */
    double dropout_embedding, dropout_word; /* rates, in training: of E y, its numbers and whole words */
    double dropout_attention_input;         /* of the state that asks */
    double dropout_input;                   /* of what the cell is fed */
    double dropout_readout;
} decoder_options;

typedef struct decoder {
    decoder_options options;
    size_t initial_weight, initial_bias; /* offsets: [D,H] or [D,2H]; [D] */
    size_t embedding;                    /* [V,E] */
    size_t combination;                  /* Luong: W_c [D,C+D] */
    attention attention;
    size_t fed; /* columns of the cell's input behind E y */
    gru cell;
    gru second; /* conditional: reads c; of no units in the other orders */
    decoder_stack above;
    readout readout;
} decoder;

void decoder_declare(decoder *layer, parameter_table *table, const decoder_options *options);

/*
 * Ways by which gradient reaches the annotations: through the sum that makes c (Value path), through the weights of
 * that sum (Score path). What comes through s_0 comes with each of these, and alone with PATH_NONE; so beyond it, the
 * shares of PATH_VALUE and PATH_SCORE add up to that of PATH_BOTH. PATH_UNASKED is PATH_NONE where the states that
 * asked get no gradient through their queries either, so that nothing at all has passed through attention's weights.
 */
typedef enum attention_paths {
    PATH_NONE = 0,
    PATH_VALUE = 1,
    PATH_SCORE = 2,
    PATH_BOTH = 3,
    PATH_UNASKED = 4
} attention_paths;

/* Arrays for N rows of which at most B at a time, over B sentences with M source tokens. */
typedef struct decoder_workspace {
    attention_workspace attention;
    real *features;                  /* [N,F] */
    columns state, output;           /* [N,D] each: of the cell, of the last layer; of one layer the same */
    columns context, embedded;       /* [N,C] [N,E], in the features where they are part of them, as the output is */
    lookup words;                    /* of the target, as the cell reads them: */
    columns word_rows;               /* [U,E] embeddings */
    columns asking;                  /* [N,D] the states that attention is asked with */
    columns fed;                     /* [N, fed] the cell's input behind E y */
    bool feeds_features;             /* what is fed are the features of the step before */
    dropped asked;                   /* `asking` as attention sees it */
    dropped cell_embedded, cell_fed; /* `embedded` and `fed` as the cell sees them */
    dropped second_fed;              /* `context` as the second cell sees it */
    real *initial;                   /* [B,D] s_0, in packed order of the source */
    real *summary;                   /* [B,C] mean of the annotations, where s_0 comes from it */
    stack_workspace above;
    gru_trace trace;        /* [N, ...]; trace.previous is s_{t-1} */
    gru_trace second_trace; /* of the second cell; its previous is s' */
    real *scratch;          /* [B,3D] */
    readout_workspace readout;

    real *embedding_mask;             /* [N,E] of dropout, or NULL */
    uint64_t embedding_key, word_key; /* of the mask, set between layout and forward */

    gru_gradient gradient; /* [N,3D] each */
    gru_gradient second_gradient;
    real *dfeatures;                      /* [N,F] */
    columns doutput, dcontext, dembedded; /* [N,D] [N,C] [N,E]: in dfeatures where they are part of them */
    real *dword_rows;                     /* [U,E] where words are taken once */
    real *dcombination;                   /* Luong: [N,D] gradient before the tanh of s~ */
    real *carry;                          /* [B,D] gradient at the state, on its way to the step before */
    real *dinitial;                       /* [B,D] */
    real *dsummary;                       /* [B,C] */
} decoder_workspace;

/* `rows` N, `width` B: for training the target's tokens and sentences, for decoding the hypotheses twice. */
void decoder_layout(const decoder *layer, decoder_workspace *work, arena *space, const sequences *source, size_t rows,
                    size_t width, bool with_gradient);

/* Attention's view of the source, and s_0 of every sentence. `annotations` and `start` as encoder.h has them. */
void decoder_prepare(const decoder *layer, const weights_view *theta, decoder_workspace *work, const sequences *source,
                     const real *annotations, const uint32_t *start);

/* Teacher forcing over the whole target; fills features and alpha. */
void decoder_forward(const decoder *layer, const weights_view *theta, decoder_workspace *work, const batch *pairs);

/*
 * From work->dfeatures, which it changes, adds to dtheta and to dannotations [M,C]; `paths` says through which of
 * attention's paths. The gradients at c_t and the states are whole, whatever it says but PATH_UNASKED: only so do the
 * shares add up over more than one step.
 */
void decoder_backward(const decoder *layer, const weights_view *theta, real *dtheta, real *dannotations,
                      decoder_workspace *work, const batch *pairs, attention_paths paths);

/* ---- decoding ------------------------------------------------------------------------------------------------------
 */

/* Hypotheses first .. first+rows-1 stand before their first token; work->attention.sentence says whom they read. */
void decoder_begin(const decoder *layer, decoder_workspace *work, size_t first, size_t rows);

/* One step of all hypotheses. Fills features and attention.alpha of rows 0 .. rows-1. */
void decoder_step(const decoder *layer, const weights_view *theta, decoder_workspace *work, const int32_t *previous,
                  size_t rows);

/* Hypothesis i goes on as what hypothesis parents[i] became; sentence and step of work->attention are the caller's to
 * set. */
void decoder_reorder(const decoder *layer, decoder_workspace *work, const size_t *parents, size_t count);

#endif
