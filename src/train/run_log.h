/* What a run says: lines for a person through the observer, and log.jsonl for programs. */
#ifndef TRAIN_RUN_LOG_H
#define TRAIN_RUN_LOG_H

#include <nmt/train.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/json.h"

typedef struct run_log {
    const nmt_train_observer *observer; /* may be NULL */
    int file;                           /* log.jsonl */
    char *path;                         /* NULL: not open */
} run_log;

/* Opens log.jsonl in `directory`: anew (NULL), or to go on from an update: what a run that was killed wrote behind it,
 * perhaps half a line, is cut off, because it comes again. */
nmt_status run_log_open(run_log *log, const nmt_train_observer *observer, const char *directory,
                        const uint64_t *resumed_from, nmt_error *error);

/* Lines for a person may still follow. */
nmt_status run_log_close(run_log *log, nmt_error *error);

/* A line for a person. */
void run_log_line(const run_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One object on a line of log.jsonl; takes ownership of `event`. NULL is out of memory. */
nmt_status run_log_event(run_log *log, json *event, nmt_error *error);

#endif
