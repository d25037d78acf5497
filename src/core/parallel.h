/*
 * Threads. Work is cut by output: each thread computes its own rows whole, so the number of threads changes no sum.
 * One pool serves the process; a caller that finds it taken (or is itself inside a parallel loop) does all the work
 * alone.
 */
#ifndef CORE_PARALLEL_H
#define CORE_PARALLEL_H

#include <stddef.h>

#include "core/error.h"

/* Multiply-adds under which a product is not worth a second thread. */
enum { PARALLEL_PRODUCT = 64 * 1024 };

/* Work on items begin .. end-1. */
typedef void (*parallel_body)(void *context, size_t begin, size_t end);

/* Threads from now on, the caller's among them; 1 at start. Errors: NMT_INVALID for 0, NMT_IO when the system gives no
 * more threads. */
nmt_status parallel_set_threads(size_t threads, nmt_error *error);

size_t parallel_threads(void);

/* Calls `body` on parts of 0 .. count-1 that cover it, no part smaller than `grain` (>= 1) items unless it is all;
 * returns when all are done. */
void parallel_for(size_t count, size_t grain, parallel_body body, void *context);

#endif
