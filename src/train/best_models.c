#include "train/best_models.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

void best_models_free(best_models *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        free(kept->list[i].block);
    }
    kept->count = 0;
}

nmt_status best_models_extend(best_models *kept, nmt_error *error)
{
    assert(kept->count < kept->capacity && kept->capacity <= BEST_MODELS_MAX);
    best_model *added = &kept->list[kept->count];
    *added = (best_model){0};
    TRY(memory_new(&added->block, kept->size, sizeof *added->block, "the best models", error));
    kept->count++;
    return NMT_OK;
}

/* How many models a new one with this metric comes behind. */
static size_t rank_of(const best_models *kept, double metric)
{
    size_t rank = 0;
    while (rank < kept->count &&
           !(kept->higher_is_better ? metric > kept->list[rank].metric : metric < kept->list[rank].metric)) {
        rank++;
    }
    return rank;
}

nmt_status best_models_offer(best_models *kept, const real *block, uint64_t update, double metric, nmt_error *error)
{
    const size_t rank = rank_of(kept, metric);
    if (rank == kept->capacity) {
        return NMT_OK;
    }
    if (kept->count < kept->capacity) {
        TRY(best_models_extend(kept, error));
    }
    const size_t last = kept->count - 1;
    real *room = kept->list[last].block;
    memmove(&kept->list[rank + 1], &kept->list[rank], (last - rank) * sizeof *kept->list);
    memcpy(room, block, kept->size * sizeof *room);
    kept->list[rank] = (best_model){update, metric, room};
    return NMT_OK;
}

void best_models_mean(const best_models *kept, real *mean)
{
    for (size_t i = 0; i < kept->size; i++) {
        double sum = 0;
        for (size_t k = 0; k < kept->count; k++) {
            sum += (double)kept->list[k].block[i];
        }
        mean[i] = (real)(sum / (double)kept->count);
    }
}
