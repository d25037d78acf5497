/*
 * How training goes, on standard error: one line that is drawn again at most five times a second where that is a
 * terminal, a plain line every half minute where it is not.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <nmt/train.h>
#include <stdbool.h>

typedef struct progress {
    bool quiet, terminal;
    bool drawn;      /* the terminal's line is there */
    double last;     /* seconds, when a line was last written */
    double loss_sum; /* of the updates since then */
    size_t updates;
} progress;

void progress_begin(progress *state, bool quiet);

/* The members of nmt_train_observer; `context` is the progress. */
void progress_log(void *context, const char *line);
void progress_update(void *context, const nmt_progress *now);

/* Leaves the line as it is and goes on below it. */
void progress_end(progress *state);

#endif
