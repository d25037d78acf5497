#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "data/vocabulary.h"
#include "data/word_table.h"
#include "support_files.h"

static nmt_error error;

static void add(word_counts *counts, const char *word, int times)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(word_counts_add(counts, word, strlen(word), &error), NMT_OK);
    }
}

static void check_words(const vocabulary *words, const char *const *expected, size_t count)
{
    assert_int_equal(vocabulary_size(words), count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(vocabulary_word(words, (int32_t)i), expected[i]);
        const int32_t number = i < TOKEN_FIRST_WORD ? TOKEN_UNKNOWN : (int32_t)i;
        assert_int_equal(vocabulary_find(words, expected[i], strlen(expected[i])), number);
    }
}

#define CHECK_WORDS(words, ...)                                                                                        \
    check_words((words), (const char *const[]){"<unk>", "<s>", "</s>", __VA_ARGS__},                                   \
                sizeof((const char *const[]){"<unk>", "<s>", "</s>", __VA_ARGS__}) / sizeof(const char *))

/* The words come in an order that is not the vocabulary's. */
static word_counts *counted(void)
{
    word_counts *counts;
    assert_int_equal(word_counts_create(&counts, &error), NMT_OK);
    add(counts, "zebra", 2);
    add(counts, "once", 1);
    add(counts, "the", 5);
    add(counts, "ape", 2);
    add(counts, "apes", 2);
    add(counts, "\xc3\xa4hre", 2); /* bytes order it behind ASCII */
    add(counts, "</s>", 7);
    add(counts, "<unk>", 7);
    add(counts, "<s>", 7);
    return counts;
}

static void test_order(void **state)
{
    (void)state;
    word_counts *counts = counted();
    vocabulary *words;
    assert_int_equal(vocabulary_from_counts(&words, counts, 0, 1, &error), NMT_OK);
    CHECK_WORDS(words, "the", "ape", "apes", "zebra", "\xc3\xa4hre", "once");
    vocabulary_free(words);
    word_counts_free(counts);
    word_counts_free(NULL);
    vocabulary_free(NULL);
}

static void test_limits(void **state)
{
    (void)state;
    word_counts *counts = counted();
    vocabulary *words;
    assert_int_equal(vocabulary_from_counts(&words, counts, 0, 2, &error), NMT_OK);
    CHECK_WORDS(words, "the", "ape", "apes", "zebra", "\xc3\xa4hre");
    vocabulary_free(words);
    assert_int_equal(vocabulary_from_counts(&words, counts, 5, 1, &error), NMT_OK);
    CHECK_WORDS(words, "the", "ape");
    assert_int_equal(vocabulary_find(words, "apes", 4), TOKEN_UNKNOWN);
    vocabulary_free(words);
    assert_int_equal(vocabulary_from_counts(&words, counts, 2, 1, &error), NMT_OK);
    assert_int_equal(vocabulary_size(words), 3);
    vocabulary_free(words);
    word_counts_free(counts);
}

static void test_special_words_in_text_are_unknown(void **state)
{
    (void)state;
    word_counts *counts = counted();
    vocabulary *words;
    assert_int_equal(vocabulary_from_counts(&words, counts, 0, 1, &error), NMT_OK);
    assert_int_equal(vocabulary_find(words, "<unk>", 5), TOKEN_UNKNOWN);
    assert_int_equal(vocabulary_find(words, "<s>", 3), TOKEN_UNKNOWN);
    assert_int_equal(vocabulary_find(words, "</s>", 4), TOKEN_UNKNOWN);
    vocabulary_free(words);
    word_counts_free(counts);
}

static void test_find_looks_at_the_length(void **state)
{
    (void)state;
    word_counts *counts = counted();
    vocabulary *words;
    assert_int_equal(vocabulary_from_counts(&words, counts, 0, 1, &error), NMT_OK);
    assert_int_equal(vocabulary_find(words, "apes", 3), 4);
    assert_int_equal(vocabulary_find(words, "apes", 4), 5);
    assert_int_equal(vocabulary_find(words, "ap", 2), TOKEN_UNKNOWN);
    assert_int_equal(vocabulary_find(words, "", 0), TOKEN_UNKNOWN);
    vocabulary_free(words);
    word_counts_free(counts);
}

static void test_many_words(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    word_counts *counts;
    assert_int_equal(word_counts_create(&counts, &error), NMT_OK);
    char word[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            snprintf(word, sizeof word, "w%06d", i);
            if (round == 0 || i % 2 == 1) { /* odd ones twice */
                add(counts, word, 1);
            }
        }
    }
    vocabulary *words;
    vocabulary *copy;
    assert_int_equal(vocabulary_from_counts(&words, counts, 0, 1, &error), NMT_OK);
    assert_int_equal(vocabulary_copy(&copy, words, &error), NMT_OK);
    vocabulary_free(words);
    word_counts_free(counts);
    assert_int_equal(vocabulary_size(copy), COUNT + 3);
    for (int i = 0; i < COUNT; i++) {
        snprintf(word, sizeof word, "w%06d", i);
        const int32_t number = 3 + (i % 2 == 1 ? i / 2 : COUNT / 2 + i / 2);
        assert_int_equal(vocabulary_find(copy, word, 7), number);
        assert_string_equal(vocabulary_word(copy, number), word);
    }
    assert_int_equal(vocabulary_find(copy, "w100000", 7), TOKEN_UNKNOWN);
    vocabulary_free(copy);
}

static void test_file(void **state)
{
    (void)state;
    vocabulary *words;
    assert_int_equal(vocabulary_from_file(&words, support_write("v", "\xef\xbb\xbfthe\r\nape\na\xc2\xa0z"), &error),
                     NMT_OK);
    CHECK_WORDS(words, "the", "ape", "a\xc2\xa0z");
    vocabulary_free(words);
    assert_int_equal(vocabulary_from_file(&words, support_write("v", "<unk>\n<s>\n</s>\nthe\nape\n"), &error), NMT_OK);
    CHECK_WORDS(words, "the", "ape");
    vocabulary_free(words);
}

static void check_file_fault(const char *text, const char *expected)
{
    vocabulary *words;
    char message[700];
    const char *path = support_write("v", text);
    assert_int_equal(vocabulary_from_file(&words, path, &error), NMT_INVALID);
    assert_null(words);
    snprintf(message, sizeof message, "%s%s", path, expected);
    assert_string_equal(error.message, message);
}

static void test_file_faults(void **state)
{
    (void)state;
    check_file_fault("the\nape\nzoo\nape\n", ":4: a new word was expected, \"ape\" is line 2 already");
    check_file_fault("<unk>\n<s>\n</s>\nthe\nthe\n", ":5: a new word was expected, \"the\" is line 4 already");
    check_file_fault("the\n\nape\n", ":2: a word was expected, \"\" is empty");
    check_file_fault("the\nthe ape\n", ":2: a word was expected, \"the ape\" holds a space, a tab or a newline");
    check_file_fault("the\t5\n", ":1: a word was expected, \"the\\x095\" holds a space, a tab or a newline");
    check_file_fault("the\n</s>\n", ":2: a word was expected, \"</s>\" is reserved: <unk>, <s> and </s> may only be "
                                    "the first three entries, in this order");
    check_file_fault("<unk>\nthe\n", ":2: <s> was expected, \"the\" was found");
    check_file_fault("<unk>\n<s>\n", ":3: </s> was expected, nothing was found");
    check_file_fault("the\na\xff\n", ":2: byte 2 is not valid UTF-8 (0xff)");
    check_file_fault("", ": one word a line was expected, no word was found");
    check_file_fault("<unk>\n<s>\n</s>\n", ": one word a line was expected, no word was found");
    vocabulary *words;
    assert_int_equal(vocabulary_from_file(&words, support_path("missing"), &error), NMT_IO);
    assert_null(words);
}

static void check_list_fault(const char *const *list, size_t count, const char *expected)
{
    vocabulary *words;
    assert_int_equal(vocabulary_from_words(&words, list, count, "model", &error), NMT_INVALID);
    assert_null(words);
    assert_string_equal(error.message, expected);
}

#define CHECK_LIST_FAULT(expected, ...)                                                                                \
    check_list_fault((const char *const[]){__VA_ARGS__},                                                               \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (expected))

static void test_list(void **state)
{
    (void)state;
    static const char *const list[] = {"<unk>", "<s>", "</s>", "b", "a\r", "c"};
    vocabulary *words;
    assert_int_equal(vocabulary_from_words(&words, list, 6, "model", &error), NMT_OK);
    check_words(words, list, 6);
    vocabulary_free(words);
    CHECK_LIST_FAULT("model: entry 2: <s> was expected, \"</s>\" was found", "<unk>", "</s>", "<s>", "a");
    CHECK_LIST_FAULT("model: entry 3: </s> was expected, nothing was found", "<unk>", "<s>");
    CHECK_LIST_FAULT("model: entry 6: a new word was expected, \"a\" is entry 4 already", "<unk>", "<s>", "</s>", "a",
                     "b", "a");
    CHECK_LIST_FAULT("model: entry 5: a word was expected, \"\" is empty", "<unk>", "<s>", "</s>", "a", "");
    CHECK_LIST_FAULT("model: entry 4: a word was expected, \"a\\xFF\" is not valid UTF-8", "<unk>", "<s>", "</s>",
                     "a\xff");
}

/* Nobody who writes a vocabulary knows where its words lie. */
static void test_secret_places(void **state)
{
    (void)state;
    word_table table = {0};
    size_t known = 0;
    for (int32_t i = 0; i < 100; i++) {
        char word[16];
        int32_t number;
        snprintf(word, sizeof word, "w%d", (int)i);
        assert_int_equal(word_table_add(&table, word, strlen(word), &number, &error), NMT_OK);
        assert_int_equal(number, i);
    }
    for (size_t at = 0; at < table.slot_count; at++) {
        if (table.slots[at].entry > 0) {
            const char *word = word_table_word(&table, (int32_t)table.slots[at].entry - 1);
            known += table.slots[at].hash == (uint32_t)(hash_bytes(word, strlen(word)) >> 32);
        }
    }
    assert_true(known < 5);
    word_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_secret_places),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_special_words_in_text_are_unknown),
        cmocka_unit_test(test_find_looks_at_the_length),
        cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_faults),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
