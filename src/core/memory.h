/* Allocation that reports: every failure says how much was asked for and what for. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stddef.h>

#include "core/error.h"

/* Zeroed memory for `count` elements of `size` bytes, checked for overflow; `*out` is the caller's: free(). A count of
 * 0 still gives a pointer that can be freed. `what` names the thing in the message: "the vocabulary". */
nmt_status memory_new(void *out, size_t count, size_t size, const char *what, nmt_error *error);

/* Asks the system to back the `bytes` from `start` with large pages, which saves the processor most of its look-ups of
 * addresses; for arrays of several megabytes, before they are written first. A system that has none goes on as it is,
 * and so does memory too small to hold one. */
void memory_prefer_large_pages(void *start, size_t bytes);

/* Grows the allocation `*array` (elements of `size` bytes) to hold at least `needed` elements, doubling `*capacity`;
 * what was there stays. On failure both are as they were. */
nmt_status memory_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *what, nmt_error *error);

/* A copy of `length` bytes with a NUL behind them; `*out` is the caller's: free(). */
nmt_status memory_copy_text(char **out, const char *text, size_t length, const char *what, nmt_error *error);

/* The most memory that the process has held at once since its program started, in bytes. */
size_t memory_peak(void);

#endif
