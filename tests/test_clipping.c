#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "core/parallel.h"
#include "support_reals.h"
#include "train/clipping.h"

static void the_norm_is_over_the_whole_block(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 255, 256, 257, 10007};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        real *gradient = normal_reals(sizes[i], 3, i);
        double sum = 0;
        for (size_t j = 0; j < sizes[i]; j++) {
            sum += (double)gradient[j] * (double)gradient[j];
        }
        assert_near(gradient_norm(gradient, sizes[i]), sqrt(sum), 1e-12 * sqrt(sum));
        free(gradient);
    }
}

static void the_norm_is_the_same_with_any_number_of_threads(void **state)
{
    (void)state;
    const size_t size = 10007;
    real *gradient = normal_reals(size, 1, 1);
    const double alone = gradient_norm(gradient, size);
    for (size_t threads = 2; threads <= 5; threads++) {
        assert_int_equal(parallel_set_threads(threads, NULL), NMT_OK);
        assert_true(gradient_norm(gradient, size) == alone);
    }
    assert_int_equal(parallel_set_threads(1, NULL), NMT_OK);
    free(gradient);
}

/* Squares of such numbers are beyond single precision. */
static void large_and_small_gradients_have_a_norm(void **state)
{
    (void)state;
    const real large[] = {(real)3e30, (real)-4e30}, small[] = {(real)3e-30, (real)4e-30};
    assert_near(gradient_norm(large, 2), 5e30, 1e24);
    assert_near(gradient_norm(small, 2), 5e-30, 1e-36);
}

static void what_is_not_finite_shows_in_the_norm(void **state)
{
    (void)state;
    for (size_t at = 0; at < 300; at += 23) {
        real gradient[300] = {1};
        gradient[at] = (real)NAN;
        assert_true(isnan(gradient_norm(gradient, 300)));
        gradient[at] = (real)-INFINITY;
        assert_true(isinf(gradient_norm(gradient, 300)));
    }
}

static void only_a_norm_over_the_limit_is_scaled_down_to_it(void **state)
{
    (void)state;
    assert_true(clipping_scale(4.999, 5) == 1);
    assert_true(clipping_scale(5, 5) == 1);
    assert_true(clipping_scale(0, 5) == 1);
    assert_near(clipping_scale(20, 5), 0.25, 1e-15);
    assert_near(clipping_scale(5.5, 5) * 5.5, 5, 1e-14);
    assert_near(clipping_scale(3e30, 5) * 3e30, 5, 1e-14);
}

static void a_limit_of_zero_is_none(void **state)
{
    (void)state;
    assert_true(clipping_scale(0, 0) == 1);
    assert_true(clipping_scale(1e9, 0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_norm_is_over_the_whole_block),
                                       cmocka_unit_test(the_norm_is_the_same_with_any_number_of_threads),
                                       cmocka_unit_test(large_and_small_gradients_have_a_norm),
                                       cmocka_unit_test(what_is_not_finite_shows_in_the_norm),
                                       cmocka_unit_test(only_a_norm_over_the_limit_is_scaled_down_to_it),
                                       cmocka_unit_test(a_limit_of_zero_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
