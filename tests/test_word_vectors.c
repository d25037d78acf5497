/* Word vectors: the three formats in use, what is no vector, and that nothing else of the table is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "data/word_vectors.h"
#include "support_files.h"

enum { WORDS = 7, SIZE = 3 };
static const char *const list[WORDS] = {"<unk>", "<s>", "</s>", "cat", "dog", "42", "\xC3\xA9t\xC3\xA9"};
static const real UNTOUCHED = -77;

typedef struct outcome {
    nmt_status status;
    nmt_error error;
    size_t found;
    real table[WORDS][SIZE];
} outcome;

static outcome read_text(const char *text)
{
    outcome result = {.found = 99};
    vocabulary *words;
    assert_int_equal(vocabulary_from_words(&words, list, WORDS, "the test", &result.error), NMT_OK);
    for (size_t i = 0; i < WORDS * SIZE; i++) {
        result.table[i / SIZE][i % SIZE] = UNTOUCHED;
    }
    result.status =
        word_vectors_read(result.table[0], &result.found, words, SIZE, support_write("vectors", text), &result.error);
    vocabulary_free(words);
    return result;
}

static void assert_row(const outcome *result, size_t word, double a, double b, double c)
{
    const double expected[SIZE] = {a, b, c};
    for (size_t i = 0; i < SIZE; i++) {
        if (!(fabs((double)result->table[word][i] - expected[i]) <= 1e-7 * fabs(expected[i]))) {
            fail_msg("%s, %zu: %.9g, expected %.9g", list[word], i, (double)result->table[word][i], expected[i]);
        }
    }
}

static void assert_untouched(const outcome *result, size_t word)
{
    assert_row(result, word, UNTOUCHED, UNTOUCHED, UNTOUCHED);
}

static void assert_good(const outcome *result, size_t found)
{
    if (result->status != NMT_OK) {
        fail_msg("%s", result->error.message);
    }
    assert_int_equal(result->found, found);
}

static void check_animals(const char *text)
{
    const outcome result = read_text(text);
    assert_good(&result, 2);
    assert_row(&result, 3, 0.5, -1.25, 3);
    assert_row(&result, 4, 1e-3, 20, -0.125);
    for (size_t word = 0; word < WORDS; word++) {
        if (word != 3 && word != 4) {
            assert_untouched(&result, word);
        }
    }
}

static void the_formats_in_use(void **state)
{
    (void)state;
    check_animals("cat 0.5 -1.25 3\ndog 1e-3 2E+1 -.125\n");         /* GloVe */
    check_animals("2 3\ncat 0.5 -1.25 3 \ndog 0.001 20. -0.125 \n"); /* word2vec, fastText */
    check_animals("\xEF\xBB\xBF"
                  "2 3\r\ncat\t+0.5\t-1.25\t3\r\ndog\t0.1e-2\t2e01\t-0.125e0"); /* by hand */
    check_animals("bird 7 7 7\ncat 0.5 -1.25 3\nat mail@example 1 2 3\ndog 0.001 20 -0.125\n. . . 1 2 3\n");
}

static void words_that_look_like_numbers_and_special_entries(void **state)
{
    (void)state;
    const outcome result = read_text("42 1 2 3\n</s> 4 5 6\n\xC3\xA9t\xC3\xA9 7 8 9\n<unk> 0 0 1\n");
    assert_good(&result, 2); /* special entries are not counted */
    assert_row(&result, 5, 1, 2, 3);
    assert_row(&result, TOKEN_END, 4, 5, 6);
    assert_row(&result, 6, 7, 8, 9);
    assert_row(&result, TOKEN_UNKNOWN, 0, 0, 1);
    assert_untouched(&result, TOKEN_START);
}

static void the_first_vector_of_a_word_counts(void **state)
{
    (void)state;
    const outcome result = read_text("3 3\ncat 1 2 3\ncat 4 5 6\ndog 7 8 9\n");
    assert_good(&result, 2);
    assert_row(&result, 3, 1, 2, 3);
}

static void an_empty_file_has_no_vector(void **state)
{
    (void)state;
    const outcome nothing = read_text(""), none = read_text("0 3\n");
    assert_good(&nothing, 0);
    assert_good(&none, 0);
}

static void faults_name_path_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"2 4\ncat 1 2 3 4\n", "vectors:1: expected vectors of 3 numbers, as the embedding has, found 4"},
        {"cat 1 2 3\ndog 1 2\n", "vectors:2: expected a word and 3 numbers, as the embedding has, found 3 fields, the "
                                 "last 2 of them numbers: \"dog 1 2\""},
        {"cat 1 2 3 4\n",
         "vectors:1: expected a word and 3 numbers, as the embedding has, found 5 fields, the last 4 of "
         "them numbers: \"cat 1 2 3 4\""},
        {"1 2 3\n",
         "vectors:1: expected a word and 3 numbers, as the embedding has, found 3 fields, the last 3 of them "
         "numbers: \"1 2 3\""},
        {"cat 1 2 3\n\n",
         "vectors:2: expected a word and 3 numbers, as the embedding has, found 0 fields, the last 0 of "
         "them numbers: \"\""},
        {"cat 1 2x 3\n", "found 4 fields, the last 1 of them numbers: \"cat 1 2x 3\""},
        {"cat 1 - 3\n", "the last 1 of them numbers"},
        {"cat 1 . 3\n", "the last 1 of them numbers"},
        {"cat 1 2e 3\n", "the last 1 of them numbers"},
        {"cat 1 0x2 3\n", "the last 1 of them numbers"},
        {"cat 1 nan 3\n", "the last 1 of them numbers"},
        {"cat 1 1e400 3\n", "vectors:1: expected finite numbers, found \"1e400\""},
        {"cat 1 1e39000000000000000000000 3\n", "vectors:1: expected finite numbers"},
        {"3 3\ncat 1 2 3\n", "vectors: expected 3 vectors, as its first line says, found 1"},
        {"1 3\ncat 1 2 3\ndog 1 2 3\n", "vectors: expected 1 vectors, as its first line says, found 2"},
        {"cat 1 2 3\nd\xFFg 1 2 3\n", "vectors:2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const outcome result = read_text(cases[i].text);
        assert_int_equal(result.status, NMT_INVALID);
        if (strstr(result.error.message, cases[i].message) == NULL) {
            fail_msg("expected \"%s\" in:\n%s", cases[i].message, result.error.message);
        }
    }
}

static void a_file_that_is_not_there(void **state)
{
    (void)state;
    vocabulary *words;
    nmt_error error;
    real table[WORDS * SIZE];
    size_t found;
    assert_int_equal(vocabulary_from_words(&words, list, WORDS, "the test", &error), NMT_OK);
    assert_int_equal(word_vectors_read(table, &found, words, SIZE, support_path("none"), &error), NMT_IO);
    vocabulary_free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formats_in_use),
        cmocka_unit_test(words_that_look_like_numbers_and_special_entries),
        cmocka_unit_test(the_first_vector_of_a_word_counts),
        cmocka_unit_test(an_empty_file_has_no_vector),
        cmocka_unit_test(faults_name_path_and_line),
        cmocka_unit_test(a_file_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
