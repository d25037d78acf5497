/*
 * tanh, exp, log and the logistic function in loops that become vector code, against the same in more precision: error
 * in units of the last place, and what NaN, infinity and large arguments become.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>

#include "core/simd.h"
#include "support_reals.h"

/* ---- the loops, as the layers have them ------------------------------------------------------------------------- */

typedef void (*float_loop)(float *restrict y, const float *restrict x, size_t count);
typedef void (*double_loop)(double *restrict y, const double *restrict x, size_t count);

static SIMD_CLONES void tanh_floats(float *restrict y, const float *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = tanhf(x[i]);
    }
}

static SIMD_CLONES void exp_floats(float *restrict y, const float *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = expf(x[i]);
    }
}

static SIMD_CLONES void log_floats(float *restrict y, const float *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = logf(x[i]);
    }
}

static SIMD_CLONES void logistic_floats(float *restrict y, const float *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = logistic(x[i]);
    }
}

static SIMD_CLONES void tanh_doubles(double *restrict y, const double *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = tanh(x[i]);
    }
}

static SIMD_CLONES void exp_doubles(double *restrict y, const double *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = exp(x[i]);
    }
}

static SIMD_CLONES void log_doubles(double *restrict y, const double *restrict x, size_t count)
{
    SIMD_LOOP
    for (size_t i = 0; i < count; i++) {
        y[i] = log(x[i]);
    }
}

static long double logistic_exactly(long double x)
{
    return 1 / (1 + expl(-x));
}

/* ---- accuracy --------------------------------------------------------------------------------------------------- */

enum { POINTS = 100003 }; /* odd: the last ones are left over from whole vectors */

/* Numbers from `low` to `high`, and as many crowded around zero. */
static double point(size_t i, double low, double high)
{
    const double x = low + (high - low) * (double)(i / 2) / (POINTS / 2);
    return i % 2 ? x : x * x * x * 1e-6;
}

static void check_floats(float_loop loop, long double (*exact)(long double), double low, double high, double units)
{
    float *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y);
    for (size_t i = 0; i < POINTS; i++) {
        x[i] = (float)point(i, low, high);
    }
    loop(y, x, POINTS);
    for (size_t i = 0; i < POINTS; i++) {
        const double expected = (double)exact((long double)x[i]);
        const float size = fmaxf(fabsf((float)expected), FLT_MIN);
        const double unit = (double)nextafterf(size, INFINITY) - (double)size;
        if (!(fabs((double)y[i] - expected) <= units * unit)) {
            fail_msg("of %.9g: %.9g, expected %.9g", (double)x[i], (double)y[i], expected);
        }
    }
    free(x);
    free(y);
}

static void check_doubles(double_loop loop, long double (*exact)(long double), double low, double high, double units)
{
    double *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y);
    for (size_t i = 0; i < POINTS; i++) {
        x[i] = point(i, low, high);
    }
    loop(y, x, POINTS);
    for (size_t i = 0; i < POINTS; i++) {
        const long double expected = exact((long double)x[i]);
        const double size = fabs((double)expected);
        const long double unit = (long double)nextafter(size, INFINITY) - (long double)size;
        if (!(fabsl((long double)y[i] - expected) <= (long double)units * unit)) {
            fail_msg("of %.17g: %.17g, expected %.17Lg", x[i], y[i], expected);
        }
    }
    free(x);
    free(y);
}

static void test_tanh(void **state)
{
    (void)state;
    check_floats(tanh_floats, tanhl, -12, 12, 4);
    check_doubles(tanh_doubles, tanhl, -25, 25, 4);
}

static void test_exp(void **state)
{
    (void)state;
    check_floats(exp_floats, expl, -87, 88, 4);
    check_doubles(exp_doubles, expl, -700, 700, 4);
}

static void test_log(void **state)
{
    (void)state;
    check_floats(log_floats, logl, 1e-3, 300, 4);
    check_doubles(log_doubles, logl, 1e-3, 300, 4);
}

/* exp's error, and one rounding each of the sum and the quotient. */
static void test_logistic(void **state)
{
    (void)state;
    check_floats(logistic_floats, logistic_exactly, -87, 87, 6);
}

/* ---- what is not a usual number --------------------------------------------------------------------------------- */

enum { WIDTH = 37 }; /* two vectors of AVX-512 and some */

/* The value stands at each place of a vector in turn, among ordinary ones. */
static void check_special(float_loop loop, float value, float expected)
{
    for (size_t place = 0; place < WIDTH; place++) {
        float x[WIDTH], y[WIDTH];
        for (size_t i = 0; i < WIDTH; i++) {
            x[i] = i == place ? value : 0.5F;
        }
        loop(y, x, WIDTH);
        for (size_t i = 0; i < WIDTH; i++) {
            assert_true(i == place || fabsf(y[i] - y[(place + 1) % WIDTH]) <= 4 * FLT_EPSILON);
        }
        assert_true(isnan(expected) ? isnan(y[place]) : y[place] == expected);
    }
}

static void test_special_numbers(void **state)
{
    (void)state;
    static const struct {
        float_loop loop;
        float value, expected;
    } cases[] = {
        {tanh_floats, NAN, NAN},
        {tanh_floats, INFINITY, 1},
        {tanh_floats, -INFINITY, -1},
        {tanh_floats, 1e30F, 1},
        {tanh_floats, -1e4F, -1},
        {tanh_floats, 0, 0},
        {exp_floats, NAN, NAN},
        {exp_floats, INFINITY, INFINITY},
        {exp_floats, -INFINITY, 0},
        {exp_floats, 1e4F, INFINITY},
        {exp_floats, -1e4F, 0},
        {exp_floats, 0, 1},
        {logistic_floats, NAN, NAN},
        {logistic_floats, INFINITY, 1},
        {logistic_floats, -INFINITY, 0},
        {logistic_floats, 1e30F, 1},
        {logistic_floats, -1e30F, 0},
        {logistic_floats, -1e4F, 0},
        {logistic_floats, 0, 0.5F},
        {log_floats, NAN, NAN},
        {log_floats, INFINITY, INFINITY},
        {log_floats, 0, -INFINITY},
        {log_floats, -1, NAN},
        {log_floats, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_special(cases[i].loop, cases[i].value, cases[i].expected);
    }
}

/* ---- which of the clones runs ----------------------------------------------------------------------------------- */

#ifdef SIMD_LEVELS
/* a·b − c with one rounding where the clone has an instruction for it, with two where it has not. */
static __attribute__((optimize("fp-contract=fast"), noinline)) SIMD_CLONES double product_less(double a, double b,
                                                                                               double c)
{
    return a * b - c;
}

static void test_clone_of_the_processor(void **state)
{
    (void)state;
    const double a = 1 + DBL_EPSILON, rounded = a * a;
#if __GNUC__ >= 12
    const int fused = __builtin_cpu_supports("x86-64-v3") != 0;
#else
    const int fused = __builtin_cpu_supports("avx512f") != 0; /* the clone for AVX2 alone has no such instruction */
#endif
    assert_int_equal(product_less(a, a, rounded) != 0, fused);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tanh),
        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_logistic),
        cmocka_unit_test(test_special_numbers),
#ifdef SIMD_LEVELS
        cmocka_unit_test(test_clone_of_the_processor),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
