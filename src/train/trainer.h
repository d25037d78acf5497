/* A run as its rooms share it: trainer.c sets up and counts epochs, update.c makes updates, selection.c validates,
 * chooses and saves, run_notes.c says how it starts and ends. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include <nmt/train.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/real.h"
#include "data/corpus.h"
#include "model/model.h"
#include "train/best_models.h"
#include "train/loader.h"
#include "train/optimizer.h"
#include "train/pretrained.h"
#include "train/run_lock.h"
#include "train/run_log.h"
#include "train/run_state.h"
#include "train/validation.h"

typedef struct trainer {
    const nmt_config *config;
    run_lock lock;
    run_log log;
    char *model_path, *state_path;
    corpus *pairs;
    nmt_model *model;
    pretrained_coverage coverage; /* of a run that starts */
    optimizer rule;
    real *gradient;
    real *average; /* [parameters.size] of training.average_decay, or NULL */
    best_models kept;
    loader loader;
    validation validation;
    bool validates;
    run_state state;

    /* For reports only; nothing that is computed depends on them. */
    double started, reported, reported_nats, reported_tokens;
    double update_seconds, update_tokens; /* of the updates since the last validation */
    double resumed_updates;
} trainer;

/* Seconds on a clock that only goes forward. */
double trainer_clock(void);

run_parts trainer_parts(trainer *run);

/* What a failed run says of the model file, before its path. */
const char *trainer_last_good(const trainer *run);

/* The tensor of a block laid out as the parameters that holds NaN or infinity; NULL when all of it is finite. */
const char *trainer_find_not_finite(const trainer *run, const real *block);

#endif
