/* What the processor can do, as far as the choice of matrix kernels depends on it. */
#ifndef CORE_CPU_H
#define CORE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Vector instructions of x86-64 that both the processor and the system offer; all false on other architectures. */
typedef struct cpu_features {
    bool avx2;   /* with FMA */
    bool avx512; /* F, BW, DQ, VL and CD, which the kernels for Skylake servers use together */
} cpu_features;

cpu_features cpu_detect(void);

/* "x86_64", "aarch64", ... */
const char *cpu_architecture(void);

/* Processors that this process may run on, at least 1. */
size_t cpu_count(void);

#endif
