/* Products with packed matrices: those of a plain loop, whatever the sizes, the strides and the part; each row the same
 * bits whatever stands beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/packed.h"
#include "core/parallel.h"
#include "core/rng.h"

enum { ROWS = 19, LARGEST = 150, GAP = 3 };

/* Numbers of which products and sums are exact in float, so that no order of summation shows. */
static void draw(real *values, size_t count, uint64_t seed)
{
    rng generator = rng_stream(seed, "packed", 0);
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)(floor(rng_uniform(&generator) * 17) - 8) / 8;
    }
}

typedef struct fixture {
    real W[LARGEST * LARGEST], x[ROWS * (LARGEST + GAP)], y[ROWS * (LARGEST + GAP)], before[ROWS * (LARGEST + GAP)];
    real panels[(LARGEST + PACKED_WIDTH) * LARGEST];
} fixture;

static fixture *make(uint64_t seed)
{
    fixture *f = malloc(sizeof *f);
    draw(f->W, LARGEST * LARGEST, seed);
    draw(f->x, ROWS * (LARGEST + GAP), seed + 1);
    draw(f->before, ROWS * (LARGEST + GAP), seed + 2);
    memcpy(f->y, f->before, sizeof f->y);
    return f;
}

/* y + x W^T of outputs `row` .. and inputs `column` .. of W, whose numbers lie `down` and `along` apart. */
static void assert_product(const fixture *f, size_t ldy, size_t ldx, size_t down, size_t along, size_t row,
                           size_t column, size_t rows, size_t out, size_t in)
{
    for (size_t i = 0; i < ROWS * (LARGEST + GAP); i++) {
        const size_t m = i / ldy, n = i % ldy;
        real sum = 0;
        for (size_t k = 0; m < rows && n < out && k < in; k++) {
            sum += f->x[m * ldx + k] * f->W[(row + n) * down + (column + k) * along];
        }
        assert_true(f->y[i] == f->before[i] + sum); /* and outside of y nothing has changed */
    }
}

static void products_are_those_of_a_plain_loop(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 15, 16, 17, 47, 48, 49, 95, 96, 97, LARGEST};
    static const size_t row_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, ROWS};
    fixture *f = make(1);
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++) {
        for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++) {
            const size_t out = sizes[a], in = sizes[b];
            const size_t rows = row_counts[(a + 5 * b) % (sizeof row_counts / sizeof *row_counts)];
            assert_true(packed_size(out, in) <= sizeof f->panels / sizeof *f->panels);
            packed_fill(f->panels, f->W, out, in);
            memcpy(f->y, f->before, sizeof f->y);
            packed_product(f->y, out + GAP, f->x, in + GAP, &(packed_matrix){f->panels, in, 0, 0}, rows, out, in);
            assert_product(f, out + GAP, in + GAP, in, 1, 0, 0, rows, out, in);
            packed_fill_transposed(f->panels, f->W, out, in);
            memcpy(f->y, f->before, sizeof f->y);
            packed_product(f->y, in + GAP, f->x, out, &(packed_matrix){f->panels, out, 0, 0}, rows, in, out);
            assert_product(f, in + GAP, out, 1, in, 0, 0, rows, in, out);
        }
    }
    free(f);
}

static void every_number_of_rows(void **state)
{
    (void)state;
    fixture *f = make(2);
    packed_fill(f->panels, f->W, 100, 33);
    for (size_t rows = 0; rows <= ROWS; rows++) {
        memcpy(f->y, f->before, sizeof f->y);
        packed_product(f->y, 100, f->x, 33, &(packed_matrix){f->panels, 33, 0, 0}, rows, 100, 33);
        assert_product(f, 100, 33, 33, 1, 0, 0, rows, 100, 33);
    }
    free(f);
}

/* As the gates of a cell are parts of one matrix, and what is fed is behind the embedding. */
static void parts_of_a_matrix(void **state)
{
    (void)state;
    static const size_t parts[][4] = {{0, 0, 1, 1},     {1, 2, 46, 9},    {1, 0, 47, 40},  {47, 5, 2, 30},
                                      {48, 39, 48, 1},  {50, 7, 100, 33}, {96, 0, 54, 40}, {149, 39, 1, 1},
                                      {100, 20, 30, 5}, {0, 0, 150, 40}};
    fixture *f = make(3);
    packed_fill(f->panels, f->W, LARGEST, 40);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t row = parts[i][0], column = parts[i][1], out = parts[i][2], in = parts[i][3];
        memcpy(f->y, f->before, sizeof f->y);
        packed_product(f->y, out, f->x, in, &(packed_matrix){f->panels, 40, row, column}, ROWS, out, in);
        assert_product(f, out, in, 40, 1, row, column, ROWS, out, in);
    }
    free(f);
}

/* Random numbers now, whose sums depend on the order. */
static fixture *make_inexact(void)
{
    fixture *f = make(4);
    rng generator = rng_stream(4, "inexact", 0);
    for (size_t i = 0; i < LARGEST * LARGEST; i++) {
        f->W[i] = (real)rng_normal(&generator);
    }
    for (size_t i = 0; i < ROWS * LARGEST; i++) {
        f->x[i] = (real)rng_normal(&generator);
    }
    packed_fill(f->panels, f->W, LARGEST, LARGEST);
    return f;
}

static void multiply_all(fixture *f, size_t first, size_t rows)
{
    packed_product(f->y + first * LARGEST, LARGEST, f->x + first * LARGEST, LARGEST,
                   &(packed_matrix){f->panels, LARGEST, 0, 0}, rows, LARGEST, LARGEST);
}

static void a_row_does_not_depend_on_the_others(void **state)
{
    (void)state;
    fixture *all = make_inexact(), *parts = make_inexact();
    multiply_all(all, 0, ROWS);
    for (size_t rows = 1; rows <= ROWS; rows++) {
        memcpy(parts->y, parts->before, sizeof parts->y);
        for (size_t first = 0; first < ROWS; first += rows) {
            multiply_all(parts, first, ROWS - first < rows ? ROWS - first : rows);
        }
        assert_memory_equal(parts->y, all->y, ROWS * LARGEST * sizeof(real));
    }
    free(all);
    free(parts);
}

/* Nor an output on where a part begins. */
static void an_output_does_not_depend_on_the_part(void **state)
{
    (void)state;
    fixture *all = make_inexact(), *parts = make_inexact();
    multiply_all(all, 0, ROWS);
    for (size_t begin = 0, out = 1; begin < LARGEST; begin += out, out = 2 * out + 1) {
        const size_t count = LARGEST - begin < out ? LARGEST - begin : out;
        packed_product(parts->y + begin, LARGEST, parts->x, LARGEST, &(packed_matrix){parts->panels, LARGEST, begin, 0},
                       ROWS, count, LARGEST);
    }
    assert_memory_equal(parts->y, all->y, ROWS * LARGEST * sizeof(real));
    free(all);
    free(parts);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    fixture *one = make_inexact(), *more = make_inexact();
    real *transposed = malloc(sizeof one->panels);
    packed_fill_transposed(transposed, one->W, LARGEST, LARGEST - 7);
    multiply_all(one, 0, ROWS);
    for (size_t threads = 2; threads <= 4; threads++) {
        assert_int_equal(parallel_set_threads(threads, NULL), NMT_OK);
        memset(more->panels, 0, sizeof more->panels);
        packed_fill_transposed(more->panels, more->W, LARGEST, LARGEST - 7);
        assert_memory_equal(more->panels, transposed, packed_size(LARGEST - 7, LARGEST) * sizeof(real));
        packed_fill(more->panels, more->W, LARGEST, LARGEST);
        assert_memory_equal(more->panels, one->panels, packed_size(LARGEST, LARGEST) * sizeof(real));
        memcpy(more->y, more->before, sizeof more->y);
        multiply_all(more, 0, ROWS);
        assert_memory_equal(more->y, one->y, ROWS * LARGEST * sizeof(real));
    }
    assert_int_equal(parallel_set_threads(1, NULL), NMT_OK);
    free(transposed);
    free(one);
    free(more);
}

static void sums_are_near_the_exact_ones(void **state)
{
    (void)state;
    fixture *f = make_inexact();
    memset(f->y, 0, sizeof f->y);
    multiply_all(f, 0, ROWS);
    for (size_t i = 0; i < ROWS * LARGEST; i++) {
        double exact = 0, size = 0;
        for (size_t k = 0; k < LARGEST; k++) {
            const double term = (double)f->x[i / LARGEST * LARGEST + k] * (double)f->W[i % LARGEST * LARGEST + k];
            exact += term;
            size += fabs(term);
        }
        assert_true(fabs((double)f->y[i] - exact) <= 1e-6 * size);
    }
    free(f);
}

/* NaN or infinity in a row of x makes all of its outputs so, and no other; in a row of W that output of all rows, and
 * no other: nothing comes in from what fills a panel up. */
static void what_is_not_finite_stays_where_it_is(void **state)
{
    (void)state;
    fixture *f = make(5);
    f->x[2 * 40 + 3] = NAN;
    f->x[5 * 40 + 39] = INFINITY;
    f->W[17 * 40] = INFINITY;
    for (size_t k = 0; k < 40; k++) {
        f->W[29 * 40 + k] = (real)1; /* an output of x's infinity that is one itself */
    }
    packed_fill(f->panels, f->W, 50, 40);
    packed_product(f->y, 50, f->x, 40, &(packed_matrix){f->panels, 40, 0, 0}, ROWS, 50, 40);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t n = 0; n < 50; n++) {
            const bool expected = row != 2 && row != 5 && n != 17;
            assert_int_equal(isfinite(f->y[row * 50 + n]) != 0, expected);
        }
    }
    assert_true(isnan(f->y[2 * 50]) && isinf(f->y[5 * 50 + 29]));
    free(f);
}

/* All of it with every kernel. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_a_plain_loop),
        cmocka_unit_test(every_number_of_rows),
        cmocka_unit_test(parts_of_a_matrix),
        cmocka_unit_test(a_row_does_not_depend_on_the_others),
        cmocka_unit_test(an_output_does_not_depend_on_the_part),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(sums_are_near_the_exact_ones),
        cmocka_unit_test(what_is_not_finite_stays_where_it_is),
    };
    int failures = 0;
    for (size_t kernel = 0; kernel < packed_kernels(); kernel++) {
        packed_choose(kernel);
        failures += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failures;
}
