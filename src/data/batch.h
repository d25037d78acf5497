/*
 * A batch without padding. The sentences of one side, longest first, are laid out time step by time step: step t holds
 * the t-th tokens of the sentences that are that long, `active[t]` of them, and starts at row `offset[t]`. So the
 * sequences that go on from step t to t+1 are always the first rows of step t, every matrix [tokens, ...] holds real
 * tokens only, and no result can depend on padding.
 *
 *     a b c        step 0: a d f   active 3, offset 0
 *     d e          step 1: b e     active 2, offset 3
 *     f            step 2: c       active 1, offset 5      tokens 6
 */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef struct sequences {
    size_t count;         /* B */
    size_t steps;         /* length of the longest */
    size_t tokens;        /* all real tokens */
    uint32_t *order;      /* [count] sentence (as given to sequences_set) of each row; longest first, ties as given */
    uint32_t *row;        /* [count] the inverse: row of each sentence */
    uint32_t *length;     /* [count] by row, falling */
    uint32_t *active;     /* [steps] */
    uint32_t *offset;     /* [steps + 1] */
    int32_t *id;          /* [tokens] */
    size_t count_capacity, steps_capacity, tokens_capacity;
} sequences;

/* Lays out `count` sentences, each given by its numbers and its length (>= 1). Reuses what `packed` already has;
 * zero-initialise it before the first call. */
nmt_status sequences_set(sequences *packed, const int32_t *const *ids, const size_t *lengths, size_t count,
                         nmt_error *error);
void sequences_free(sequences *packed);

/* Sentence pairs for training: the decoder reads `<s> y_1 .. y_T` (input) and predicts `y_1 .. y_T </s>` (output). */
typedef struct batch {
    sequences source;      /* each ends with `</s>` */
    sequences input;       /* each starts with `<s>` */
    int32_t *output;       /* [input.tokens] the token to predict at each row of input */
    size_t output_capacity;
} batch;

/* From pairs without `<s>` and `</s>`, which this adds. An empty side is allowed: it becomes `</s>` alone. */
nmt_status batch_set(batch *pairs, const int32_t *const *sources, const size_t *source_lengths,
                     const int32_t *const *targets, const size_t *target_lengths, size_t count, nmt_error *error);
void batch_free(batch *pairs);

#endif
