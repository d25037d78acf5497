/* Products with matrices of 8-bit numbers: the integers of a plain loop, whatever the sizes, and near the products in
 * floating point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/quantized.h"
#include "core/rng.h"

enum { ROWS = 5, LARGEST = 131 };

typedef struct fixture {
    int8_t q[LARGEST * LARGEST];
    real W[LARGEST * LARGEST], scale[LARGEST], x[ROWS * LARGEST], y[ROWS * LARGEST], step[ROWS];
    int16_t p[ROWS * LARGEST];
} fixture;

static void draw(fixture *f, size_t out, size_t in, uint64_t seed)
{
    rng generator = rng_stream(seed, "quantized", 0);
    for (size_t i = 0; i < out * in; i++) {
        f->W[i] = (real)rng_normal(&generator);
    }
    for (size_t i = 0; i < ROWS * in; i++) {
        f->x[i] = (real)rng_normal(&generator);
    }
    for (size_t n = 0; n < out; n++) {
        quantize_row(f->q + n * in, &f->scale[n], f->W + n * in, in);
    }
    memset(f->y, 0, sizeof f->y);
}

static void multiply(fixture *f, size_t out, size_t in)
{
    const quantized_matrix W = {f->q, in, f->scale};
    const quantized_scratch scratch = {f->p, f->step};
    quantized_product(f->y, out, f->x, in, &W, ROWS, out, in, &scratch);
}

static void rows_are_the_nearest_numbers_in_8_bits(void **state)
{
    (void)state;
    const real row[] = {0.5, -1.27, 0.004, 0.006, 0, 1.27};
    int8_t q[6];
    real scale;
    quantize_row(q, &scale, row, 6);
    assert_true(fabs((double)scale - 0.01) < 1e-8);
    const int8_t expected[] = {50, -127, 0, 1, 0, 127};
    assert_memory_equal(q, expected, sizeof q);
    const real zeros[3] = {0, 0, 0};
    quantize_row(q, &scale, zeros, 3);
    assert_true(scale == 0);
    assert_int_equal(q[0] | q[1] | q[2], 0);
}

/* Every size around the widths of vectors and tiles, against a plain loop over the same integers. */
static void sums_are_exact(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, LARGEST};
    fixture *f = malloc(sizeof *f);
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++) {
        for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++) {
            const size_t out = sizes[a], in = sizes[b];
            draw(f, out, in, a * 100 + b);
            multiply(f, out, in);
            for (size_t row = 0; row < ROWS; row++) {
                for (size_t n = 0; n < out; n++) {
                    int32_t sum = 0;
                    for (size_t k = 0; k < in; k++) {
                        sum += f->q[n * in + k] * f->p[row * in + k];
                    }
                    assert_true(f->y[row * out + n] == (real)sum * f->scale[n] * f->step[row]);
                }
            }
        }
    }
    free(f);
}

static void products_are_near_those_in_floating_point(void **state)
{
    (void)state;
    fixture *f = malloc(sizeof *f);
    draw(f, LARGEST, LARGEST, 7);
    f->y[0] = 1; /* added to */
    multiply(f, LARGEST, LARGEST);
    f->y[0] -= 1;
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t n = 0; n < LARGEST; n++) {
            double exact = 0, bound = 1e-3;
            for (size_t k = 0; k < LARGEST; k++) {
                exact += (double)f->W[n * LARGEST + k] * (double)f->x[row * LARGEST + k];
                bound += 0.5 * (double)f->scale[n] * fabs((double)f->x[row * LARGEST + k]);
                bound += 0.5 * (double)f->step[row] * fabs((double)f->W[n * LARGEST + k]);
            }
            assert_true(fabs((double)f->y[row * LARGEST + n] - exact) <= bound);
        }
    }
    free(f);
}

/* Rows so long that 15 bits an input would not fit the sum, all of the same sign. */
static void long_rows_do_not_overflow(void **state)
{
    (void)state;
    enum { IN = 5000 };
    int8_t *q = malloc(IN);
    int16_t *p = malloc(IN * sizeof *p);
    real *x = malloc(IN * sizeof *x), y = 0, scale = 1, step;
    memset(q, 127, IN);
    for (size_t i = 0; i < IN; i++) {
        x[i] = 3;
    }
    quantized_product(&y, 1, x, IN, &(quantized_matrix){q, IN, &scale}, 1, 1, IN, &(quantized_scratch){p, &step});
    assert_true(fabs((double)y / (127.0 * 3 * IN) - 1) < 1e-3);
    free(q);
    free(p);
    free(x);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    fixture *one = malloc(sizeof *one), *three = malloc(sizeof *three);
    draw(one, LARGEST, LARGEST, 3);
    draw(three, LARGEST, LARGEST, 3);
    multiply(one, LARGEST, LARGEST);
    assert_int_equal(parallel_set_threads(3, NULL), NMT_OK);
    multiply(three, LARGEST, LARGEST);
    assert_int_equal(parallel_set_threads(1, NULL), NMT_OK);
    assert_memory_equal(one->y, three->y, sizeof one->y);
    free(one);
    free(three);
}

static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    fixture *f = malloc(sizeof *f);
    draw(f, 8, 40, 5);
    f->x[3] = NAN;
    f->x[40 + 3] = -INFINITY;
    multiply(f, 8, 40);
    for (size_t n = 0; n < 8; n++) {
        assert_true(isnan(f->y[n]) && isnan(f->y[8 + n]) && isfinite(f->y[16 + n]));
    }
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_nearest_numbers_in_8_bits),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(products_are_near_those_in_floating_point),
        cmocka_unit_test(long_rows_do_not_overflow),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_is_not_finite_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
