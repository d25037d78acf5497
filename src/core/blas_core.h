/*
 * Which kernels ("core") OpenBLAS should use. A version older than the processor does not know it and falls back to
 * kernels of twenty years ago, several times slower than those it holds for the processor's relatives. It reads the
 * variable OPENBLAS_CORETYPE once, when the process starts, so another choice takes a new start.
 *
 * The decision is a function of what is known; nothing here acts on it.
 */
#ifndef CORE_BLAS_CORE_H
#define CORE_BLAS_CORE_H

#include <stdbool.h>

#include <nmt/version.h>

#include "core/cpu.h"

typedef struct blas_situation {
    cpu_features cpu;
    const char *core;     /* in use */
    bool choosable;       /* the library holds kernels for several cores */
    const char *variable; /* OPENBLAS_CORETYPE; NULL or empty: not set */
    const char *history;  /* of the starts before, as an advice left it; NULL or empty: this is the first */
    const char *wish;     /* "auto", "keep" or a core */
    bool right;           /* products are right; needs to be known only behind a restart */
} blas_situation;

/* Fills all of `advice`. */
void blas_core_decide(nmt_blas_advice *advice, const blas_situation *now);

/* The core that suits the processor better than `core` does, or NULL. */
const char *blas_core_better(cpu_features cpu, const char *core);

#endif
