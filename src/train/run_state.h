/*
 * Where a run stands: everything that the next update depends on besides configuration and text. Saved after each
 * validation and when the run is asked to stop, so that a resumed run ends with the bytes of an uninterrupted one.
 * Random draws need no state of their own: they follow from seed, epoch and update.
 */
#ifndef TRAIN_RUN_STATE_H
#define TRAIN_RUN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/json.h"
#include "model/model.h"
#include "train/best_models.h"
#include "train/optimizer.h"

typedef struct run_state {
    uint64_t epoch;      /* the current one, from 1 */
    uint64_t batch;      /* batches of it that are done */
    uint64_t update;     /* updates done */
    double nats, tokens; /* training loss since the last validation */
    bool has_best;
    double best;             /* the metric of the best model so far */
    uint64_t without_better; /* validations since */
    bool finished;           /* by patience */
    uint64_t reductions;     /* of the learning rate, by plateaus */
    uint64_t on_plateau;     /* validations without a better one since the last reduction */
    double learning_rate;    /* of the last update */
    uint64_t skipped;        /* batches left out because a number was not finite */
    uint64_t skipped_in_a_row;
    json *history; /* array: one object a validation */
} run_state;

/* What the next update changes or depends on, and the best models so far. */
typedef struct run_parts {
    nmt_model *model;
    optimizer *rule;
    real *average;     /* [parameters.size], or NULL */
    best_models *kept; /* at most as many as its capacity */
    /* Of the text, see corpus_summary; 0: there is none. */
    uint64_t training_fingerprint, validation_fingerprint;
} run_parts;

nmt_status run_state_save(const run_state *state, const run_parts *parts, const char *path, nmt_error *error);

/* The segmenters of the run, whose piece models are not learned again. The caller's: segmenters_free. Errors: as below.
 */
nmt_status run_state_load_segmenters(segmenters *both, const nmt_config *config, const char *path, nmt_error *error);

/* Restores state and parts. Errors: NMT_INVALID that lists the keys of the configuration that differ, or says that the
 * text is another. Threads, output directory and, unless the learning rate follows from it, the length of the
 * run may change. */
nmt_status run_state_load(run_state *state, const run_parts *parts, const char *path, nmt_error *error);

#endif
