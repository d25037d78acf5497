/* Accuracies by hand, and the paired bootstrap against what its samples must show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "support_texts.h"

static nmt_evaluation *evaluate(nmt_metric metric, const char *const *hypotheses, const char *const *const *references,
                                size_t reference_count, size_t count)
{
    nmt_error error;
    nmt_evaluation *evaluation;
    if (nmt_evaluate(&evaluation, metric, NULL, hypotheses, references, reference_count, count, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return evaluation;
}

static void check_counts(nmt_metric metric, const char *const *hypotheses, const char *const *const *references,
                         size_t reference_count, size_t count, size_t right, size_t total)
{
    nmt_evaluation *evaluation = evaluate(metric, hypotheses, references, reference_count, count);
    size_t found_right, found_total;
    nmt_evaluation_counts(evaluation, &found_right, &found_total);
    assert_int_equal(found_right, right);
    assert_int_equal(found_total, total);
    const double share = 100.0 * (double)right / (double)total;
    assert_near(nmt_evaluation_score(evaluation), metric == NMT_METRIC_ERROR_RATE ? 100 - share : share, 1e-10);
    nmt_evaluation_free(evaluation);
}

static const char *const answers[] = {"a b c", " a\tb ", "a b", "", "a b c d", "b"};
static const char *const first_references[] = {"a b c", "a b", "a b c", "", "a x c", "a"};
static const char *const second_references[] = {"x", NULL, "a  b", NULL, NULL, "c"};
static const char *const *const both_references[] = {first_references, second_references};

/* Lines are equal if their words are; any reference will do. */
static void test_accuracy(void **state)
{
    (void)state;
    check_counts(NMT_METRIC_ACCURACY, answers, both_references, 1, 6, 3, 6);
    check_counts(NMT_METRIC_ACCURACY, answers, both_references, 2, 6, 4, 6);
    check_counts(NMT_METRIC_ERROR_RATE, answers, both_references, 2, 6, 4, 6);
}

/* Words right where they stand, out of the longer line's: 3/3, 2/2, 2/3 (2/2 with both), 0/0, 2/4, 0/1. */
static void test_token_accuracy(void **state)
{
    (void)state;
    check_counts(NMT_METRIC_TOKEN_ACCURACY, answers, both_references, 1, 6, 9, 13);
    check_counts(NMT_METRIC_TOKEN_ACCURACY, answers, both_references, 2, 6, 9, 12);
}

/* An empty line is as right as can be where one of its references is empty. */
static void test_token_accuracy_of_empty_lines(void **state)
{
    (void)state;
    const char *const hypotheses[] = {"", "a"};
    const char *const first[] = {"x y", "a"};
    const char *const second[] = {"", ""};
    check_counts(NMT_METRIC_TOKEN_ACCURACY, hypotheses, (const char *const *const[]){first, second}, 2, 2, 1, 1);
}

static void test_signatures_and_names(void **state)
{
    (void)state;
    static const struct {
        nmt_metric metric;
        const char *name, *signature;
    } rows[] = {
        {NMT_METRIC_ACCURACY, "accuracy", "nrefs:1|case:mixed|tok:none|unit:line|version:nmt-" NMT_VERSION},
        {NMT_METRIC_TOKEN_ACCURACY, "token-accuracy",
         "nrefs:1|case:mixed|tok:none|unit:token|of:longer|version:nmt-" NMT_VERSION},
        {NMT_METRIC_ERROR_RATE, "error-rate", "nrefs:1|case:mixed|tok:none|unit:line|version:nmt-" NMT_VERSION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        nmt_evaluation *evaluation = evaluate(rows[i].metric, answers, both_references, 1, 6);
        assert_string_equal(nmt_metric_name(rows[i].metric), rows[i].name);
        assert_string_equal(nmt_evaluation_signature(evaluation), rows[i].signature);
        nmt_evaluation_free(evaluation);
    }
}

/* ---- the bootstrap ----------------------------------------------------------------------------------------------- */

enum { LINES = 200 };

/* A text of which `right` lines are right, those that follow `from`. */
static nmt_evaluation *text_with(nmt_metric metric, size_t right, size_t from)
{
    static const char *references[LINES];
    const char *const *all = references;
    const char *hypotheses[LINES];
    for (size_t i = 0; i < LINES; i++) {
        references[i] = "a b c d";
        hypotheses[i] = (i + LINES - from) % LINES < right ? "a b c d" : "a b c x";
    }
    return evaluate(metric, hypotheses, &all, 1, LINES);
}

static nmt_comparison compare(nmt_evaluation *first, nmt_evaluation *second, size_t samples, uint64_t seed)
{
    nmt_comparison comparison;
    nmt_error error;
    assert_int_equal(nmt_evaluation_compare(&comparison, first, second, samples, seed, &error), NMT_OK);
    return comparison;
}

/* 120 and 100 of 200 right. On the same lines (all that the second has right the first has too) the difference of 10 is
 * 20 lines of 200 that differ: its deviation is sqrt(.1 * .9 / 200) = 2.1 points, and no sample turns it round. On
 * lines apart it is larger, and some do. */
static void test_pairs_are_kept(void **state)
{
    (void)state;
    nmt_evaluation *first = text_with(NMT_METRIC_ACCURACY, 120, 0);
    nmt_evaluation *paired = text_with(NMT_METRIC_ACCURACY, 100, 0);
    nmt_evaluation *apart = text_with(NMT_METRIC_ACCURACY, 100, 100);
    const nmt_comparison close = compare(first, paired, 1000, 1);
    assert_near(close.difference, 10, 1e-10);
    assert_near(close.low, 10 - 1.96 * 2.12, 1.0);
    assert_near(close.high, 10 + 1.96 * 2.12, 1.0);
    assert_near(close.p_value, 1.0 / 1001, 1e-12);
    const nmt_comparison wide = compare(first, apart, 1000, 1);
    assert_near(wide.difference, 10, 1e-10);
    /* 90 % of the lines differ: variance (.9 - .01) / 200, deviation 6.67 points; normal tail over 1.5 of them. */
    assert_near(wide.low, 10 - 1.96 * 6.67, 2.5);
    assert_near(wide.high, 10 + 1.96 * 6.67, 2.5);
    assert_near(wide.p_value, 0.067, 0.03);
    nmt_evaluation_free(first);
    nmt_evaluation_free(paired);
    nmt_evaluation_free(apart);
}

/* The other way round everything is negative, and p is the same: it is about the better text. */
static void test_order_turns_the_sign(void **state)
{
    (void)state;
    nmt_evaluation *first = text_with(NMT_METRIC_BLEU, 120, 0);
    nmt_evaluation *second = text_with(NMT_METRIC_BLEU, 100, 60);
    const nmt_comparison there = compare(first, second, 300, 5);
    const nmt_comparison back = compare(second, first, 300, 5);
    assert_true(there.difference > 0 && there.low < there.difference && there.difference < there.high);
    assert_near(there.difference, -back.difference, 0);
    assert_near(there.low, -back.high, 0);
    assert_near(there.high, -back.low, 0);
    assert_near(there.p_value, back.p_value, 0);
    const nmt_comparison again = compare(first, second, 300, 5);
    assert_memory_equal(&there, &again, sizeof there);
    const nmt_comparison other = compare(first, second, 300, 6);
    assert_true(other.low != there.low || other.high != there.high);
    nmt_evaluation_free(first);
    nmt_evaluation_free(second);
}

static void test_text_against_itself(void **state)
{
    (void)state;
    nmt_evaluation *same = text_with(NMT_METRIC_CHRF_WORDS, 77, 0);
    const nmt_comparison comparison = compare(same, same, 100, 1);
    assert_near(comparison.difference, 0, 0);
    assert_near(comparison.low, 0, 0);
    assert_near(comparison.high, 0, 0);
    assert_near(comparison.p_value, 1, 0);
    nmt_evaluation_free(same);
}

static void test_what_cannot_be_compared(void **state)
{
    (void)state;
    nmt_error error;
    nmt_comparison comparison;
    nmt_evaluation *accuracy = text_with(NMT_METRIC_ACCURACY, 10, 0);
    nmt_evaluation *bleu = text_with(NMT_METRIC_BLEU, 10, 0);
    nmt_evaluation *shorter = evaluate(NMT_METRIC_ACCURACY, answers, both_references, 1, 6);
    assert_int_equal(nmt_evaluation_compare(&comparison, accuracy, bleu, 10, 1, &error), NMT_INVALID);
    assert_int_equal(nmt_evaluation_compare(&comparison, accuracy, shorter, 10, 1, &error), NMT_INVALID);
    assert_int_equal(nmt_evaluation_compare(&comparison, accuracy, accuracy, 0, 1, &error), NMT_INVALID);
    nmt_evaluation_free(accuracy);
    nmt_evaluation_free(bleu);
    nmt_evaluation_free(shorter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_token_accuracy),
        cmocka_unit_test(test_token_accuracy_of_empty_lines),
        cmocka_unit_test(test_signatures_and_names),
        cmocka_unit_test(test_pairs_are_kept),
        cmocka_unit_test(test_order_turns_the_sign),
        cmocka_unit_test(test_text_against_itself),
        cmocka_unit_test(test_what_cannot_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
