/* Signals as facts that a command asks for between two steps. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* A write to a pipe that nobody reads fails from now on, instead of ending the program, and is remembered. */
void signals_note_closed_pipe(void);
bool signals_pipe_closed(void);

/* From now on the first SIGINT, SIGTERM or SIGHUP is remembered and a second one ends the program at once, with status
 * 128 + n. One that the program was started to ignore stays ignored. */
void signals_catch(void);

/* The signal remembered, or 0. */
int signals_caught(void);

#endif
