/*
 * Matrix products: the one place that knows BLAS. Row-major; a leading dimension is the distance between rows, so a
 * product can read and write columns of a wider matrix. Large products are cut over the threads of core/parallel.
 */
#ifndef CORE_BLAS_H
#define CORE_BLAS_H

#include <stddef.h>

#include "core/real.h"

/* C[M,N] = A[M,K] B[N,K]^T + beta C: activations [rows, in] by a weight [out, in]. */
void gemm_nt(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N, size_t K,
             real beta);

/* C[M,N] = A[M,K] B[K,N] + beta C: gradients [rows, out] by a weight [out, in]. */
void gemm_nn(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N, size_t K,
             real beta);

/* C[M,N] = A[K,M]^T B[K,N] + beta C: a weight gradient [out, in] from gradients [rows, out], inputs [rows, in]. */
void gemm_tn(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N, size_t K,
             real beta);

/* What the BLAS library calls itself and the kernels it chose. Static storage. */
const char *blas_description(void);

#endif
