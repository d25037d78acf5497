#include "data/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "data/vocabulary.h"

/* Arrays that share a capacity are grown one by one; the capacity counts once all of them have it. */
static nmt_status reserve_sentences(sequences *packed, size_t count, nmt_error *error)
{
    uint32_t **arrays[] = {&packed->order, &packed->row, &packed->length};
    size_t capacity = packed->count_capacity;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        capacity = packed->count_capacity;
        TRY(memory_grow(arrays[i], &capacity, count, sizeof **arrays[i], "a batch", error));
    }
    packed->count_capacity = capacity;
    return NMT_OK;
}

static nmt_status reserve_steps(sequences *packed, size_t steps, nmt_error *error)
{
    size_t capacity = packed->steps_capacity;
    TRY(memory_grow(&packed->active, &capacity, steps + 1, sizeof *packed->active, "a batch", error));
    capacity = packed->steps_capacity;
    TRY(memory_grow(&packed->offset, &capacity, steps + 1, sizeof *packed->offset, "a batch", error));
    packed->steps_capacity = capacity;
    return NMT_OK;
}

/* active[t] = sentences longer than t: a histogram of lengths, summed from its end. */
static void count_active(sequences *packed, const size_t *lengths, size_t extra)
{
    memset(packed->active, 0, (packed->steps + 1) * sizeof *packed->active);
    for (size_t i = 0; i < packed->count; i++) {
        packed->active[lengths[i] + extra - 1]++;
    }
    for (size_t t = packed->steps; t-- > 0;) {
        packed->active[t] += packed->active[t + 1];
    }
}

/* A counting sort, stable: sentences of length l stand behind the active[l] longer ones. */
static void sort_rows(sequences *packed, const size_t *lengths, size_t extra)
{
    uint32_t *next = packed->offset; /* the next free row for each length, before the offsets need the room */
    memcpy(next, packed->active, (packed->steps + 1) * sizeof *next);
    for (size_t i = 0; i < packed->count; i++) {
        const size_t length = lengths[i] + extra;
        const uint32_t row = next[length]++;
        packed->order[row] = (uint32_t)i;
        packed->row[i] = row;
        packed->length[row] = (uint32_t)length;
    }
}

/* Everything but the numbers of the tokens, for sentences of lengths[i] + extra tokens. */
static nmt_status lay_out(sequences *packed, const size_t *lengths, size_t extra, size_t count, nmt_error *error)
{
    size_t steps = 0;
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length = lengths[i] + extra;
        assert(length >= 1);
        steps = length > steps ? length : steps;
        tokens += length;
        if (length > UINT32_MAX || tokens > UINT32_MAX) {
            return error_set(error, NMT_INVALID, "a batch of over %u tokens", UINT32_MAX);
        }
    }
    TRY(reserve_sentences(packed, count, error));
    TRY(reserve_steps(packed, steps, error));
    TRY(memory_grow(&packed->id, &packed->tokens_capacity, tokens, sizeof *packed->id, "a batch", error));
    packed->count = count;
    packed->steps = steps;
    packed->tokens = tokens;
    count_active(packed, lengths, extra);
    sort_rows(packed, lengths, extra);
    packed->offset[0] = 0;
    for (size_t t = 0; t < steps; t++) {
        packed->offset[t + 1] = packed->offset[t] + packed->active[t];
    }
    return NMT_OK;
}

/* Writes the tokens of every sentence to `to`, its first one from step `first` on. */
static void fill(const sequences *packed, int32_t *to, const int32_t *const *ids, const size_t *lengths, size_t first)
{
    for (size_t row = 0; row < packed->count; row++) {
        const size_t sentence = packed->order[row];
        for (size_t t = 0; t < lengths[sentence]; t++) {
            to[packed->offset[first + t] + row] = ids[sentence][t];
        }
    }
}

/* Writes `</s>` into the last step of every sentence. */
static void fill_ends(const sequences *packed, int32_t *to)
{
    for (size_t row = 0; row < packed->count; row++) {
        to[packed->offset[packed->length[row] - 1] + row] = TOKEN_END;
    }
}

nmt_status sequences_set(sequences *packed, const int32_t *const *ids, const size_t *lengths, size_t count,
                         nmt_error *error)
{
    TRY(lay_out(packed, lengths, 0, count, error));
    fill(packed, packed->id, ids, lengths, 0);
    return NMT_OK;
}

void sequences_free(sequences *packed)
{
    free(packed->order);
    free(packed->row);
    free(packed->length);
    free(packed->active);
    free(packed->offset);
    free(packed->id);
    memset(packed, 0, sizeof *packed);
}

nmt_status batch_set(batch *pairs, const int32_t *const *sources, const size_t *source_lengths,
                     const int32_t *const *targets, const size_t *target_lengths, size_t count, nmt_error *error)
{
    TRY(lay_out(&pairs->source, source_lengths, 1, count, error));
    TRY(lay_out(&pairs->input, target_lengths, 1, count, error));
    TRY(memory_grow(&pairs->output, &pairs->output_capacity, pairs->input.tokens, sizeof *pairs->output, "a batch",
                    error));
    fill(&pairs->source, pairs->source.id, sources, source_lengths, 0);
    fill_ends(&pairs->source, pairs->source.id);
    for (size_t row = 0; row < count; row++) { /* step 0 starts at row 0 and holds every sentence */
        pairs->input.id[row] = TOKEN_START;
    }
    fill(&pairs->input, pairs->input.id, targets, target_lengths, 1);
    fill(&pairs->input, pairs->output, targets, target_lengths, 0);
    fill_ends(&pairs->input, pairs->output);
    return NMT_OK;
}

void batch_free(batch *pairs)
{
    sequences_free(&pairs->source);
    sequences_free(&pairs->input);
    free(pairs->output);
    memset(pairs, 0, sizeof *pairs);
}
