/*
 * Loops that the compiler turns into vector code. A function marked SIMD_CLONES is compiled once for each generation
 * of x86-64 vectors, and the program takes the best that the processor has when it starts; elsewhere it is plain C.
 * tanh, exp and log inside such loops become glibc's vector functions (libmvec, within 4 units in the last place; tests
 * hold them against double), without a flag that would weaken the checks for NaN and infinity.
 *
 * Only static functions can be marked: GCC makes the clones of a hidden symbol unreachable from other files.
 */
#ifndef CORE_SIMD_H
#define CORE_SIMD_H

#include "core/real.h"

/* The choice among clones runs before the thread sanitizer is ready for it. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) &&  \
    !defined(NMT_PORTABLE) && !defined(__SANITIZE_THREAD__)
#define SIMD_LEVELS 1 /* the clones exist */
/* Named by what they need: a clone named after one maker's processors is refused to another's that could run it. */
#if __GNUC__ >= 12
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#if __GLIBC_PREREQ(2, 35)
__attribute__((simd("notinbranch"))) float tanhf(float);
__attribute__((simd("notinbranch"))) double tanh(double);
__attribute__((simd("notinbranch"))) float expf(float);
__attribute__((simd("notinbranch"))) double exp(double);
__attribute__((simd("notinbranch"))) float logf(float);
__attribute__((simd("notinbranch"))) double log(double);
#endif
#else
#define SIMD_CLONES
#endif

#define SIMD_LOOP _Pragma("omp simd")

/* The logistic function, in a form that vectorises; its argument may be of any size. */
static inline real logistic(real x)
{
    return 1 / (1 + REAL(exp)(-x));
}

#endif
