/* Matrix products against a triple loop: odd sizes, rows of wider matrices, both sides of the threshold for threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/blas.h"
#include "core/parallel.h"
#include "support_reals.h"

typedef void (*gemm)(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N,
                     size_t K, real beta);

typedef struct form {
    gemm multiply;
    int transposed_A, transposed_B;
} form;

static const form forms[] = {{gemm_nt, 0, 1}, {gemm_nn, 0, 0}, {gemm_tn, 1, 0}};

/* Element of the left or right factor as the product sees it. */
static double element(const real *matrix, size_t stride, int transposed, size_t row, size_t column)
{
    return transposed ? matrix[column * stride + row] : matrix[row * stride + column];
}

static void check_product(const form *f, size_t M, size_t N, size_t K, real beta)
{
    const size_t lda = (f->transposed_A ? M : K) + 3, ldb = (f->transposed_B ? K : N) + 5, ldc = N + 2;
    real *A = normal_reals((f->transposed_A ? K : M) * lda, 1, 1),
         *B = normal_reals((f->transposed_B ? N : K) * ldb, 1, 2);
    real *before = normal_reals(M * ldc, 1, 3), *C = nan_reals(M * ldc);
    if (beta != 0) { /* with 0, NaN in C is overwritten */
        memcpy(C, before, M * ldc * sizeof *C);
    }
    f->multiply(C, ldc, A, lda, B, ldb, M, N, K, beta);
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++) {
            double sum = (double)beta * (double)before[m * ldc + n];
            for (size_t k = 0; k < K; k++) {
                sum += element(A, lda, f->transposed_A, m, k) * element(B, ldb, f->transposed_B, k, n);
            }
            assert_near(C[m * ldc + n], sum, 3e-6 * sqrt((double)(K + 1)));
        }
        for (size_t n = N; n < ldc; n++) { /* the columns beside are not ours */
            assert_true(beta != 0 ? C[m * ldc + n] == before[m * ldc + n] : isnan(C[m * ldc + n]));
        }
    }
    free(A);
    free(B);
    free(C);
    free(before);
}

static void check_all(size_t M, size_t N, size_t K)
{
    static const real betas[] = {0, 1, (real)-0.5};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
            check_product(&forms[f], M, N, K, betas[b]);
        }
    }
}

static void test_small(void **state)
{
    (void)state;
    check_all(1, 1, 1);
    check_all(3, 5, 7);
    check_all(1, 17, 4);
    check_all(13, 1, 9);
    check_all(31, 33, 1);
}

/* Over 64 K multiply-adds, where rows are cut, and columns. */
static void test_large(void **state)
{
    (void)state;
    nmt_error error;
    for (size_t threads = 1; threads <= 3; threads++) {
        assert_int_equal(parallel_set_threads(threads, &error), NMT_OK);
        check_all(131, 37, 29);
        check_all(37, 131, 29);
        check_all(97, 97, 8);
    }
    assert_int_equal(parallel_set_threads(1, &error), NMT_OK);
}

static void test_nothing(void **state)
{
    (void)state;
    real C[2] = {3, 4};
    const real A[2] = {1, 2}, B[2] = {5, 6};
    gemm_nt(C, 2, A, 1, B, 1, 0, 2, 1, 0);
    gemm_nn(C, 2, A, 1, B, 2, 1, 0, 1, 0);
    assert_true(C[0] == 3 && C[1] == 4);
}

/* NaN and infinity in a factor come through. */
static void test_not_finite(void **state)
{
    (void)state;
    const real A[2] = {(real)NAN, (real)INFINITY}, B[1] = {2};
    real C[2];
    gemm_nt(C, 1, A, 1, B, 1, 2, 1, 1, 0);
    assert_true(isnan(C[0]) && isinf(C[1]) && C[1] > 0);
}

static void test_description(void **state)
{
    (void)state;
    assert_non_null(strstr(blas_description(), "OpenBLAS"));
    assert_non_null(strstr(blas_description(), "kernels"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),      cmocka_unit_test(test_large),       cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
