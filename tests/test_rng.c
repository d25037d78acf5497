#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "core/rng.h"
#include "support_reals.h"

/* The first outputs of xoshiro256** from the state 1, 2, 3, 4; the first follow by hand: rotl(5 * 2, 7) * 9 = 11520. */
static void test_known_sequence(void **state)
{
    (void)state;
    static const uint64_t expected[] = {11520u,
                                        0u,
                                        1509978240u,
                                        1215971899390074240u,
                                        1216172134540287360u,
                                        607988272756665600u,
                                        16172922978634559625u,
                                        8476171486693032832u,
                                        10595114339597558777u,
                                        2904607092377533576u};
    rng generator = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(rng_next(&generator) == expected[i]);
    }
}

static void test_streams(void **state)
{
    (void)state;
    const rng streams[] = {rng_stream(1, "shuffle", 0), rng_stream(2, "shuffle", 0), rng_stream(1, "init", 0),
                           rng_stream(1, "shuffle", 1), rng_stream(0, "", 0)};
    const size_t count = sizeof streams / sizeof *streams;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < a; b++) {
            rng one = streams[a], other = streams[b];
            for (int i = 0; i < 4; i++) {
                assert_true(rng_next(&one) != rng_next(&other));
            }
        }
    }
    const rng again = rng_stream(1, "shuffle", 0);
    assert_memory_equal(&again, &streams[0], sizeof again);
}

/* Mean of x and x^2 over many draws. */
typedef struct moments {
    double first, second;
} moments;

enum { DRAWS = 200000 };

static moments draw_moments(double (*draw)(rng *generator))
{
    rng generator = rng_stream(7, "moments", 0);
    moments sum = {0, 0};
    for (size_t i = 0; i < DRAWS; i++) {
        const double x = draw(&generator);
        sum.first += x / DRAWS;
        sum.second += x * x / DRAWS;
    }
    return sum;
}

/* Tolerances are five standard deviations of the mean. */
static void test_uniform(void **state)
{
    (void)state;
    rng generator = rng_stream(3, "uniform", 0);
    for (size_t i = 0; i < DRAWS; i++) {
        const double x = rng_uniform(&generator);
        assert_true(x >= 0 && x < 1);
    }
    const moments found = draw_moments(rng_uniform);
    assert_near(found.first, 1.0 / 2, 5 * sqrt(1.0 / 12 / DRAWS));
    assert_near(found.second, 1.0 / 3, 5 * sqrt(4.0 / 45 / DRAWS));
}

static double normal_squared(rng *generator)
{
    const double x = rng_normal(generator);
    return x * x;
}

static void test_normal(void **state)
{
    (void)state;
    const moments plain = draw_moments(rng_normal), squared = draw_moments(normal_squared);
    assert_near(plain.first, 0, 5 * sqrt(1.0 / DRAWS));
    assert_near(plain.second, 1, 5 * sqrt(2.0 / DRAWS));
    assert_near(squared.second, 3, 5 * sqrt(96.0 / DRAWS)); /* E x^4 = 3, E x^8 = 105 */
}

static void test_below(void **state)
{
    (void)state;
    enum { BOUND = 6 };
    size_t seen[BOUND] = {0};
    rng generator = rng_stream(5, "below", 0);
    for (size_t i = 0; i < DRAWS; i++) {
        const uint64_t x = rng_below(&generator, BOUND);
        assert_true(x < BOUND);
        seen[x]++;
    }
    for (size_t i = 0; i < BOUND; i++) {
        assert_near((double)seen[i], DRAWS / 6.0, 5 * sqrt(DRAWS * 5.0 / 36));
    }
    assert_true(rng_below(&generator, 1) == 0);
}

/* With a bound of 3/4 of all numbers, a plain remainder would make the lower third twice as likely. */
static void test_below_has_no_bias(void **state)
{
    (void)state;
    const uint64_t bound = (uint64_t)3 << 62;
    size_t low = 0;
    rng generator = rng_stream(5, "bias", 0);
    for (size_t i = 0; i < DRAWS; i++) {
        low += rng_below(&generator, bound) < bound / 3;
    }
    assert_near((double)low, DRAWS / 3.0, 5 * sqrt(DRAWS * 2.0 / 9));
}

static void test_shuffle(void **state)
{
    (void)state;
    size_t seen[3][3] = {{0}}; /* how often index i came to place j */
    rng generator = rng_stream(9, "shuffle", 0);
    for (size_t repeat = 0; repeat < DRAWS / 10; repeat++) {
        uint32_t indices[3] = {0, 1, 2};
        bool present[3] = {false, false, false};
        rng_shuffle(&generator, indices, 3);
        for (size_t j = 0; j < 3; j++) {
            present[indices[j]] = true;
            seen[indices[j]][j]++;
        }
        assert_true(present[0] && present[1] && present[2]);
    }
    for (size_t i = 0; i < 9; i++) {
        assert_near((double)seen[i / 3][i % 3], DRAWS / 30.0, 5 * sqrt(DRAWS / 10 * 2.0 / 9));
    }
    uint32_t one = 7;
    rng_shuffle(&generator, &one, 1);
    rng_shuffle(&generator, &one, 0);
    assert_int_equal(one, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sequence), cmocka_unit_test(test_streams), cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_normal),         cmocka_unit_test(test_below),   cmocka_unit_test(test_below_has_no_bias),
        cmocka_unit_test(test_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
