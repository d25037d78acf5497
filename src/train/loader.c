#include "train/loader.h"

#include <stdlib.h>

#include "core/memory.h"

static nmt_status make_room(loader *from, size_t count, size_t tokens, nmt_error *error)
{
    static const char what[] = "a batch";
    TRY(memory_grow(&from->ids, &from->id_capacity, tokens, sizeof *from->ids, what, error));
    TRY(memory_grow(&from->sources, &from->source_capacity, count, sizeof *from->sources, what, error));
    TRY(memory_grow(&from->targets, &from->target_capacity, count, sizeof *from->targets, what, error));
    TRY(memory_grow(&from->source_lengths, &from->source_length_capacity, count, sizeof(size_t), what, error));
    return memory_grow(&from->target_lengths, &from->target_length_capacity, count, sizeof(size_t), what, error);
}

nmt_status loader_load(loader *from, const uint32_t *pair, size_t count, nmt_error *error)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++) {
        tokens += corpus_source_length(from->pairs, pair[i]) + corpus_target_length(from->pairs, pair[i]);
    }
    TRY(make_room(from, count, tokens, error));
    int32_t *next = from->ids;
    for (size_t i = 0; i < count; i++) {
        from->source_lengths[i] = corpus_source_length(from->pairs, pair[i]);
        from->target_lengths[i] = corpus_target_length(from->pairs, pair[i]);
        int32_t *source = next, *target = next + from->source_lengths[i];
        next = target + from->target_lengths[i];
        TRY(corpus_read(from->pairs, pair[i], from->source_words, from->target_words, source, target, error));
        from->sources[i] = source;
        from->targets[i] = target;
    }
    return batch_set(&from->batch, from->sources, from->source_lengths, from->targets, from->target_lengths, count,
                     error);
}

void loader_free(loader *from)
{
    batch_free(&from->batch);
    free(from->ids);
    free(from->sources);
    free(from->targets);
    free(from->source_lengths);
    free(from->target_lengths);
}
