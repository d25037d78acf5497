/*
 * Bidirectional GRU encoder: annotation h_i = [h_i-> ; h_i<-], [2H] (Bahdanau, Cho and Bengio 2015, section 3.2). The
 * backward direction starts at each sentence's own last token.
 *
 * Further layers read [h_i-> ; h_i<-] of the layer below and give as much, with residual connections its sum with what
 * they read (He et al. 2016; Wu et al. 2016). Annotations are what the last one gives.
 *
 * The recurrence runs over packed steps (data/batch.h); annotations come out one sentence behind the other, in the
 * packed order of the sentences, as attention reads them.
 */
#ifndef MODEL_ENCODER_H
#define MODEL_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "data/batch.h"
#include "layers/gru.h"
#include "layers/lookup.h"
#include "layers/parameters.h"

enum { FORWARD = 0, BACKWARD = 1, DIRECTIONS = 2, ENCODER_LAYERS_MAX = 8 };

typedef struct encoder_options {
    size_t vocabulary, embedding_size, hidden; /* V, E, H */
    gru_kind cell;
    size_t layers;
    bool residual; /* each layer from the second on adds its input to its output */
    double dropout_embedding, dropout_word, dropout_annotation; /* rates, in training */
} encoder_options;

typedef struct encoder {
    encoder_options options;
    size_t embedding; /* offset: [V,E] */
    gru direction[ENCODER_LAYERS_MAX][DIRECTIONS];
} encoder;

void encoder_declare(encoder *layer, parameter_table *table, const encoder_options *options);

/* One direction's arrays; N source tokens, B sentences. */
typedef struct encoder_direction_workspace {
    gru_trace trace;       /* [N, ...] */
    real *state;           /* [N,H] h after each step, packed */
    real *scratch;         /* [B,3H] */
    gru_gradient gradient; /* [N,3H] each */
    real *carry;           /* [B,H] gradient on its way to the step before */
} encoder_direction_workspace;

typedef struct encoder_layer_workspace {
    real *input; /* [N,I] packed: what the layer below gives; of the first, [U,E] the words' embeddings */
    encoder_direction_workspace direction[DIRECTIONS];
    real *dinput; /* [N,I] or [U,E] */
} encoder_layer_workspace;

typedef struct encoder_workspace {
    lookup words; /* of the source */
    encoder_layer_workspace layer[ENCODER_LAYERS_MAX];
    real *annotations;                                /* [N,2H] sentence behind sentence */
    uint32_t *start;                                  /* [B] first row of each sentence there */
    real *embedding_mask, *annotation_mask;           /* [N,E] [N,2H] of dropout, or NULL */
    uint64_t embedding_key, word_key, annotation_key; /* of the masks, set between layout and forward */
    real *dannotations;                               /* [N,2H] */
} encoder_workspace;

void encoder_layout(const encoder *layer, encoder_workspace *work, arena *space, const sequences *source,
                    int with_gradient);

/* Fills work->annotations and work->start. */
/* `theta` has room for inputs of as many rows as there are tokens, and twice as many as sentences. */
void encoder_forward(const encoder *layer, const weights_view *theta, encoder_workspace *work, const sequences *source);

/* From work->dannotations, adds to dtheta. */
void encoder_backward(const encoder *layer, const weights_view *theta, real *dtheta, encoder_workspace *work,
                      const sequences *source);

#endif
