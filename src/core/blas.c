/*
 * OpenBLAS runs on one thread here and the cutting is ours: two pools that wait actively for work would fight over the
 * same processors, and our loops between the products need the threads as well.
 */
#include "core/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/parallel.h"

#ifdef NMT_DOUBLE
#define cblas_gemm cblas_dgemm
#define cblas_gemv cblas_dgemv
#else
#define cblas_gemm cblas_sgemm
#define cblas_gemv cblas_sgemv
#endif

/* Rows or columns of C that one thread takes at least: the width of OpenBLAS's kernels. */
enum { GRAIN = 32 };

static pthread_once_t single_threaded = PTHREAD_ONCE_INIT;

static void set_single_threaded(void)
{
    openblas_set_num_threads(1);
}

typedef struct product {
    real *C;
    const real *A, *B;
    size_t ldc, lda, ldb, M, N, K;
    real beta;
    CBLAS_TRANSPOSE transpose_A, transpose_B;
} product;

static void multiply(const product *p)
{
    /* One row, as in decoding one sentence: the general product would first copy all of B, and reading B once is the
     * whole cost. */
    if (p->M == 1 && p->transpose_A == CblasNoTrans && p->transpose_B == CblasTrans) {
        cblas_gemv(CblasRowMajor, CblasNoTrans, (blasint)p->N, (blasint)p->K, 1, p->B, (blasint)p->ldb, p->A, 1,
                   p->beta, p->C, 1);
        return;
    }
    cblas_gemm(CblasRowMajor, p->transpose_A, p->transpose_B, (blasint)p->M, (blasint)p->N, (blasint)p->K, 1, p->A,
               (blasint)p->lda, p->B, (blasint)p->ldb, p->beta, p->C, (blasint)p->ldc);
}

static void multiply_rows(void *context, size_t begin, size_t end)
{
    product part = *(const product *)context;
    part.A += begin * (part.transpose_A == CblasTrans ? 1 : part.lda);
    part.C += begin * part.ldc;
    part.M = end - begin;
    multiply(&part);
}

static void multiply_columns(void *context, size_t begin, size_t end)
{
    product part = *(const product *)context;
    part.B += begin * (part.transpose_B == CblasTrans ? part.ldb : 1);
    part.C += begin;
    part.N = end - begin;
    multiply(&part);
}

static void gemm(product p)
{
    if (p.M == 0 || p.N == 0) {
        return;
    }
    pthread_once(&single_threaded, set_single_threaded);
    if (p.M * p.N * p.K < PARALLEL_PRODUCT) {
        multiply(&p);
    } else if (p.M > p.N) {
        parallel_for(p.M, GRAIN, multiply_rows, &p);
    } else {
        parallel_for(p.N, GRAIN, multiply_columns, &p);
    }
}

void gemm_nt(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N, size_t K,
             real beta)
{
    gemm((product){C, A, B, ldc, lda, ldb, M, N, K, beta, CblasNoTrans, CblasTrans});
}

void gemm_nn(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N, size_t K,
             real beta)
{
    gemm((product){C, A, B, ldc, lda, ldb, M, N, K, beta, CblasNoTrans, CblasNoTrans});
}

void gemm_tn(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N, size_t K,
             real beta)
{
    gemm((product){C, A, B, ldc, lda, ldb, M, N, K, beta, CblasTrans, CblasNoTrans});
}

const char *blas_build(void)
{
    return openblas_get_config();
}

const char *blas_core(void)
{
    return openblas_get_corename();
}

bool blas_core_is_choosable(void)
{
    return strstr(openblas_get_config(), "DYNAMIC_ARCH") != NULL;
}

const char *blas_description(void)
{
    static char description[256];
    snprintf(description, sizeof description, "%s, kernels %s", blas_build(), blas_core());
    return description;
}

/* ---- are the products right? ------------------------------------------------------------------------------------- */

/* Largest extent of a product that is tried; wide enough for several blocks of any kernel and a rest. */
enum { TRIED = 67 };

/* Multiples of 1/8 in -1 .. 1, the same in every run. Their products and sums are exact in float. */
static void fill(real *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u; /* the constants of Knuth and Lewis */
        values[i] = (real)((int)(seed >> 24) % 17 - 8) / 8;
    }
}

/* A plain product for comparison; `row` and `column` strides say how the factors lie. */
static bool agrees(const real *C, const real *before, size_t ldc, const real *A, size_t row_A, size_t column_A,
                   const real *B, size_t row_B, size_t column_B, size_t M, size_t N, size_t K, real beta)
{
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++) {
            real sum = beta * before[m * ldc + n];
            for (size_t k = 0; k < K; k++) {
                sum += A[m * row_A + k * column_A] * B[k * row_B + n * column_B];
            }
            if (!(C[m * ldc + n] == sum)) {
                return false;
            }
        }
    }
    return true;
}

bool blas_product_is_right(blas_product compute, bool transposed_A, bool transposed_B)
{
    static const size_t sizes[][3] = {{1, 1, 1},      {3, 5, 7},       {1, TRIED, 33},
                                      {TRIED, 1, 19}, {33, 17, TRIED}, {TRIED, 65, 29}};
    static const real betas[] = {0, 1};
    real A[TRIED * TRIED], B[TRIED * TRIED], C[TRIED * TRIED], before[TRIED * TRIED];
    fill(A, TRIED * TRIED, 1);
    fill(B, TRIED * TRIED, 2);
    fill(before, TRIED * TRIED, 3);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        const size_t M = sizes[i / 2][0], N = sizes[i / 2][1], K = sizes[i / 2][2];
        const size_t lda = transposed_A ? M : K, ldb = transposed_B ? K : N;
        memcpy(C, before, sizeof C);
        compute(C, N, A, lda, B, ldb, M, N, K, betas[i % 2]);
        if (!agrees(C, before, N, A, transposed_A ? 1 : lda, transposed_A ? lda : 1, B, transposed_B ? 1 : ldb,
                    transposed_B ? ldb : 1, M, N, K, betas[i % 2])) {
            return false;
        }
    }
    return true;
}

bool blas_products_are_right(void)
{
    return blas_product_is_right(gemm_nt, false, true) && blas_product_is_right(gemm_nn, false, false) &&
           blas_product_is_right(gemm_tn, true, false);
}
