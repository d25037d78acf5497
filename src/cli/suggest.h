/* The known word that a misspelt one was probably meant to be. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* Insertions, deletions, substitutions and swaps of neighbours that lead from `a` to `b` (optimal string alignment);
 * SIZE_MAX where a word is too long to have been meant. */
size_t edit_distance(const char *a, const char *b);

/* Keeps the best candidate seen: start from {typed, NULL, 0}. `best` stays NULL while nothing is near enough. */
typedef struct suggestion {
    const char *typed;
    const char *best;
    size_t distance;
} suggestion;

void suggest(suggestion *choice, const char *candidate);

#endif
