/* BLEU: counts against a naive count, the score against the formula by hand, and published scores of real outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <nmt/evaluate.h>
#include <nmt/io.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("expected %.10g, found %.10g", expected, actual);
    }
}

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
    static char text[2][LINES][2 * NAIVE_LENGTH + 1];
    const char *hypotheses[LINES];
    const char *references[LINES];
    size_t expected[NMT_BLEU_ORDER] = {0};
    rng random = rng_stream(7, "bleu", 0);
    for (size_t i = 0; i < LINES; i++) {
        const size_t h = random_line(&random, text[0][i]);
        const size_t r = random_line(&random, text[1][i]);
        hypotheses[i] = text[0][i];
        references[i] = text[1][i];
        for (size_t order = 1; order <= NMT_BLEU_ORDER; order++) {
            expected[order - 1] += naive_matches(text[0][i], h, text[1][i], r, order);
        }
    }
    const nmt_bleu bleu = score(hypotheses, references, LINES);
    assert_true(expected[NMT_BLEU_ORDER - 1] > 0);
    assert_memory_equal(bleu.matches, expected, sizeof expected);
}

typedef struct text {
    char **lines;
    size_t count;
} text;

static text read_text(const char *path)
{
    text all = {0};
    nmt_error error;
    nmt_reader *reader;
    if (nmt_reader_open(&reader, path, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    const char *line;
    size_t length;
    while (nmt_reader_next(reader, &line, &length, &error) == NMT_OK && line != NULL) {
        all.lines = realloc(all.lines, (all.count + 1) * sizeof *all.lines);
        all.lines[all.count++] = strdup(line);
    }
    nmt_reader_close(reader);
    return all;
}

static void free_text(text *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->lines[i]);
    }
    free(all->lines);
}

/* One row of scores.tsv: system, BLEU13a, BLEUnone, ... */
static void check_system(const char *directory, const char *row, const text *references)
{
    char system[128];
    char path[1024];
    double expected;
    assert_int_equal(sscanf(row, "%127s %*f %lf", system, &expected), 2);
    snprintf(path, sizeof path, "%s/%s.txt", directory, system);
    text hypotheses = read_text(path);
    assert_int_equal(hypotheses.count, references->count);
    const nmt_bleu bleu =
        score((const char *const *)hypotheses.lines, (const char *const *)references->lines, references->count);
    assert_near(bleu.score, expected, 0.5e-4);
    free_text(&hypotheses);
}

/* Outputs of four systems at WMT17 with scores known to four decimals; skipped where the texts are not there. */
static void test_published_scores(void **state)
{
    (void)state;
    const char *shared = getenv("NMT_SHARED_DATA");
    char directory[512];
    char path[1024];
    snprintf(directory, sizeof directory, "%s/bleu", shared != NULL ? shared : "../../shared/data");
    snprintf(path, sizeof path, "%s/scores.tsv", directory);
    FILE *scores = fopen(path, "r");
    if (scores == NULL) {
        print_message("%s is not there\n", path);
        skip();
    }
    snprintf(path, sizeof path, "%s/reference.txt", directory);
    text references = read_text(path);
    char row[512];
    size_t systems = 0;
    assert_non_null(fgets(row, sizeof row, scores)); /* the header */
    while (fgets(row, sizeof row, scores) != NULL) {
        check_system(directory, row, &references);
        systems++;
    }
    assert_int_equal(systems, 4);
    free_text(&references);
    fclose(scores);
}

static void test_signature(void **state)
{
    (void)state;
    assert_non_null(strstr(nmt_bleu_signature(), "|tok:none|smooth:none|version:nmt-"));
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
        cmocka_unit_test(test_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
