#include "decode/alignment.h"

#include <stdlib.h>

#include "core/memory.h"

static void free_tokens(char **tokens, size_t count)
{
    for (size_t i = 0; tokens != NULL && i < count; i++) {
        free(tokens[i]);
    }
    free(tokens);
}

void nmt_alignment_clear(nmt_alignment *alignment)
{
    if (alignment == NULL) {
        return;
    }
    free_tokens(alignment->source, alignment->source_count);
    free_tokens(alignment->target, alignment->target_count);
    free(alignment->weights);
    *alignment = (nmt_alignment){0};
}

static nmt_status fill(nmt_alignment *alignment, const sentence *source, nmt_error *error)
{
    const size_t S = alignment->source_count, T = alignment->target_count;
    TRY(memory_new(&alignment->source, S, sizeof *alignment->source, "an alignment", error));
    TRY(memory_new(&alignment->target, T, sizeof *alignment->target, "an alignment", error));
    TRY(memory_new(&alignment->weights, T * S, sizeof *alignment->weights, "an alignment", error));
    return sentence_tokens(source, alignment->source, error);
}

nmt_status alignment_create(nmt_alignment *alignment, const sentence *source, size_t target_count, nmt_error *error)
{
    *alignment = (nmt_alignment){.source_count = source->length + 1, .target_count = target_count};
    const nmt_status status = fill(alignment, source, error);
    if (status != NMT_OK) {
        nmt_alignment_clear(alignment);
    }
    return status;
}

void alignment_set_row(nmt_alignment *alignment, size_t t, const real *alpha)
{
    float *row = alignment->weights + t * alignment->source_count;
    for (size_t s = 0; s < alignment->source_count; s++) {
        row[s] = (float)alpha[s];
    }
}
