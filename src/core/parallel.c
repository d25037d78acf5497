/*
 * A pool of waiting threads. A loop over rows of a recurrent step takes a few microseconds, less than it takes the
 * system to wake a thread; so a worker that has just finished watches for the next loop for a while before it sleeps.
 */
#include "core/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"

enum { WATCH_ROUNDS = 20000 }; /* about 100 microseconds */

typedef struct worker {
    pthread_t thread;
    size_t index; /* from 1; the caller is 0 */
} worker;

static struct {
    pthread_mutex_t owner; /* held by the caller whose loop is running, or who changes the pool */
    pthread_mutex_t sleep;
    pthread_cond_t wake;
    worker *workers;
    atomic_size_t threads;
    _Atomic uint64_t generation; /* one more for each loop */
    atomic_size_t asleep, unfinished;
    atomic_bool ending;
    parallel_body body;
    void *context;
    size_t count, parts;
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
          .threads = 1};

static _Thread_local bool inside_loop;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void run_part(size_t part)
{
    const size_t begin = pool.count * part / pool.parts;
    const size_t end = pool.count * (part + 1) / pool.parts;
    if (begin < end) {
        pool.body(pool.context, begin, end);
    }
}

static void wait_for_generation(uint64_t seen)
{
    for (int round = 0; round < WATCH_ROUNDS; round++) {
        if (atomic_load(&pool.generation) != seen) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool.sleep);
    atomic_fetch_add(&pool.asleep, 1);
    while (atomic_load(&pool.generation) == seen) {
        pthread_cond_wait(&pool.wake, &pool.sleep);
    }
    atomic_fetch_sub(&pool.asleep, 1);
    pthread_mutex_unlock(&pool.sleep);
}

static void announce(void)
{
    atomic_fetch_add(&pool.generation, 1);
    if (atomic_load(&pool.asleep) > 0) {
        pthread_mutex_lock(&pool.sleep);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.sleep);
    }
}

static void *work(void *argument)
{
    const worker *self = argument;
    inside_loop = true;
    uint64_t seen = 0;
    for (;;) {
        wait_for_generation(seen);
        seen++;
        if (atomic_load(&pool.ending)) {
            return NULL;
        }
        if (self->index < pool.parts) {
            run_part(self->index);
        }
        atomic_fetch_sub(&pool.unfinished, 1);
    }
}

static void stop_workers(size_t count)
{
    atomic_store(&pool.ending, true);
    announce();
    for (size_t i = 0; i < count; i++) {
        pthread_join(pool.workers[i].thread, NULL);
    }
    free(pool.workers);
    pool.workers = NULL;
    atomic_store(&pool.ending, false);
    atomic_store(&pool.generation, 0);
    atomic_store(&pool.threads, 1);
}

static nmt_status start_workers(size_t threads, nmt_error *error)
{
    TRY(memory_new(&pool.workers, threads - 1, sizeof(worker), "the thread pool", error));
    for (size_t i = 0; i + 1 < threads; i++) {
        pool.workers[i].index = i + 1;
        const int failure = pthread_create(&pool.workers[i].thread, NULL, work, &pool.workers[i]);
        if (failure != 0) {
            stop_workers(i);
            return error_set(error, NMT_IO, "cannot start thread %zu of %zu: %s", i + 2, threads, strerror(failure));
        }
    }
    atomic_store(&pool.threads, threads);
    return NMT_OK;
}

nmt_status parallel_set_threads(size_t threads, nmt_error *error)
{
    if (threads == 0) {
        return error_set(error, NMT_INVALID, "threads: expected at least 1, found 0");
    }
    nmt_status status = NMT_OK;
    pthread_mutex_lock(&pool.owner);
    if (threads != atomic_load(&pool.threads)) {
        stop_workers(atomic_load(&pool.threads) - 1);
        status = start_workers(threads, error);
    }
    pthread_mutex_unlock(&pool.owner);
    return status;
}

size_t parallel_threads(void)
{
    return atomic_load(&pool.threads);
}

/* On a machine with other work to do the worker that is waited for may need this very processor. */
static void wait_for_workers(void)
{
    for (int round = 0; atomic_load(&pool.unfinished) > 0; round++) {
        if (round < WATCH_ROUNDS) {
            relax();
        } else {
            sched_yield();
        }
    }
}

void parallel_for(size_t count, size_t grain, parallel_body body, void *context)
{
    if (count == 0) {
        return;
    }
    const size_t most = count / grain;
    if (inside_loop || most <= 1 || atomic_load(&pool.threads) == 1 || pthread_mutex_trylock(&pool.owner) != 0) {
        body(context, 0, count);
        return;
    }
    const size_t threads = atomic_load(&pool.threads);
    pool.body = body;
    pool.context = context;
    pool.count = count;
    pool.parts = most < threads ? most : threads;
    atomic_store(&pool.unfinished, threads - 1);
    inside_loop = true;
    announce();
    run_part(0);
    wait_for_workers();
    inside_loop = false;
    pthread_mutex_unlock(&pool.owner);
}
