/*
 * OpenBLAS runs on one thread here and the cutting is ours: two pools that wait actively for work would fight over the
 * same processors, and our loops between the products need the threads as well.
 */
#include "core/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>

#include "core/parallel.h"

#ifdef NMT_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

/* Under this many multiply-adds a product is not worth a second thread. */
static const size_t WORTH_CUTTING = 64 * 1024;
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
    if (p.M * p.N * p.K < WORTH_CUTTING) {
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

const char *blas_description(void)
{
    static char description[256];
    snprintf(description, sizeof description, "%s, kernels %s", openblas_get_config(), openblas_get_corename());
    return description;
}
