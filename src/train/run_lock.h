/*
 * One run at a time in an output directory. The lock is the kernel's (flock), not the file's presence: it goes with the
 * process that holds it, however that ends, so a lock is never stale and nobody has to guess from a process number that
 * may be another's by now. Unlike a record lock (fcntl) it also keeps two runs of one process apart. The file
 * "run.lock" only carries it, and names the process for whom it turns away.
 */
#ifndef TRAIN_RUN_LOCK_H
#define TRAIN_RUN_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

typedef struct run_lock {
    bool open, held;
    int file;
    char *path;
    bool unsupported; /* the file system has no locks: nothing keeps a second run away */
    long dead;        /* a process of this machine that ended without leaving the directory; 0: none */
    size_t removed;   /* files it had begun to write, which are gone now */
} run_lock;

/* Takes the lock of `directory`. Errors: NMT_INVALID naming the process that holds it; NMT_IO. Zero-initialised or
 * taken, the lock is the caller's: run_lock_release. */
nmt_status run_lock_take(run_lock *lock, const char *directory, nmt_error *error);
void run_lock_release(run_lock *lock);

#endif
