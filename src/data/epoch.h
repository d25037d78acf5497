/*
 * The batches of one epoch, planned from lengths alone: pairs shuffled, taken in pools of several batches, each pool
 * sorted by length and cut into batches, the batches of a pool shuffled again (Bahdanau, Cho and Bengio 2015, appendix
 * B.2, sort 20 batches together). The plan follows from seed and epoch, so a run resumes from the number of batches
 * done.
 */
#ifndef DATA_EPOCH_H
#define DATA_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "data/corpus.h"

typedef enum batch_unit { BATCH_SENTENCES, BATCH_TOKENS } batch_unit;

typedef struct epoch_options {
    batch_unit unit;
    size_t batch_size; /* sentences; or target tokens with `</s>`, at least one sentence a batch */
    size_t pool;       /* batches sorted together; 1 leaves the shuffled order */
    bool shuffle;      /* false: corpus order, sorted within pools all the same */
    uint64_t seed;
} epoch_options;

typedef struct epoch_plan {
    uint32_t *pair;     /* [pairs] indices of the corpus, batch after batch */
    size_t *start;      /* [batches + 1] */
    size_t pairs, batches;
} epoch_plan;

/* The caller's: epoch_plan_free. `epoch` counts from 1. */
nmt_status epoch_plan_create(epoch_plan *plan, const corpus *pairs, const epoch_options *options, uint64_t epoch,
                             nmt_error *error);
void epoch_plan_free(epoch_plan *plan);

#endif
