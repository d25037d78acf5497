/* The parameters of a run's best validations, best first, and their mean (checkpoint averaging; Junczys-Dowmunt, Dwojak
 * and Sennrich 2016). */
#ifndef TRAIN_BEST_MODELS_H
#define TRAIN_BEST_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/real.h"

enum { BEST_MODELS_MAX = 64 };

typedef struct best_model {
    uint64_t update;
    double metric;
    real *block; /* [size] */
} best_model;

typedef struct best_models {
    size_t capacity, count; /* at most BEST_MODELS_MAX; kept now */
    size_t size;            /* numbers a model */
    bool higher_is_better;
    best_model list[BEST_MODELS_MAX];
} best_models;

/* Zero-initialise, set capacity, size and higher_is_better, then offer; best_models_free when done. */
void best_models_free(best_models *kept);

/* Adds an empty model at the end; the count must be below the capacity. */
nmt_status best_models_extend(best_models *kept, nmt_error *error);

/* Copies the block when it is among the best; of equals the older one comes first. */
nmt_status best_models_offer(best_models *kept, const real *block, uint64_t update, double metric, nmt_error *error);

/* Into mean[size]; at least one model is kept. */
void best_models_mean(const best_models *kept, real *mean);

#endif
