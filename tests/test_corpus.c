#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "data/corpus.h"
#include "support_files.h"

static nmt_error error;

static const char source_text[] = "\xef\xbb\xbf"
                                  "A b\tc \r\n"     /* 1 */
                                  "\n"              /* 2: empty source */
                                  "d </s> d\n"      /* 3 */
                                  "e\n"             /* 4: empty target */
                                  "e e e e e\n"     /* 5: too long */
                                  " f\xc2\xa0g  A"; /* 6 */
static const char target_text[] = "x Y\n"
                                  "y\n"
                                  "z <unk>\n"
                                  " \t \n"
                                  "z\n"
                                  "x\xe2\x80\xa8y x z y\r\n";

static corpus_options options_for(size_t max_length)
{
    return (corpus_options){.source_path = support_write_bytes("s", source_text, sizeof source_text - 1),
                            .target_path = support_write_bytes("t", target_text, sizeof target_text - 1),
                            .max_length = max_length};
}

static vocabulary *vocabulary_of(const char *text)
{
    vocabulary *words;
    assert_int_equal(vocabulary_from_file(&words, support_write("v", text), &error), NMT_OK);
    return words;
}

static corpus *open_corpus(const corpus_options *options)
{
    corpus *pairs;
    assert_int_equal(corpus_open(&pairs, options, NULL, NULL, &error), NMT_OK);
    return pairs;
}

static void test_summary(void **state)
{
    (void)state;
    const corpus_options options = options_for(4);
    corpus *pairs = open_corpus(&options);
    const corpus_summary summary = corpus_summarise(pairs);
    assert_int_equal(summary.lines, 6);
    assert_int_equal(summary.kept, 3);
    assert_int_equal(summary.empty, 2);
    assert_int_equal(summary.too_long, 1);
    assert_int_equal(summary.source_tokens, 8);
    assert_int_equal(summary.target_tokens, 8);
    assert_int_equal(corpus_size(pairs), 3);
    static const size_t expected[3][3] = {{1, 3, 2}, {3, 3, 2}, {6, 2, 4}}; /* line, lengths */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(corpus_line(pairs, i), expected[i][0]);
        assert_int_equal(corpus_source_length(pairs, i), expected[i][1]);
        assert_int_equal(corpus_target_length(pairs, i), expected[i][2]);
    }
    corpus_close(pairs);
    corpus_close(NULL);
}

static void test_length_limit(void **state)
{
    (void)state;
    const corpus_options options = {.source_path = support_write("s", "a\na a\na a a\na\n"),
                                    .target_path = support_write("t", "b\nb b\nb\nb b b\n"),
                                    .max_length = 2};
    corpus *pairs = open_corpus(&options);
    assert_int_equal(corpus_summarise(pairs).kept, 2); /* the limit itself is allowed, on either side */
    assert_int_equal(corpus_summarise(pairs).too_long, 2);
    assert_int_equal(corpus_line(pairs, 1), 2);
    corpus_close(pairs);
}

static void test_read(void **state)
{
    (void)state;
    const corpus_options options = options_for(4);
    corpus *pairs = open_corpus(&options);
    vocabulary *source_words = vocabulary_of("A\nb\nc\nd\nf\xc2\xa0g\n"); /* 3 .. 7 */
    vocabulary *target_words = vocabulary_of("x\ny\nz\nx\xe2\x80\xa8y\n");
    static const int32_t sources[3][4] = {{3, 4, 5, -9}, {6, TOKEN_UNKNOWN, 6, -9}, {7, 3, -9, -9}};
    static const int32_t targets[3][5] = {
        {3, TOKEN_UNKNOWN, -9, -9, -9}, {5, TOKEN_UNKNOWN, -9, -9, -9}, {6, 3, 5, 4, -9}};
    for (size_t round = 0; round < 6; round++) {
        const size_t i = (round * 2) % 3; /* any order */
        int32_t source[4] = {-9, -9, -9, -9};
        int32_t target[5] = {-9, -9, -9, -9, -9};
        assert_int_equal(corpus_read(pairs, i, source_words, target_words, source, target, &error), NMT_OK);
        assert_memory_equal(source, sources[i], sizeof source);
        assert_memory_equal(target, targets[i], sizeof target);
    }
    double source_rate = -1;
    double target_rate = -1;
    assert_int_equal(corpus_unknown_rates(pairs, source_words, target_words, &source_rate, &target_rate, &error),
                     NMT_OK);
    assert_true(source_rate == 1.0 / 8);
    assert_true(target_rate == 2.0 / 8);
    vocabulary_free(source_words);
    vocabulary_free(target_words);
    corpus_close(pairs);
}

static void test_counts(void **state)
{
    (void)state;
    const corpus_options options = options_for(4);
    word_counts *counts;
    corpus *pairs;
    vocabulary *words;
    assert_int_equal(word_counts_create(&counts, &error), NMT_OK);
    assert_int_equal(corpus_open(&pairs, &options, counts, counts, &error), NMT_OK);
    assert_int_equal(vocabulary_from_counts(&words, counts, 0, 1, &error), NMT_OK);
    /* A d x z twice; the words of pairs left out are not there, nor a byte-order mark. */
    static const char *const expected[] = {"A", "d", "x", "z", "Y", "b", "c", "f\xc2\xa0g", "x\xe2\x80\xa8y", "y"};
    assert_int_equal(vocabulary_size(words), 3 + 10);
    for (int32_t i = 0; i < 10; i++) {
        assert_string_equal(vocabulary_word(words, 3 + i), expected[i]);
    }
    vocabulary_free(words);
    word_counts_free(counts);
    corpus_close(pairs);
}

static void test_normalisation(void **state)
{
    (void)state;
    corpus_options options = options_for(0);
    options.source_path = support_write("s", "A\xcc\x88RGER Zug\n");
    options.target_path = support_write("t", "ANGER Train\n");
    options.text = (text_options){.nfc = true, .lowercase = true};
    corpus *pairs = open_corpus(&options);
    vocabulary *words = vocabulary_of("\xc3\xa4rger\nzug\nanger\ntrain\n");
    int32_t source[2];
    int32_t target[2];
    assert_int_equal(corpus_read(pairs, 0, words, words, source, target, &error), NMT_OK);
    assert_int_equal(source[0], 3);
    assert_int_equal(source[1], 4);
    assert_int_equal(target[0], 5);
    assert_int_equal(target[1], 6);
    vocabulary_free(words);
    corpus_close(pairs);
}

static void check_fault(const corpus_options *options, nmt_status status, const char *expected)
{
    corpus *pairs;
    assert_int_equal(corpus_open(&pairs, options, NULL, NULL, &error), status);
    assert_null(pairs);
    assert_string_equal(error.message, expected);
}

static void test_unequal_lines(void **state)
{
    (void)state;
    char expected[700];
    const corpus_options options = {.source_path = support_write("s", "a\nb\nc"),
                                    .target_path = support_write("t", "a\nb\nc\nd\n\n")};
    snprintf(expected, sizeof expected, "%s has 3 lines and %s has 5: each line needs its translation",
             options.source_path, options.target_path);
    check_fault(&options, NMT_INVALID, expected);
    const corpus_options swapped = {.source_path = options.target_path, .target_path = options.source_path};
    snprintf(expected, sizeof expected, "%s has 5 lines and %s has 3: each line needs its translation",
             swapped.source_path, swapped.target_path);
    check_fault(&swapped, NMT_INVALID, expected);
}

static void test_faults(void **state)
{
    (void)state;
    char expected[900];
    corpus_options options = options_for(1);
    options.target_path = support_write("t", "x\ny\nz\n\n \nx\xffy\n");
    snprintf(expected, sizeof expected, "%s:6: byte 2 is not valid UTF-8 (0xff)", options.target_path);
    check_fault(&options, NMT_INVALID, expected);

    options.target_path = support_write("t", "x\ny\nz\n\nx\nx y\n");
    snprintf(expected, sizeof expected,
             "%s and %s: no sentence pair to use: 6 lines, 2 with an empty side, 4 over 1 tokens", options.source_path,
             options.target_path);
    check_fault(&options, NMT_INVALID, expected);

    options.target_path = support_path("missing");
    snprintf(expected, sizeof expected, "%s: cannot be opened: No such file or directory", options.target_path);
    check_fault(&options, NMT_IO, expected);

    const char *pipe_path = support_path("pipe");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    options.target_path = pipe_path;
    snprintf(expected, sizeof expected,
             "%s: a regular file was expected, because a corpus is read more than once; this is a pipe or a device",
             pipe_path);
    check_fault(&options, NMT_INVALID, expected);
}

static void check_changed(corpus *pairs, size_t index, const vocabulary *words, const char *path, int line)
{
    char expected[700];
    int32_t source[8];
    int32_t target[8];
    assert_int_equal(corpus_read(pairs, index, words, words, source, target, &error), NMT_INVALID);
    snprintf(expected, sizeof expected, "%s:%d: the text changed while it was being read", path, line);
    assert_string_equal(error.message, expected);
}

static void test_changed_text(void **state)
{
    (void)state;
    const corpus_options options = options_for(4);
    corpus *pairs = open_corpus(&options);
    vocabulary *words = vocabulary_of("A\n");
    int32_t source[8];
    int32_t target[8];
    char changed[sizeof target_text];
    memcpy(changed, target_text, sizeof changed);
    *strchr(changed, 'z') = 'y'; /* line 3 */
    support_write_bytes("t", changed, sizeof changed - 1);
    assert_int_equal(corpus_read(pairs, 0, words, words, source, target, &error), NMT_OK);
    check_changed(pairs, 1, words, options.target_path, 3);
    assert_int_equal(truncate(options.source_path, sizeof source_text - 3), 0);
    check_changed(pairs, 2, words, options.source_path, 6);
    double rate;
    assert_int_equal(corpus_unknown_rates(pairs, words, words, &rate, &rate, &error), NMT_INVALID);
    vocabulary_free(words);
    corpus_close(pairs);
}

static uint64_t fingerprint_of(const char *source, const char *target)
{
    const corpus_options options = {.source_path = support_write("s", source),
                                    .target_path = support_write("t", target)};
    corpus *pairs = open_corpus(&options);
    const uint64_t fingerprint = corpus_summarise(pairs).fingerprint;
    corpus_close(pairs);
    return fingerprint;
}

static void test_fingerprint(void **state)
{
    (void)state;
    const uint64_t fingerprint = fingerprint_of("a\nb\n\n", "c\nd\n\n");
    assert_true(fingerprint == fingerprint_of("a\nb\n\n", "c\nd\n\n"));
    assert_true(fingerprint != fingerprint_of("a\nB\n\n", "c\nd\n\n"));
    assert_true(fingerprint != fingerprint_of("a\nb\n\n", "c\nD\n\n"));
    assert_true(fingerprint != fingerprint_of("a\nb\n \n", "c\nd\n\n")); /* also where no pair is kept */
    assert_true(fingerprint != fingerprint_of("a\nb\n", "c\nd\n"));
    assert_true(fingerprint != fingerprint_of("c\nd\n\n", "a\nb\n\n"));
    assert_true(fingerprint != fingerprint_of("b\na\n\n", "d\nc\n\n"));
}

static void test_long_line(void **state)
{
    (void)state;
    const size_t size = 1 << 20;
    char *text = malloc(size + 3);
    int32_t *ids = malloc(size / 2 * sizeof *ids);
    assert_non_null(text);
    assert_non_null(ids);
    for (size_t i = 0; i < size; i += 2) {
        memcpy(text + i, "a ", 2);
    }
    memcpy(text + size, "\na", 2);
    const corpus_options options = {.source_path = support_write_bytes("s", text, size + 2),
                                    .target_path = support_write("t", "a\na")};
    corpus *pairs = open_corpus(&options);
    vocabulary *words = vocabulary_of("a\n");
    int32_t target = 0;
    assert_int_equal(corpus_source_length(pairs, 0), size / 2);
    assert_int_equal(corpus_read(pairs, 0, words, words, ids, &target, &error), NMT_OK);
    for (size_t i = 0; i < size / 2; i++) {
        assert_int_equal(ids[i], 3);
    }
    assert_int_equal(corpus_read(pairs, 1, words, words, ids, &target, &error), NMT_OK);
    vocabulary_free(words);
    corpus_close(pairs);
    free(text);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length_limit), cmocka_unit_test(test_summary),       cmocka_unit_test(test_read),
        cmocka_unit_test(test_counts),       cmocka_unit_test(test_normalisation), cmocka_unit_test(test_unequal_lines),
        cmocka_unit_test(test_faults),       cmocka_unit_test(test_changed_text),  cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
