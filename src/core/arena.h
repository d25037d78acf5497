/*
 * A bump workspace. A step lays out all its arrays once without memory (arena_measure), reserves what that took, and
 * lays them out again for real: so nothing is allocated inside a step, and running out of memory is found at one place.
 */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/real.h"

typedef struct arena {
    char *base;
    size_t used, capacity; /* bytes */
    bool measuring;
} arena;

/* Starts a layout that only counts: arena_take returns NULL. */
void arena_measure(arena *space);

/* Ends the measuring: makes room for what was counted and starts the layout for real. What was laid out before is
 * gone. */
nmt_status arena_reserve(arena *space, const char *what, nmt_error *error);

/* `count` elements of `size` bytes, aligned to 64, not initialised. NULL while measuring. */
void *arena_take(arena *space, size_t count, size_t size);

real *arena_reals(arena *space, size_t count);

void arena_free(arena *space);

#endif
