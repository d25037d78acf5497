/*
 * What a translation model is to the rest of the program. Search, alignment, scoring and the trainer see only this
 * interface; another architecture is another file behind it.
 *
 *   training:   model_loss_and_gradient
 *   decoding:   model_start -> (model_step [-> model_observe] -> model_reorder [-> model_join])* -> model_finish
 *   aligning:   model_align
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nmt/model.h>

#include "core/error.h"
#include "core/json.h"
#include "core/real.h"
#include "data/batch.h"
#include "data/segmenter.h"
#include "data/vocabulary.h"
#include "layers/parameters.h"
#include "layers/weights.h"
#include "model/config.h"

typedef struct model_interface model_interface;

/* The state of hypotheses being extended together: an architecture's own state starts with this. */
typedef struct decoding {
    const model_interface *interface;
} decoding;

/* What the last step of the first hypothesis did inside. */
typedef struct model_observation {
    double state_norm, context_norm; /* of the state that asked, of c */
    real *energies; /* in: [S] where to write the scores; out: NULL where no single score made the weights */
} model_observation;

/* Loss of a batch, summed over its target tokens. */
typedef struct batch_loss {
    double nats;      /* -sum log p of the true tokens */
    double objective; /* what the gradient is of: the same, with label smoothing in training */
    size_t tokens;    /* target tokens with `</s>` */
} batch_loss;

/* One architecture; each function as its namesake below says. */
struct model_interface {
    const char *name;
    nmt_status (*loss)(nmt_model *model, const batch *pairs, real *gradient, real scale, uint64_t update,
                       batch_loss *loss, nmt_error *error);
    nmt_status (*start)(nmt_model *model, const sequences *sources, size_t width, decoding **state, nmt_error *error);
    nmt_status (*join)(decoding *state, const size_t *sentences, size_t count, nmt_error *error);
    nmt_status (*step)(decoding *state, const int32_t *previous, const real **logits, const real **alpha,
                       nmt_error *error);
    nmt_status (*reorder)(decoding *state, const size_t *parents, size_t count, nmt_error *error);
    nmt_status (*align)(nmt_model *model, const batch *pairs, real *alpha, nmt_error *error);
    nmt_status (*quantize)(nmt_model *model, nmt_error *error);      /* as nmt_model_quantize, the first time */
    void (*observe)(const decoding *state, model_observation *seen); /* NULL: there is no one state */
    void (*finish)(decoding *state);
    void (*free_architecture)(void *architecture);
};

struct nmt_model {
    const model_interface *interface;
    nmt_config *config;
    vocabulary *source_words, *target_words; /* separate objects even when shared */
    segmenters segmenters;                   /* restricted to the vocabularies */
    parameter_table parameters;
    real *block;                  /* [parameters.size] */
    weights_quantized *quantized; /* what decoding reads instead, or NULL: nmt_model_quantize */
    arena packing;                /* of `packed` */
    weights_packed packed;        /* what decoding of several rows reads; empty until it is made: model_pack */
    void *architecture;           /* what the interface keeps: layers and workspace */
    char *history;                /* JSON array of validations */
    char *version;                /* of the program that wrote it */
    double length_ratio; /* target tokens a source token in the training text, > 0; 1 where that is not known */
};

/* No training text has a larger length_ratio than this, and no file may ask for one: it bounds what a translation is
 * long. */
enum { MODEL_LENGTH_RATIO_LIMIT = 1000 };

/* A model that has its table of parameters and no block yet: what it takes is known before it is taken. Takes ownership
 * of config and vocabularies, also on failure. */
nmt_status model_describe(nmt_model **model, nmt_config *config, vocabulary *source_words, vocabulary *target_words,
                          nmt_error *error);

/* Takes ownership of `both`, also on failure, and restricts them to the model's vocabularies. */
nmt_status model_segment(nmt_model *model, segmenters both, nmt_error *error);

/* Packs the matrices for decoding, unless they are; takes as much memory as they do. */
nmt_status model_pack(nmt_model *model, nmt_error *error);

/* The block's numbers have changed, or the block: what was packed of them goes. */
void model_changed(nmt_model *model);

/* Gives it its block, zeroed. */
nmt_status model_allocate(nmt_model *model, nmt_error *error);

/* Both. */
nmt_status model_create(nmt_model **model, nmt_config *config, vocabulary *source_words, vocabulary *target_words,
                        nmt_error *error);

/*
 * Loss of a batch; where `gradient` is not NULL, adds `scale` times the gradient of the summed loss to it
 * ([parameters.size]). `update` numbers the step for the draws of dropout and of scheduled sampling; without gradient
 * nothing is dropped, and the decoder sees the true words.
 */
nmt_status model_loss_and_gradient(nmt_model *model, const batch *pairs, real *gradient, real scale, uint64_t update,
                                   batch_loss *loss, nmt_error *error);

/*
 * Encodes `sources`, with room for `width` hypotheses at a time, and begins one a sentence, in the order in which the
 * sentences were given to sequences_set (not in packed order), for as many of them as there is room. Each stands before
 * its first target token. `sources` must outlive the decoding, which is the caller's: model_finish.
 */
nmt_status model_start(nmt_model *model, const sequences *sources, size_t width, decoding **state, nmt_error *error);

/*
 * Feeds the previous token of each hypothesis (TOKEN_START at first) and returns for each the logits of its next token,
 * [hypotheses, V], and the attention that this step paid, [hypotheses, S]: S is the longest source, weights behind a
 * sentence's own end are 0. Both are borrowed until the next call.
 */
nmt_status model_step(decoding *state, const int32_t *previous, const real **logits, const real **alpha,
                      nmt_error *error);

/* The word with the largest of logits[words], of all but `<s>`. */
int32_t model_likeliest(const real *logits, size_t words);

/* Between any two steps, also where all stay as they are: hypothesis i goes on as what hypothesis parents[i] became in
 * the step before. `count` may shrink, to nothing where others join, and grow up to the width. */
nmt_status model_reorder(decoding *state, const size_t *parents, size_t count, nmt_error *error);

/* Behind the hypotheses that there are, begins one of each of these sentences, by their numbers as they were given. */
nmt_status model_join(decoding *state, const size_t *sentences, size_t count, nmt_error *error);

/* Teacher forcing: the attention paid at each row of pairs->input, alpha[input.tokens, source.steps], 0 behind a
 * source's end. Row r of step t reads the source of sentence input.order[r]. */
nmt_status model_align(nmt_model *model, const batch *pairs, real *alpha, nmt_error *error);

/* Behind a step and before the next reorder, where the interface has `observe`. */
void model_observe(const decoding *state, model_observation *seen);

void model_finish(decoding *state);

#endif
