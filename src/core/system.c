/* nmt/version.h: the machine, its rates, and advice on the kernels of BLAS. */
#include <nmt/version.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "core/blas.h"
#include "core/blas_core.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/simd.h"

enum { ORDER = 2048, RUNS = 7 };
static const double PATIENCE = 1.5; /* seconds for the runs of one measurement */
static const size_t READ_BYTES = (size_t)256 << 20;
enum { READ_GRAIN = 1 << 16 };

static const char *vectors(cpu_features cpu)
{
#if defined(__x86_64__) || defined(__i386__)
    return cpu.avx512 ? "AVX2, AVX-512" : cpu.avx2 ? "AVX2" : "none";
#else
    (void)cpu;
    return "-";
#endif
}

void nmt_system_report(nmt_system *report)
{
    const cpu_features cpu = cpu_detect();
    *report = (nmt_system){.architecture = cpu_architecture(),
                           .vectors = vectors(cpu),
                           .processors = cpu_count(),
                           .threads = parallel_threads(),
                           .blas = blas_build(),
                           .blas_core = blas_core(),
                           .better_core = blas_core_is_choosable() ? blas_core_better(cpu, blas_core()) : NULL};
}

void nmt_blas_advise(nmt_blas_advice *advice, const char *wish)
{
    const char *history = getenv("NMT_BLAS_HISTORY");
    const blas_situation now = {.cpu = cpu_detect(),
                                .core = blas_core(),
                                .choosable = blas_core_is_choosable(),
                                .variable = getenv("OPENBLAS_CORETYPE"),
                                .history = history,
                                .wish = wish,
                                .right = history == NULL || blas_products_are_right()};
    blas_core_decide(advice, &now);
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Median time of `work`, which runs once before for nothing: memory is mapped then, and threads are awake. On a slow
 * machine one run may have to do. */
static double median_seconds(void (*work)(void *context), void *context)
{
    double times[RUNS];
    size_t runs = 0;
    work(context);
    const double begun = seconds();
    do {
        const double start = seconds();
        work(context);
        times[runs++] = seconds() - start;
    } while (runs < RUNS && seconds() - begun < PATIENCE);
    qsort(times, runs, sizeof times[0], compare);
    return times[runs / 2];
}

static void multiply(void *context)
{
    real *C = context;
    const real *A = C + (size_t)ORDER * ORDER, *B = A + (size_t)ORDER * ORDER;
    gemm_nn(C, ORDER, A, ORDER, B, ORDER, ORDER, ORDER, ORDER, 0);
}

/* Integers, because a sum of floats would wait for its own last addition. */
SIMD_CLONES static uint64_t sum_words(const uint64_t *words, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += words[i];
    }
    return sum;
}

static volatile uint64_t sink; /* keeps the sums from being optimised away */

static void read_part(void *context, size_t begin, size_t end)
{
    sink = sum_words((const uint64_t *)context + begin, end - begin);
}

static void read_all(void *context)
{
    parallel_for(READ_BYTES / sizeof(uint64_t), READ_GRAIN, read_part, context);
}

nmt_status nmt_system_measure(nmt_system_speed *speed, nmt_error *error)
{
    const size_t count = READ_BYTES / sizeof(real);
    real *memory;
    TRY(memory_new(&memory, count, sizeof *memory, "the measurement", error));
    for (size_t i = 0; i < count; i++) { /* every page its own: an untouched one would be read from the cache */
        memory[i] = (real)(i % 7) / 8;
    }
    speed->product_gflops = 2e-9 * ORDER * ORDER * ORDER / median_seconds(multiply, memory);
    speed->read_gigabytes = 1e-9 * (double)READ_BYTES / median_seconds(read_all, memory);
    free(memory);
    return NMT_OK;
}
