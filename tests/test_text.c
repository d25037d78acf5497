#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "data/text.h"

static nmt_error error;

static void check_tokens(const char *line, const char *const *expected, size_t count)
{
    const char *cursor = line;
    const char *end = line + strlen(line);
    const char *token;
    size_t length;
    for (size_t i = 0; i < count; i++) {
        assert_true(text_next_token(&cursor, end, &token, &length));
        assert_int_equal(length, strlen(expected[i]));
        assert_memory_equal(token, expected[i], length);
    }
    assert_false(text_next_token(&cursor, end, &token, &length));
    assert_false(text_next_token(&cursor, end, &token, &length));
}

#define CHECK_TOKENS(line, ...)                                                                                        \
    check_tokens((line), (const char *const[]){__VA_ARGS__},                                                           \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void test_tokens(void **state)
{
    (void)state;
    check_tokens("", NULL, 0);
    check_tokens(" \t  ", NULL, 0);
    CHECK_TOKENS("a", "a");
    CHECK_TOKENS(" a\tb  c\t ", "a", "b", "c");
}

static void test_only_space_and_tab_split(void **state)
{
    (void)state;
    /* NBSP, U+0085, U+2028, U+3000, U+FEFF, vertical tab, form feed, carriage return. */
    CHECK_TOKENS("a\xc2\xa0"
                 "b c\xc2\x85"
                 "d e\xe2\x80\xa8"
                 "f g\xe3\x80\x80"
                 "h \xef\xbb\xbfi j\x0bk l\x0cm n\ro",
                 "a\xc2\xa0"
                 "b",
                 "c\xc2\x85"
                 "d",
                 "e\xe2\x80\xa8"
                 "f",
                 "g\xe3\x80\x80"
                 "h",
                 "\xef\xbb\xbfi", "j\x0bk", "l\x0cm", "n\ro");
    CHECK_TOKENS("\xc2\xa0 \xe2\x80\xa8", "\xc2\xa0", "\xe2\x80\xa8"); /* nor are they nothing by themselves */
}

static void check_prepared(const char *line, bool nfc, bool lowercase, const char *expected)
{
    text_buffer buffer = {0};
    const text_options options = {.nfc = nfc, .lowercase = lowercase};
    for (int twice = 0; twice < 2; twice++) {
        const char *prepared;
        size_t length;
        assert_int_equal(text_prepare(&prepared, &length, line, strlen(line), options, &buffer, &error), NMT_OK);
        assert_string_equal(prepared, expected);
        assert_int_equal(length, strlen(expected));
        if (!nfc && !lowercase) {
            assert_ptr_equal(prepared, line);
        }
    }
    text_buffer_free(&buffer);
}

static void test_prepare(void **state)
{
    (void)state;
    static const char decomposed[] = "A\xcc\x8a U\xcc\x88"
                                     "B";
    check_prepared("", true, true, "");
    check_prepared("The CAT\t@[`{ AZ", false, true, "the cat\t@[`{ az");
    check_prepared("The CAT", true, false, "The CAT");
    check_prepared(decomposed, false, false, decomposed);
    check_prepared(decomposed, true, false,
                   "\xc3\x85 \xc3\x9c"
                   "B");
    check_prepared(decomposed, true, true,
                   "\xc3\xa5 \xc3\xbc"
                   "b");
    check_prepared(decomposed, false, true,
                   "a\xcc\x8a u\xcc\x88"
                   "b");
    check_prepared("\xc3\x84RGER \xd0\x9c\xd0\x98\xd0\xa0 \xce\xa3", false, true,
                   "\xc3\xa4rger \xd0\xbc\xd0\xb8\xd1\x80 \xcf\x83");
    check_prepared("\xe6\x88\x91\xe4\xbb\xac X", true, true, "\xe6\x88\x91\xe4\xbb\xac x");
    check_prepared("\xe2\x84\xab \xef\xac\x81", true, false,
                   "\xc3\x85 \xef\xac\x81"); /* C and not KC: the ligature stays */
    /* U+1F82 three times: nine bytes, twelve code points when decomposed. */
    check_prepared("\xe1\xbe\x82\xe1\xbe\x82\xe1\xbe\x82", true, false, "\xe1\xbe\x82\xe1\xbe\x82\xe1\xbe\x82");
    check_prepared("A\xc2\xa0"
                   "B\xe2\x80\xa8"
                   "C",
                   true, true,
                   "a\xc2\xa0"
                   "b\xe2\x80\xa8"
                   "c");
}

static void test_prepare_respects_length(void **state)
{
    (void)state;
    text_buffer buffer = {0};
    const char *prepared;
    size_t length;
    assert_int_equal(text_prepare(&prepared, &length,
                                  "\xc3\x84"
                                  "BCD",
                                  3, (text_options){true, true}, &buffer, &error),
                     NMT_OK);
    assert_string_equal(prepared, "\xc3\xa4"
                                  "b");
    assert_int_equal(text_prepare(&prepared, &length, "ABCD", 2, (text_options){true, true}, &buffer, &error), NMT_OK);
    assert_string_equal(prepared, "ab");
    assert_int_equal(length, 2);
    assert_int_equal(text_prepare(&prepared, &length, "a\xff", 2, (text_options){true, true}, &buffer, &error),
                     NMT_INVALID);
    assert_non_null(strstr(error.message, "UTF-8"));
    text_buffer_free(&buffer);
}

static void test_long_line(void **state)
{
    (void)state;
    const size_t size = 1 << 20;
    char *line = malloc(size + 1);
    assert_non_null(line);
    for (size_t i = 0; i < size; i += 2) {
        memcpy(line + i, i % 10 == 8 ? " X" : "\xc3\x84", 2);
    }
    line[size] = '\0';
    text_buffer buffer = {0};
    const char *prepared;
    size_t length;
    assert_int_equal(text_prepare(&prepared, &length, line, size, (text_options){true, true}, &buffer, &error), NMT_OK);
    assert_int_equal(length, size);
    const char *cursor = prepared;
    const char *token;
    size_t token_length;
    size_t tokens = 0;
    while (text_next_token(&cursor, prepared + length, &token, &token_length)) {
        tokens++;
    }
    assert_int_equal(tokens, size / 10 + 1);
    text_buffer_free(&buffer);
    free(line);
}

static void test_utf8_error(void **state)
{
    (void)state;
    assert_int_equal(text_utf8_error("abc\xc3\xa4", 5), 5);
    assert_int_equal(text_utf8_error("abc\xc3\xa4", 4), 3);
}

static void test_width(void **state)
{
    (void)state;
    assert_int_equal(text_width("", 0), 0);
    assert_int_equal(text_width("cat", 3), 3);
    assert_int_equal(text_width("\xc3\xa4"
                                "b",
                                3),
                     2);
    assert_int_equal(text_width("a\xcc\x88"
                                "b",
                                4),
                     2);                                 /* a combining mark takes no column */
    assert_int_equal(text_width("\xe6\x88\x91x", 4), 3); /* an ideograph takes two */
    assert_int_equal(text_width("\xff", 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),    cmocka_unit_test(test_only_space_and_tab_split),
        cmocka_unit_test(test_prepare),   cmocka_unit_test(test_prepare_respects_length),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_utf8_error),
        cmocka_unit_test(test_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
