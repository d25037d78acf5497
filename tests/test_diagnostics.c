/* Measures of attention, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <nmt/diagnostics.h>
#include <string.h>

enum { S = 3, T = 4 };

static char *source_tokens[] = {"a", "b", "</s>"};
static char *target_tokens[] = {"w", "x", "y", "</s>"};

/* Row by row: all on a; a and b alike; all three alike; a quarter on a and the rest on </s>. */
static float table[T * S] = {1, 0, 0, 0.5F, 0.5F, 0, 1.0F / 3, 1.0F / 3, 1.0F / 3, 0.25F, 0, 0.75F};
static const nmt_alignment sentence = {S, T, source_tokens, target_tokens, table};

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("expected %.10g, found %.10g", expected, actual);
    }
}

static void test_entropy_of_rows(void **state)
{
    (void)state;
    nmt_attention_sums sums;
    double entropy[T];
    nmt_attention_measure(&sums, &sentence, 0.2, entropy, NULL);
    const double expected[T] = {0, log(2.0), log(3.0), -0.25 * log(0.25) - 0.75 * log(0.75)};
    double sum = 0;
    for (size_t t = 0; t < T; t++) {
        assert_near(entropy[t], expected[t], 1e-7);
        sum += expected[t];
    }
    const nmt_attention_means means = nmt_attention_means_of(&sums);
    assert_near(means.entropy, sum / T, 1e-7);
    assert_near(means.entropy_share, sum / T / log(3.0), 1e-7);
}

/* Coverage: a 1 + 1/2 + 1/3 + 1/4, b 1/2 + 1/3, </s> 1/3 + 3/4; the last one is neither omitted nor repeated. */
static void test_coverage(void **state)
{
    (void)state;
    nmt_attention_sums sums;
    double coverage[S];
    nmt_attention_measure(&sums, &sentence, 0.2, NULL, coverage);
    assert_near(coverage[0], 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4, 1e-6);
    assert_near(coverage[1], 1.0 / 2 + 1.0 / 3, 1e-6);
    assert_near(coverage[2], 1.0 / 3 + 3.0 / 4, 1e-6);
    assert_int_equal(sums.words, 2);
    assert_int_equal(sums.rows, 4);
    assert_int_equal(sums.omitted, 0);
    assert_near(sums.repeated, 1.0 / 2 + 1.0 / 3 + 1.0 / 4, 1e-6);
    assert_near(nmt_attention_means_of(&sums).repeated, sums.repeated / 2, 1e-12);
}

static void test_omission_is_under_the_threshold(void **state)
{
    (void)state;
    const struct {
        double threshold;
        size_t omitted;
    } cases[] = {{0.83, 0}, {0.84, 1}, {2.08, 1}, {2.09, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nmt_attention_sums sums;
        nmt_attention_measure(&sums, &sentence, cases[i].threshold, NULL, NULL);
        assert_int_equal(sums.omitted, cases[i].omitted);
        assert_near(nmt_attention_means_of(&sums).omission_rate, (double)cases[i].omitted / 2, 1e-12);
    }
}

/* Places of the source 0, 1/2, 1; of the rows 0, 1/3, 2/3, 1. */
static void test_distance_from_the_diagonal(void **state)
{
    (void)state;
    nmt_attention_sums sums;
    nmt_attention_measure(&sums, &sentence, 0.2, NULL, NULL);
    const double rows[T] = {0, 0.5 * (1.0 / 3) + 0.5 * (1.0 / 6), (2.0 / 3 + 1.0 / 6 + 1.0 / 3) / 3, 0.25};
    assert_near(sums.distance, rows[0] + rows[1] + rows[2] + rows[3], 1e-6);
    assert_near(nmt_attention_means_of(&sums).distance, sums.distance / 4, 1e-12);
}

/* The diagonal itself is at 0, its mirror image at its most. */
static void test_distance_of_the_extremes(void **state)
{
    (void)state;
    float diagonal[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    float mirrored[] = {0, 0, 1, 0, 1, 0, 1, 0, 0};
    nmt_alignment alignment = {3, 3, source_tokens, target_tokens, diagonal};
    nmt_attention_sums sums;
    nmt_attention_measure(&sums, &alignment, 0.2, NULL, NULL);
    assert_near(sums.distance, 0, 0);
    assert_near(sums.entropy, 0, 0);
    alignment.weights = mirrored;
    nmt_attention_measure(&sums, &alignment, 0.2, NULL, NULL);
    assert_near(sums.distance, 2, 1e-12);
}

/* One source token, one row: no logarithm of 1 and no division by 0. A translation that was cut off has rows of words
 * alone. */
static void test_single_tokens(void **state)
{
    (void)state;
    float one[] = {1};
    const nmt_alignment alignment = {1, 1, source_tokens, target_tokens, one};
    nmt_attention_sums sums;
    nmt_attention_measure(&sums, &alignment, 0.2, NULL, NULL);
    assert_near(sums.entropy, 0, 0);
    assert_near(sums.entropy_share, 0, 0);
    assert_near(sums.distance, 0, 0);
    assert_int_equal(sums.words, 1);
    assert_int_equal(sums.rows, 1);
}

/* A row that a rounding lifts over 1 has no entropy under 0. */
static void test_entropy_is_never_negative(void **state)
{
    (void)state;
    float row[] = {1.0000002F, 0, 0};
    const nmt_alignment alignment = {3, 1, source_tokens, target_tokens, row};
    nmt_attention_sums sums;
    nmt_attention_measure(&sums, &alignment, 0.2, NULL, NULL);
    assert_near(sums.entropy, 0, 0);
}

/* A corpus is the mean over all rows and words, not over sentences; an empty pair adds nothing. */
static void test_corpus(void **state)
{
    (void)state;
    float one[] = {0.5F, 0.5F};
    char *source[] = {"a", "</s>"};
    const nmt_alignment other = {2, 1, source, target_tokens, one};
    const nmt_alignment nothing = {0};
    nmt_attention_sums corpus = {0}, first, second, third;
    nmt_attention_measure(&first, &sentence, 1, NULL, NULL);
    nmt_attention_measure(&second, &other, 1, NULL, NULL);
    nmt_attention_measure(&third, &nothing, 1, NULL, NULL);
    nmt_attention_sums_add(&corpus, &first);
    nmt_attention_sums_add(&corpus, &second);
    nmt_attention_sums_add(&corpus, &third);
    assert_int_equal(corpus.sentences, 2);
    assert_int_equal(corpus.rows, 5);
    assert_int_equal(corpus.words, 3);
    assert_int_equal(corpus.omitted, 2);
    const nmt_attention_means means = nmt_attention_means_of(&corpus);
    assert_near(means.entropy, (first.entropy + log(2.0)) / 5, 1e-12);
    assert_near(means.entropy_share, (first.entropy_share + 1) / 5, 1e-12);
    assert_near(means.distance, (first.distance + 0.5) / 5, 1e-12);
    assert_near(means.omission_rate, 2.0 / 3, 1e-12);
    assert_near(means.repeated, first.repeated / 3, 1e-12);
    const nmt_attention_means none = nmt_attention_means_of(&third);
    assert_near(none.entropy, 0, 0);
    assert_near(none.omission_rate, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entropy_of_rows),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_omission_is_under_the_threshold),
        cmocka_unit_test(test_distance_from_the_diagonal),
        cmocka_unit_test(test_distance_of_the_extremes),
        cmocka_unit_test(test_single_tokens),
        cmocka_unit_test(test_entropy_is_never_negative),
        cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
