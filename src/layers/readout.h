/*
 * From the features of a target position, f = [s ; c ; E y], to the loss over the vocabulary:
 *
 *   linear   logits = W_o f + b_o
 *   tanh     logits = W_o tanh(W_t f + b_t) + b_o
 *   maxout   logits = W_o max_pairs(W_t f) + b_o        (Bahdanau et al. 2015, A.2.2; W_t is [U_o C_o V_o] side by
 * side)
 *
 * With layer normalisation (Ba, Kiros and Hinton 2016) W_t f is normalised, and multiplied by a gain, before b_t;
 * maxout then has a b_t as well.
 *
 * Logits of all positions of a batch would be the largest array of all. So loss and gradient go through the vocabulary
 * a tile of positions at a time, forward and backward in one visit, and memory stays bounded.
 */
#ifndef LAYERS_READOUT_H
#define LAYERS_READOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"
#include "layers/parameters.h"
#include "layers/weights.h"

typedef enum readout_kind { READOUT_KIND_LINEAR, READOUT_KIND_TANH, READOUT_KIND_MAXOUT } readout_kind;

typedef struct readout {
    readout_kind kind;
    size_t features, units, vocabulary;             /* F; R: inputs of W_o; V */
    size_t hidden_weight, hidden_bias, hidden_gain; /* offsets: [R or 2R, F], [..], [..] */
    bool normalized;                                /* layer normalisation of the hidden layer before its activation */
    size_t weight, bias;                            /* [V,R] [V] */
    double dropout;                                 /* of what W_o reads, in training */
} readout;

/* `tied` is the offset of a [V,R] matrix that serves as W_o as well (Press and Wolf 2017), or READOUT_UNTIED. */
#define READOUT_UNTIED SIZE_MAX
void readout_declare(readout *layer, parameter_table *table, readout_kind kind, size_t features, size_t units,
                     size_t vocabulary, bool normalized, size_t tied);

typedef struct readout_workspace {
    real *hidden;           /* [N, R or 2R] before maxout, after tanh */
    real *normal, *inverse; /* [N, R or 2R] [N] of layer normalisation, in training */
    real *largest;          /* [N,R] after maxout */
    real *output;           /* [N,R] what W_o reads; the features themselves when linear; set anew by each forward */
    size_t output_stride;
    real *mask;               /* [N,R] of dropout, or NULL */
    real *dropped;            /* [N,R] output after dropout */
    uint64_t key;             /* of the mask, set between layout and loss */
    real *doutput;            /* [N,R] */
    real *dhidden, *dproduct; /* [N, R or 2R] before the activation; before layer normalisation, or the same */
    real *logits;             /* [tile, V] */
    size_t tile;
    double *nats, *objective; /* [N] */
} readout_workspace;

/* Lays out what `rows` positions need; with gradient, what backward needs too. */
void readout_layout(const readout *layer, readout_workspace *work, arena *space, size_t rows, int with_gradient);

/* logits[rows,V] of features[rows, stride]; `work` laid out for as many rows. */
void readout_logits(const readout *layer, const weights_view *theta, real *logits, const real *features, size_t stride,
                    readout_workspace *work, size_t rows);

typedef struct readout_sums {
    double nats, objective; /* summed over rows; objective is with label smoothing */
} readout_sums;

/*
 * Sums the loss over `rows` positions. Where dtheta is not NULL, adds scale times the gradient of the objective to it
 * and to dfeatures[rows, stride].
 */
readout_sums readout_loss(const readout *layer, const real *theta, real *dtheta, real *dfeatures, const real *features,
                          size_t stride, const int32_t *target, double smoothing, real scale, readout_workspace *work,
                          size_t rows);

#endif
