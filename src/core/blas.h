/*
 * Matrix products: the one place that knows BLAS. Row-major; a leading dimension is the distance between rows, so a
 * product can read and write columns of a wider matrix. Large products are cut over the threads of core/parallel.
 */
#ifndef CORE_BLAS_H
#define CORE_BLAS_H

#include <stdbool.h>
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
const char *blas_build(void);
const char *blas_core(void);

/* It holds kernels for several processors and chooses among them when it is loaded. */
bool blas_core_is_choosable(void);

/* One of the three products above. */
typedef void (*blas_product)(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M,
                             size_t N, size_t K, real beta);

/* Small products of odd sizes agree with a plain loop: all three of ours; or one, of which it is told how its factors
 * lie. Takes about a millisecond. */
bool blas_products_are_right(void);
bool blas_product_is_right(blas_product compute, bool transposed_A, bool transposed_B);

#endif
