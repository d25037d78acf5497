/** Version and build, and the machine that the library finds itself on. */
#ifndef NMT_VERSION_H
#define NMT_VERSION_H

#include <stddef.h>

#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** E.g. "0.1.0". */
NMT_API const char *nmt_version(void);

/** One line a part: libraries with their versions, optional parts and whether they are in. Static storage. */
NMT_API const char *nmt_build_description(void);

/** Threads used by every later call of the library, at least 1; the result changes by float rounding at most. */
NMT_API nmt_status nmt_set_threads(size_t threads, nmt_error *error);

/** The machine and its BLAS library. Texts are static. */
typedef struct nmt_system {
    const char *architecture; /**< "x86_64", "aarch64", ... */
    const char *vectors;      /**< vector instructions of x86-64 that matter here: "AVX2, AVX-512", "none"; else "-" */
    size_t processors;        /**< that this process may run on */
    size_t threads;           /**< as nmt_set_threads set them */
    const char *blas;         /**< how the BLAS library was built */
    const char *blas_core;    /**< the kernels that it uses, by its own name for them */
    const char *better_core;  /**< NULL: these suit the processor. Else the value of the environment variable
                                   OPENBLAS_CORETYPE that a host should start with: several times faster */
} nmt_system;

NMT_API void nmt_system_report(nmt_system *report);

/** Rates measured on this machine, medians of several. */
typedef struct nmt_system_speed {
    double product_gflops;    /**< float32 product of two matrices of 2048 x 2048, all threads, 1e9 operations a second */
    double read_gigabytes;    /**< reading 256 MB, all threads, 1e9 bytes a second */
} nmt_system_speed;

/** Takes a second or a few, and 256 MB for a while. Errors: NMT_NO_MEMORY. */
NMT_API nmt_status nmt_system_measure(nmt_system_speed *speed, nmt_error *error);

/** What a program should do about the kernels of BLAS, which are chosen when a process starts. */
typedef enum nmt_blas_action {
    NMT_BLAS_KEEP,    /**< go on */
    NMT_BLAS_RESTART, /**< start the program again, with the environment of the advice */
    NMT_BLAS_REFUSE   /**< what was wished for cannot be had, or products are wrong: `message` */
} nmt_blas_action;

typedef struct nmt_blas_advice {
    nmt_blas_action action;
    char core[32];     /**< RESTART: the value for OPENBLAS_CORETYPE; empty: it is to be unset */
    char history[160]; /**< RESTART: the value for NMT_BLAS_HISTORY, which keeps restarts from going on for ever */
    char message[256]; /**< a line for the user; empty: nothing to say */
} nmt_blas_advice;

/**
 * Advises a program that may start itself again; the library never does. `wish`: "auto" (better kernels where the
 * library chose poorly and the user has not set OPENBLAS_CORETYPE), "keep" (KEEP), or the name of a core. Behind a
 * restart small products are compared with plain loops before the kernels are trusted.
 */
NMT_API void nmt_blas_advise(nmt_blas_advice *advice, const char *wish);

#ifdef __cplusplus
}
#endif
#endif
