#include "core/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { ALIGNMENT = 64 };

void arena_measure(arena *space)
{
    space->used = 0;
    space->measuring = true;
}

nmt_status arena_reserve(arena *space, const char *what, nmt_error *error)
{
    const size_t needed = space->used;
    space->used = 0;
    space->measuring = false;
    if (needed == SIZE_MAX) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %s needs more bytes than a machine can address", what);
    }
    if (needed <= space->capacity) {
        return NMT_OK;
    }
    free(space->base);
    space->capacity = 0;
    space->base = aligned_alloc(ALIGNMENT, needed);
    if (space->base == NULL) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %s needs %zu bytes", what, needed);
    }
    memory_prefer_large_pages(space->base, needed);
    space->capacity = needed;
    return NMT_OK;
}

void *arena_take(arena *space, size_t count, size_t size)
{
    if (space->measuring) {
        const size_t room = SIZE_MAX - ALIGNMENT - space->used;
        if (space->used == SIZE_MAX || (size > 0 && count > room / size)) {
            space->used = SIZE_MAX;
            return NULL;
        }
    }
    const size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t start = space->used;
    space->used = start + bytes;
    if (space->measuring) {
        return NULL;
    }
    assert(space->used <= space->capacity);
    return space->base + start;
}

real *arena_reals(arena *space, size_t count)
{
    return arena_take(space, count, sizeof(real));
}

void arena_free(arena *space)
{
    free(space->base);
    memset(space, 0, sizeof *space);
}
