/* BLEU: counts against a naive count, the score against the formula by hand, and published scores of real outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <nmt/evaluate.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comma_locale.h"
#include "core/rng.h"
#include "support_texts.h"

static nmt_bleu score(const char *const *hypotheses, const char *const *references, size_t count)
{
    nmt_bleu bleu;
    nmt_error error;
    if (nmt_bleu_corpus(&bleu, hypotheses, references, count, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return bleu;
}

static nmt_bleu score_pair(const char *hypothesis, const char *reference)
{
    return score(&hypothesis, &reference, 1);
}

/* The example of Papineni et al. 2002, section 2.1: 2 of 7. */
static void test_counts_are_clipped(void **state)
{
    (void)state;
    const nmt_bleu bleu = score_pair("the the the the the the the", "the cat is on the mat");
    assert_int_equal(bleu.matches[0], 2);
    assert_int_equal(bleu.totals[0], 7);
    assert_int_equal(bleu.matches[1], 0);
    assert_int_equal(bleu.totals[1], 6);
    assert_near(bleu.precision[0], 100 * 2.0 / 7, 1e-12);
    assert_near(bleu.score, 0, 0);
}

static void test_same_text_scores_100(void **state)
{
    (void)state;
    const nmt_bleu bleu = score_pair("a b c d e", "a b c d e");
    assert_near(bleu.score, 100, 1e-12);
    assert_near(bleu.brevity_penalty, 1, 0);
}

/* Six words against eight: precisions 5/6, 4/5, 3/4, 2/3, and the penalty exp(1 - 8/6). */
static void test_formula(void **state)
{
    (void)state;
    const nmt_bleu bleu = score_pair("a b c d e x", "a b c d e f g h");
    assert_int_equal(bleu.hypothesis_length, 6);
    assert_int_equal(bleu.reference_length, 8);
    assert_near(bleu.brevity_penalty, exp(1 - 8.0 / 6), 1e-12);
    const double mean = pow(5.0 / 6 * 4 / 5 * 3 / 4 * 2 / 3, 0.25);
    assert_near(bleu.score, 100 * exp(1 - 8.0 / 6) * mean, 1e-10);
}

static void test_longer_output_has_no_penalty(void **state)
{
    (void)state;
    const nmt_bleu bleu = score_pair("a b c d e f", "a b c d");
    assert_near(bleu.brevity_penalty, 1, 0);
    assert_near(bleu.precision[0], 100 * 4.0 / 6, 1e-12);
}

/* Counts are summed over lines before dividing; n-grams do not cross lines, and a line knows nothing of the last. */
static void test_lines_are_summed(void **state)
{
    (void)state;
    const char *hypotheses[] = {"a b c d", "c d a b e", "", "e"};
    const char *references[] = {"a b c d", "a b c d e", "a", ""};
    const nmt_bleu bleu = score(hypotheses, references, 4);
    const size_t matches[] = {9, 5, 2, 1};
    const size_t totals[] = {10, 7, 5, 3};
    assert_memory_equal(bleu.matches, matches, sizeof matches);
    assert_memory_equal(bleu.totals, totals, sizeof totals);
    assert_int_equal(bleu.reference_length, 10);
}

static void test_nothing_to_match(void **state)
{
    (void)state;
    assert_near(score_pair("", "a b c d").score, 0, 0);
    assert_near(score_pair("", "a b c d").brevity_penalty, 0, 0);
    assert_near(score_pair("a b c d", "").score, 0, 0);
    assert_near(score_pair("", "").score, 0, 0);
    assert_near(score_pair("a b c", "a b c").score, 0, 0); /* no 4-gram at all */
}

static void test_ascii_whitespace_and_nothing_else_separates(void **state)
{
    (void)state;
    const nmt_bleu bleu = score_pair(" a\tb  c\x1f\x0b\r d ", "a b c d");
    assert_near(bleu.score, 100, 1e-12);
    assert_int_equal(score_pair("a\xc2\xa0"
                                "b c",
                                "a b c")
                         .hypothesis_length,
                     2);
}

static void test_no_lines_are_an_error(void **state)
{
    (void)state;
    nmt_bleu bleu;
    nmt_error error;
    assert_int_equal(nmt_bleu_corpus(&bleu, NULL, NULL, 0, &error), NMT_INVALID);
}

enum { NAIVE_LENGTH = 12 };

/* Single letters with a space behind each. */
static size_t random_line(rng *random, char *line)
{
    const size_t length = (size_t)rng_below(random, NAIVE_LENGTH + 1);
    for (size_t i = 0; i < length; i++) {
        line[2 * i] = (char)('a' + rng_below(random, 3));
        line[2 * i + 1] = ' ';
    }
    line[2 * length] = '\0';
    return length;
}

static size_t occurrences(const char *line, size_t length, const char *ngram, size_t order, size_t before)
{
    size_t count = 0;
    for (size_t i = 0; i + order <= length && i < before; i++) {
        count += memcmp(line + 2 * i, ngram, 2 * order) == 0;
    }
    return count;
}

/* An n-gram matches if it stood before in the hypothesis fewer times than it stands in the reference. */
static size_t naive_matches(const char *hypothesis, size_t h, const char *reference, size_t r, size_t order)
{
    size_t matches = 0;
    for (size_t i = 0; i + order <= h; i++) {
        const char *ngram = hypothesis + 2 * i;
        matches += occurrences(hypothesis, h, ngram, order, i) < occurrences(reference, r, ngram, order, SIZE_MAX);
    }
    return matches;
}

static void test_matches_agree_with_a_naive_count(void **state)
{
    (void)state;
    enum { LINES = 200 };
    static char lines[2][LINES][2 * NAIVE_LENGTH + 1];
    const char *hypotheses[LINES];
    const char *references[LINES];
    size_t expected[NMT_BLEU_ORDER] = {0};
    rng random = rng_stream(7, "bleu", 0);
    for (size_t i = 0; i < LINES; i++) {
        const size_t h = random_line(&random, lines[0][i]);
        const size_t r = random_line(&random, lines[1][i]);
        hypotheses[i] = lines[0][i];
        references[i] = lines[1][i];
        for (size_t order = 1; order <= NMT_BLEU_ORDER; order++) {
            expected[order - 1] += naive_matches(lines[0][i], h, lines[1][i], r, order);
        }
    }
    const nmt_bleu bleu = score(hypotheses, references, LINES);
    assert_true(expected[NMT_BLEU_ORDER - 1] > 0);
    assert_memory_equal(bleu.matches, expected, sizeof expected);
}

static void test_published_scores(void **state)
{
    (void)state;
    check_published_scores(NMT_METRIC_BLEU, 2);
}

/* BLEU of lines with several references each. */
static nmt_bleu score_many(const char *const *hypotheses, const char *const *const *references, size_t reference_count,
                           size_t count)
{
    nmt_error error;
    nmt_evaluation *evaluation;
    if (nmt_evaluate(&evaluation, NMT_METRIC_BLEU, NULL, hypotheses, references, reference_count, count, &error) !=
        NMT_OK) {
        fail_msg("%s", error.message);
    }
    const nmt_bleu bleu = nmt_evaluation_bleu(evaluation);
    nmt_evaluation_free(evaluation);
    return bleu;
}

/* "the" may match twice, for one reference has two, and never three times, though together they have three. */
static void test_several_references_clip_by_the_most_of_one(void **state)
{
    (void)state;
    const char *hypothesis = "the the the cat";
    const char *first = "the cat the";
    const char *second = "a the";
    const char *const *references[] = {&first, &second};
    const nmt_bleu bleu = score_many(&hypothesis, references, 2, 1);
    assert_int_equal(bleu.matches[0], 3);
    assert_int_equal(bleu.matches[1], 1);
    assert_int_equal(bleu.totals[0], 4);
}

/* Lengths 3 and 7 are as far from 5: the shorter one counts; 4 beats 7 for a line of 5; a missing one does not count.
 */
static void test_reference_length_is_the_closest(void **state)
{
    (void)state;
    const char *hypotheses[] = {"a b c d e", "a b c d e", "a b c d e"};
    const char *first[] = {"a b c d e f g", "a b c d e f g", "a b c d e f g"};
    const char *second[] = {"a b c", "a b c d", NULL};
    const char *const *references[] = {first, second};
    assert_int_equal(score_many(hypotheses, references, 2, 1).reference_length, 3);
    assert_int_equal(score_many(hypotheses + 1, (const char *const *[]){first + 1, second + 1}, 2, 1).reference_length,
                     4);
    assert_int_equal(score_many(hypotheses, references, 2, 3).reference_length, 3 + 4 + 7);
    assert_int_equal(score_many(hypotheses, (const char *const *[]){second, first}, 2, 2).reference_length, 3 + 4);
}

/* Six words, of which three, one, none and none of the n-grams match: 6, 5, 4 and 3 of them. */
static void test_smoothing(void **state)
{
    (void)state;
    const char *hypothesis = "a b x c y z";
    const char *reference = "a b c d e f";
    const struct {
        nmt_metric_options options;
        double precision[NMT_BLEU_ORDER];
    } cases[] = {
        {{NMT_SMOOTHING_NONE, 0, false}, {3.0 / 6, 1.0 / 5, 0, 0}},
        {{NMT_SMOOTHING_EXP, 0, false}, {3.0 / 6, 1.0 / 5, 0.5 / 4, 0.25 / 3}},
        {{NMT_SMOOTHING_FLOOR, 0, false}, {3.0 / 6, 1.0 / 5, 0.1 / 4, 0.1 / 3}},
        {{NMT_SMOOTHING_FLOOR, 0.02, false}, {3.0 / 6, 1.0 / 5, 0.02 / 4, 0.02 / 3}},
        {{NMT_SMOOTHING_ADD_K, 0, false}, {3.0 / 6, 2.0 / 6, 1.0 / 5, 1.0 / 4}},
        {{NMT_SMOOTHING_ADD_K, 0.5, false}, {3.0 / 6, 1.5 / 5.5, 0.5 / 4.5, 0.5 / 3.5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double *p = cases[i].precision;
        const double expected = 100 * pow(p[0] * p[1] * p[2] * p[3], 0.25);
        assert_near(score_lines(NMT_METRIC_BLEU, &cases[i].options, &hypothesis, &reference, 1), expected, 1e-10);
    }
}

/* Nothing matches: no method makes up a score. Too short for 4-grams: only add-k has a precision for them. */
static void test_smoothing_of_short_text(void **state)
{
    (void)state;
    const char *hypotheses[] = {"x y z w v", "a b c"};
    const char *references[] = {"a b c d e", "a b c"};
    for (int method = NMT_SMOOTHING_NONE; method <= NMT_SMOOTHING_ADD_K; method++) {
        const nmt_metric_options options = {(nmt_smoothing)method, 0, false};
        assert_near(score_lines(NMT_METRIC_BLEU, &options, hypotheses, references, 1), 0, 0);
        assert_near(score_lines(NMT_METRIC_BLEU, &options, hypotheses + 1, references + 1, 1),
                    method == NMT_SMOOTHING_ADD_K ? 100 : 0, 1e-10);
    }
}

static void test_lowercase(void **state)
{
    (void)state;
    const char *hypothesis = "\xc3\x84 DIE \xce\xa9 x";
    const char *reference = "\xc3\xa4 die \xcf\x89 X";
    const nmt_metric_options lowercase = {.lowercase = true};
    assert_near(score_lines(NMT_METRIC_BLEU, NULL, &hypothesis, &reference, 1), 0, 0);
    assert_near(score_lines(NMT_METRIC_BLEU, &lowercase, &hypothesis, &reference, 1), 100, 1e-10);
}

static void check_signature(const nmt_metric_options *options, const char *const *const *references, size_t count,
                            const char *expected)
{
    const char *hypotheses[] = {"a", "b"};
    nmt_error error;
    nmt_evaluation *evaluation;
    assert_int_equal(nmt_evaluate(&evaluation, NMT_METRIC_BLEU, options, hypotheses, references, count, 2, &error),
                     NMT_OK);
    assert_string_equal(nmt_evaluation_signature(evaluation), expected);
    nmt_evaluation_free(evaluation);
}

static void test_signature(void **state)
{
    (void)state;
    const char *all[] = {"a", "b"};
    const char *some[] = {"a", NULL};
    const char *const *references[] = {all, all, some};
    char directory[] = "/tmp/nmt-locale-XXXXXX";
    assert_non_null(mkdtemp(directory));
    comma_locale_set(directory); /* where the system has none, the text is checked all the same */
    check_signature(NULL, references, 1, "nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:nmt-" NMT_VERSION);
    check_signature(&(nmt_metric_options){NMT_SMOOTHING_FLOOR, 0, true}, references, 2,
                    "nrefs:2|case:lc|eff:no|tok:none|smooth:floor[0.10]|version:nmt-" NMT_VERSION);
    check_signature(&(nmt_metric_options){NMT_SMOOTHING_ADD_K, 0.0625, false}, references, 3,
                    "nrefs:var|case:mixed|eff:no|tok:none|smooth:add-k[0.0625]|version:nmt-" NMT_VERSION);
    check_signature(&(nmt_metric_options){NMT_SMOOTHING_EXP, 0, false}, references, 1,
                    "nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:nmt-" NMT_VERSION);
    setlocale(LC_ALL, "C");
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

static void test_options_out_of_range(void **state)
{
    (void)state;
    const char *line = "a";
    const char *const *references = &line;
    const double values[] = {-1, NAN, INFINITY};
    nmt_error error;
    nmt_evaluation *evaluation;
    for (size_t i = 0; i < 3; i++) {
        const nmt_metric_options options = {NMT_SMOOTHING_FLOOR, values[i], false};
        assert_int_equal(nmt_evaluate(&evaluation, NMT_METRIC_BLEU, &options, &line, &references, 1, 1, &error),
                         NMT_INVALID);
    }
    assert_int_equal(nmt_evaluate(&evaluation, NMT_METRIC_BLEU, NULL, &line, &references, 0, 1, &error), NMT_INVALID);
    assert_int_equal(nmt_evaluate(&evaluation, NMT_METRIC_COUNT, NULL, &line, &references, 1, 1, &error), NMT_INVALID);
    const char *nothing = NULL;
    assert_int_equal(
        nmt_evaluate(&evaluation, NMT_METRIC_BLEU, NULL, &line, (const char *const *[]){&nothing}, 1, 1, &error),
        NMT_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_clipped),
        cmocka_unit_test(test_same_text_scores_100),
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_longer_output_has_no_penalty),
        cmocka_unit_test(test_lines_are_summed),
        cmocka_unit_test(test_nothing_to_match),
        cmocka_unit_test(test_ascii_whitespace_and_nothing_else_separates),
        cmocka_unit_test(test_no_lines_are_an_error),
        cmocka_unit_test(test_matches_agree_with_a_naive_count),
        cmocka_unit_test(test_published_scores),
        cmocka_unit_test(test_several_references_clip_by_the_most_of_one),
        cmocka_unit_test(test_reference_length_is_the_closest),
        cmocka_unit_test(test_smoothing),
        cmocka_unit_test(test_smoothing_of_short_text),
        cmocka_unit_test(test_lowercase),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_options_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
