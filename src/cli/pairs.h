/* Sentence pairs read side by side from two texts, a window at a time. */
#ifndef CLI_PAIRS_H
#define CLI_PAIRS_H

#include <nmt/io.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/lines.h"

/* One side of the pairs. */
typedef struct pair_side {
    const char *path; /* NULL: standard input */
    nmt_reader *reader;
    line_list window;
} pair_side;

/* Zero-initialise it before pairs_open. */
typedef struct pairs {
    pair_side source, target; /* windows of as many lines */
    size_t most;              /* lines of a window */
} pairs;

/* Paths as the command line has them. pairs_close is due in any case. */
nmt_status pairs_open(pairs *from, const char *source, const char *target, size_t most, nmt_error *error);
void pairs_close(pairs *from);

/* Reads pairs until the window is full, the next one would have to be waited for, or the text has `*ended`. A side that
 * ends before the other is an error that tells how many lines each has. */
nmt_status pairs_fill(pairs *from, bool *ended, nmt_error *error);

/* Empties the window. */
void pairs_clear(pairs *from);

/* Puts where the window stands in the text before a message about it. */
void pairs_add_place(const pairs *from, nmt_error *error);

#endif
