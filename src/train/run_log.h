/* What a run says: lines for a person through the observer, and log.jsonl for programs. */
#ifndef TRAIN_RUN_LOG_H
#define TRAIN_RUN_LOG_H

#include <nmt/train.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"
#include "core/json.h"

typedef struct run_log {
    const nmt_train_observer *observer; /* may be NULL */
    FILE *file;                         /* log.jsonl */
    char *path;
} run_log;

/* Opens log.jsonl in `directory`: anew, or to go on behind what is there. */
nmt_status run_log_open(run_log *log, const nmt_train_observer *observer, const char *directory, bool append,
                        nmt_error *error);
void run_log_close(run_log *log);

/* A line for a person. */
void run_log_line(const run_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One object on a line of log.jsonl; takes ownership of `event`. NULL is out of memory. */
nmt_status run_log_event(run_log *log, json *event, nmt_error *error);

#endif
