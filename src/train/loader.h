/* Pairs of a corpus as batches for the model. */
#ifndef TRAIN_LOADER_H
#define TRAIN_LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "data/batch.h"
#include "data/corpus.h"

typedef struct loader {
    corpus *pairs;
    const vocabulary *source_words, *target_words;
    batch batch; /* what was loaded last */
    int32_t *ids;
    const int32_t **sources, **targets; /* into ids */
    size_t *source_lengths, *target_lengths;
    size_t id_capacity, source_capacity, target_capacity, source_length_capacity, target_length_capacity;
} loader;

/* Zero-initialise, set the first three fields, then load; loader_free when done (the corpus stays). */
nmt_status loader_load(loader *from, const uint32_t *pair, size_t count, nmt_error *error);
void loader_free(loader *from);

#endif
