/* chrF: counts and formula by hand, a naive implementation on random lines, and published scores of real outputs. */
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

static double score_pair(nmt_metric metric, const char *hypothesis, const char *reference)
{
    return score_lines(metric, NULL, &hypothesis, &reference, 1);
}

/* F2 of mean precision and mean recall. */
static double f2(double precision, double recall)
{
    return 100 * 5 * precision * recall / (4 * precision + recall);
}

/* "abcd" against "abxd e" without its space: 5 characters. Orders 5 and 6 are not in both. */
static void test_formula(void **state)
{
    (void)state;
    const double precision = (3.0 / 4 + 1.0 / 3 + 0.0 / 2 + 0.0 / 1) / 4;
    const double recall = (3.0 / 5 + 1.0 / 4 + 0.0 / 3 + 0.0 / 2) / 4;
    assert_near(score_pair(NMT_METRIC_CHRF, "abcd", "abxd e"), f2(precision, recall), 1e-10);
    assert_near(score_pair(NMT_METRIC_CHRF, " a b\tc d", "abxde"), f2(precision, recall), 1e-10);
}

/* Words besides: "ab" and "cd" against "ab", "x": one of two unigrams, no bigram; characters abcd against abx. */
static void test_words_of_chrf_plus_plus(void **state)
{
    (void)state;
    const double precision = (2.0 / 4 + 1.0 / 3 + 0.0 / 2 + 1.0 / 2 + 0.0 / 1) / 5;
    const double recall = (2.0 / 3 + 1.0 / 2 + 0.0 / 1 + 1.0 / 2 + 0.0 / 1) / 5;
    assert_near(score_pair(NMT_METRIC_CHRF_WORDS, "ab cd", "ab x"), f2(precision, recall), 1e-10);
}

/* One mark is cut off, the last one first; a mark alone stays; a mark that is not ASCII belongs to its word. */
static void test_punctuation_is_apart(void **state)
{
    (void)state;
    const char *const same[][2] = {
        {"word,", "word ,"},
        {"(word", "( word"},
        {"!", " ! "},
        {"\xc3\xa9.", "\xc3\xa9 ."},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        assert_near(score_pair(NMT_METRIC_CHRF_WORDS, same[i][0], same[i][1]), 100, 1e-10);
    }
    const char *const different[][2] = {
        {"(word)", "( word )"},
        {"word\xe3\x80\x82", "word \xe3\x80\x82"},
        {"...", ". . ."},
        {"\xc3\xa9\xe3\x80\x82", "\xc3\xa9 \xe3\x80\x82"},
    };
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
        assert_near(score_pair(NMT_METRIC_CHRF, different[i][0], different[i][1]), 100, 1e-10);
        assert_true(score_pair(NMT_METRIC_CHRF_WORDS, different[i][0], different[i][1]) < 99);
    }
    /* "(word" and ")" against "y" and ")": one of two words, and of the characters the last. */
    assert_near(score_pair(NMT_METRIC_CHRF_WORDS, "(word)", "y )"),
                f2((1.0 / 6 + 1.0 / 2) / 4, (1.0 / 2 + 1.0 / 2) / 4), 1e-10);
}

/* Spaces of Unicode are left out, characters are code points and not bytes: two in common of three, one of two. */
static void test_characters_are_code_points(void **state)
{
    (void)state;
    assert_near(score_pair(NMT_METRIC_CHRF,
                           "a\xe3\x80\x80"
                           "b\xc2\xa0"
                           "c\xe2\x80\xa8"
                           "d\xc2\x85",
                           "abcd"),
                100, 1e-10);
    const double precision = (2.0 / 3 + 1.0 / 2 + 0.0 / 1) / 3;
    assert_near(
        score_pair(NMT_METRIC_CHRF, "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x90\x97", "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x91\xa2"),
        f2(precision, precision), 1e-10);
    assert_near(score_pair(NMT_METRIC_CHRF, "\xff\xfe", "\xff\xfe"), 100, 1e-10);
}

/* Counts of lines are summed before anything is divided. An order that a line's reference lacks counts nothing of the
 * hypothesis there: three characters against one leave bigrams and trigrams out. */
static void test_lines_are_summed(void **state)
{
    (void)state;
    const char *hypotheses[] = {"abc", "ab"};
    const char *references[] = {"a", "ab"};
    const double precision = (3.0 / 5 + 1.0 / 1) / 2;
    const double recall = (3.0 / 3 + 1.0 / 1) / 2;
    assert_near(score_lines(NMT_METRIC_CHRF, NULL, hypotheses, references, 2), f2(precision, recall), 1e-10);
}

static void test_nothing_to_match(void **state)
{
    (void)state;
    const nmt_metric metrics[] = {NMT_METRIC_CHRF, NMT_METRIC_CHRF_WORDS};
    for (size_t i = 0; i < 2; i++) {
        assert_near(score_pair(metrics[i], "", "a b"), 0, 0);
        assert_near(score_pair(metrics[i], "a b", ""), 0, 0);
        assert_near(score_pair(metrics[i], "", ""), 0, 0);
        assert_near(score_pair(metrics[i], "x y", "a b"), 0, 0);
    }
}

/* Each line is held against its best reference. */
static void test_several_references(void **state)
{
    (void)state;
    const char *hypotheses[] = {"abc", "xyz"};
    const char *first[] = {"abd", "xyz"};
    const char *second[] = {"abc", NULL};
    const char *const *references[] = {first, second};
    nmt_error error;
    nmt_evaluation *evaluation;
    assert_int_equal(nmt_evaluate(&evaluation, NMT_METRIC_CHRF, NULL, hypotheses, references, 2, 2, &error), NMT_OK);
    assert_near(nmt_evaluation_score(evaluation), 100, 1e-10);
    assert_string_equal(nmt_evaluation_signature(evaluation),
                        "nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:nmt-" NMT_VERSION);
    nmt_evaluation_free(evaluation);
    assert_int_equal(nmt_evaluate(&evaluation, NMT_METRIC_CHRF_WORDS, NULL, hypotheses, references, 1, 2, &error),
                     NMT_OK);
    assert_true(nmt_evaluation_score(evaluation) < 90);
    assert_string_equal(nmt_evaluation_signature(evaluation),
                        "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:nmt-" NMT_VERSION);
    nmt_evaluation_free(evaluation);
}

enum { NAIVE_ORDER = 6, NAIVE_LENGTH = 30 };

static size_t occurrences(const char *line, const char *ngram, size_t order, size_t before)
{
    size_t count = 0;
    for (size_t i = 0; i + order <= strlen(line) && i < before; i++) {
        count += memcmp(line + i, ngram, order) == 0;
    }
    return count;
}

static size_t naive_matches(const char *hypothesis, const char *reference, size_t order)
{
    size_t matches = 0;
    for (size_t i = 0; i + order <= strlen(hypothesis); i++) {
        matches +=
            occurrences(hypothesis, hypothesis + i, order, i) < occurrences(reference, hypothesis + i, order, 99);
    }
    return matches;
}

/* Lines of letters long enough to have every order. */
static double naive_score(const char *const *hypotheses, const char *const *references, size_t count)
{
    double precision = 0, recall = 0;
    for (size_t order = 1; order <= NAIVE_ORDER; order++) {
        size_t matches = 0, found = 0, wanted = 0;
        for (size_t i = 0; i < count; i++) {
            matches += naive_matches(hypotheses[i], references[i], order);
            found += strlen(hypotheses[i]) - order + 1;
            wanted += strlen(references[i]) - order + 1;
        }
        precision += (double)matches / (double)found / NAIVE_ORDER;
        recall += (double)matches / (double)wanted / NAIVE_ORDER;
    }
    return f2(precision, recall);
}

static void random_line(rng *random, char *line)
{
    const size_t length = NAIVE_ORDER + (size_t)rng_below(random, NAIVE_LENGTH - NAIVE_ORDER + 1);
    for (size_t i = 0; i < length; i++) {
        line[i] = (char)('a' + rng_below(random, 3));
    }
    line[length] = '\0';
}

static void test_agrees_with_a_naive_count(void **state)
{
    (void)state;
    enum { LINES = 100 };
    static char lines[2][LINES][NAIVE_LENGTH + 1];
    const char *hypotheses[LINES];
    const char *references[LINES];
    rng random = rng_stream(3, "chrf", 0);
    for (size_t i = 0; i < LINES; i++) {
        random_line(&random, lines[0][i]);
        random_line(&random, lines[1][i]);
        hypotheses[i] = lines[0][i];
        references[i] = lines[1][i];
    }
    const double expected = naive_score(hypotheses, references, LINES);
    assert_true(expected > 10 && expected < 90);
    assert_near(score_lines(NMT_METRIC_CHRF, NULL, hypotheses, references, LINES), expected, 1e-9);
}

static void test_published_scores(void **state)
{
    (void)state;
    check_published_scores(NMT_METRIC_CHRF, 5);
}

static void test_published_scores_with_words(void **state)
{
    (void)state;
    check_published_scores(NMT_METRIC_CHRF_WORDS, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_words_of_chrf_plus_plus),
        cmocka_unit_test(test_punctuation_is_apart),
        cmocka_unit_test(test_characters_are_code_points),
        cmocka_unit_test(test_lines_are_summed),
        cmocka_unit_test(test_nothing_to_match),
        cmocka_unit_test(test_several_references),
        cmocka_unit_test(test_agrees_with_a_naive_count),
        cmocka_unit_test(test_published_scores),
        cmocka_unit_test(test_published_scores_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
