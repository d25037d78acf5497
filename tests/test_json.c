#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comma_locale.h"
#include "core/json.h"

static json *parse(const char *text)
{
    json *value = NULL;
    nmt_error error = {0};
    if (json_parse(&value, text, strlen(text), "x.json", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return value;
}

static void assert_fault(const char *text, size_t length, const char *message)
{
    json *value = (json *)1;
    nmt_error error = {0};
    assert_int_equal(json_parse(&value, text, length, "x.json", &error), NMT_INVALID);
    assert_string_equal(error.message, message);
    assert_int_equal(error.status, NMT_INVALID);
    assert_null(value);
}

static void assert_printed(const json *value, bool indented, const char *expected)
{
    char *text = json_print(value, indented);
    assert_string_equal(text, expected);
    free(text);
}

static void faults_are_named_with_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "x.json:1:1: expected a value, found the end of the text"},
        {"  \n ", "x.json:2:2: expected a value, found the end of the text"},
        {"{\n  \"a\": 1,\n}", "x.json:3:1: expected a key in double quotes, found \"}\""},
        {"{\n  \"a\": 1\n  \"b\": 2\n}", "x.json:3:3: expected \",\" or \"}\", found \"\\\"\""},
        {"[1, 2", "x.json:1:6: expected \",\" or \"]\", found the end of the text"},
        {"[1,]", "x.json:1:4: expected a value, found \"]\""},
        {"[1 2]", "x.json:1:4: expected \",\" or \"]\", found \"2\""},
        {"{\"a\" 1}", "x.json:1:6: expected \":\" after a key, found \"1\""},
        {"{a: 1}", "x.json:1:2: expected a key in double quotes, found \"a\""},
        {"{} x", "x.json:1:4: expected the end of the text after the value, found \"x\""},
        {"// no\n{}", "x.json:1:1: expected a value, found \"/\""},
        {"tru", "x.json:1:4: expected true, found the end of the text"},
        {"[True]", "x.json:1:2: expected a value, found \"T\""},
        {"NaN", "x.json:1:1: expected a value, found \"N\""},
        {"[nul1]", "x.json:1:5: expected null, found \"1\""},
        {"[01]", "x.json:1:2: expected a number, found one with a leading zero"},
        {"[-01]", "x.json:1:2: expected a number, found one with a leading zero"},
        {"[+1]", "x.json:1:2: expected a value, found \"+\""},
        {"[.5]", "x.json:1:2: expected a value, found \".\""},
        {"[1.]", "x.json:1:4: expected a digit after the decimal point, found \"]\""},
        {"[-]", "x.json:1:3: expected a digit, found \"]\""},
        {"[1e]", "x.json:1:4: expected a digit in the exponent, found \"]\""},
        {"[1,5]x", "x.json:1:6: expected the end of the text after the value, found \"x\""},
        {"[0x10]", "x.json:1:3: expected \",\" or \"]\", found \"x\""},
        {"[1e999]", "x.json:1:2: expected a number below 1.8e308, found 1e999"},
        {"[1.0000000000000000000000000000000000000000000000000000000000000000]",
         "x.json:1:2: expected a number of at most 63 characters, found 66"},
        {"[\"ab\ncd\"]", "x.json:1:5: expected control character 0x0A of a string to be escaped"},
        {"[\"ab", "x.json:1:2: expected the closing quote of this string, found the end of the text"},
        {"[\"\\x41\"]", "x.json:1:4: expected one of \" \\ / b f n r t u after \\, found \"x\""},
        {"[\"\\", "x.json:1:4: expected one of \" \\ / b f n r t u after \\, found the end of the text"},
        {"[\"\\u12G4\"]", "x.json:1:7: expected four hexadecimal digits after \\u, found \"G\""},
        {"[\"a\\u0000\"]", "x.json:1:4: expected a character, found \\u0000, which no text here may hold"},
        {"[\"\\ud800\"]", "x.json:1:3: expected a pair of surrogates, found \\uD800 alone"},
        {"[\"\\ud800\\u0041\"]", "x.json:1:3: expected a pair of surrogates, found \\uD800 alone"},
        {"[\"\\udc00\\ud800\"]", "x.json:1:3: expected a pair of surrogates, found \\uDC00 alone"},
        {"[\"\\udc00\\udc00\"]", "x.json:1:3: expected a pair of surrogates, found \\uDC00 alone"},
        {"[\"\xC3\xA9\", \"\xFF\"]", "x.json:1:8: expected UTF-8, found byte 0xFF"},
        {"[\"\xED\xA0\x80\"]", "x.json:1:3: expected UTF-8, found byte 0xED"},
        {"[\"\xC0\x80\"]", "x.json:1:3: expected UTF-8, found byte 0xC0"},
        {"[\x1b]", "x.json:1:2: expected a value, found \"\\x1B\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fault(cases[i].text, strlen(cases[i].text), cases[i].message);
    }
    assert_fault("[1\0]", 4, "x.json:1:3: expected \",\" or \"]\", found \"\\x00\"");
    assert_fault("[12", 2, "x.json:1:3: expected \",\" or \"]\", found the end of the text");
}

static void duplicate_keys_are_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}",
         "x.json:3:2: expected each key once, found \"a\" again; it stands on line 1 already"},
        {"{\"t\": {\"x\": [{\"e\": 1,\n\"\\u0065\": 2}]}}",
         "x.json:2:1: expected each key once, found \"t.x.e\" again; it stands on line 1 already"},
        {"{\"z\":0,\n\"y\":0,\n\"z\":1,\n\"y\":1}",
         "x.json:3:1: expected each key once, found \"z\" again; it stands on line 1 already"},
        {"{\"\":{\"\":0,\n\"\":1}}",
         "x.json:2:1: expected each key once, found \".\" again; it stands on line 1 already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fault(cases[i].text, strlen(cases[i].text), cases[i].message);
    }
    json_free(parse("{\"a\": {\"a\": 1}, \"A\": {\"a\": 2}, \"ab\": [{\"a\": 1}, {\"a\": 1}]}"));
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    char text[200];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    json_free(parse(text));
    memset(text, '[', 100);
    assert_fault(text, 100, "x.json:1:65: expected at most 64 levels of nesting, found more");
}

static void values_are_read_as_they_stand(void **state)
{
    (void)state;
    json *root =
        parse("\xEF\xBB\xBF {\"a\": -1.5e-3, \"A\": true, \"n\": null, \"s\": \"\\ud83d\\ude00\\u00e9\\n\\/x\", "
              "\"l\": [1, \"two\", {}], \"f\": false} \r\n\t");
    assert_int_equal(json_type_of(root), JSON_OBJECT);
    assert_int_equal(json_count(root), 6);
    assert_true(json_number(json_get(root, "a")) == -1.5e-3);
    assert_true(json_boolean(json_get(root, "A")));
    assert_int_equal(json_type_of(json_get(root, "A")), JSON_BOOLEAN);
    assert_int_equal(json_type_of(json_get(root, "n")), JSON_NULL);
    assert_string_equal(json_string(json_get(root, "s")), "\xF0\x9F\x98\x80\xC3\xA9\n/x");
    assert_false(json_boolean(json_get(root, "f")));
    assert_null(json_get(root, "N"));
    const json *list = json_get(root, "l"), *each = json_first(list);
    assert_string_equal(json_key(list), "l");
    assert_int_equal(json_count(list), 3);
    assert_null(json_key(each));
    each = json_next(each);
    assert_string_equal(json_string(each), "two");
    each = json_next(each);
    assert_int_equal(json_type_of(each), JSON_OBJECT);
    assert_null(json_first(each));
    assert_null(json_next(each));
    json_free(root);
    assert_string_equal(json_type_name(JSON_ARRAY), "an array");
}

static void built_values_print(void **state)
{
    (void)state;
    json *root = json_new_object(), *list = json_new_array();
    assert_true(json_append(list, json_new_number(1)));
    assert_true(json_append(list, json_new_string("\"\\\b\f\n\r\t\x01\x7F\xC3\xA9")));
    assert_true(json_append(list, json_new_object()));
    assert_true(json_add(root, "a", json_new_boolean(false)));
    assert_true(json_add(root, "l", list));
    assert_true(json_add(root, "a", json_new_null()));
    assert_true(json_add(root, "A", json_new_array()));
    assert_printed(root, false, "{\"a\":null,\"l\":[1,\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7F\xC3\xA9\",{}],\"A\":[]}");
    assert_printed(
        root, true,
        "{\n  \"a\": null,\n  \"l\": [\n    1,\n    \"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7F\xC3\xA9\",\n    {}\n  "
        "],\n  \"A\": []\n}");
    json *copy = json_copy(root);
    json_free(root);
    assert_true(json_append((json *)json_get(copy, "l"), json_new_boolean(true)));
    char *text = json_print(copy, false);
    json *again = parse(text);
    assert_printed(again, false, text);
    assert_int_equal(json_count(json_get(again, "l")), 4);
    free(text);
    json_free(copy);
    json_free(again);
    assert_false(json_append(NULL, json_new_null()));
    json *numbers = json_new_array();
    json_drop_first(numbers);
    assert_true(json_append(numbers, json_new_number(1)) && json_append(numbers, json_new_number(2)));
    json_drop_first(numbers);
    assert_int_equal(json_count(numbers), 1);
    assert_true(json_number(json_first(numbers)) == 2);
    json_free(numbers);
    assert_false(json_add(NULL, "a", json_new_null()));
    json *empty = json_new_array();
    assert_false(json_append(empty, NULL));
    json_free(empty);
    assert_null(json_print(NULL, false));
}

static void assert_number(double number, const char *expected)
{
    json *value = json_new_number(number);
    char *text = json_print(value, false);
    if (expected != NULL) {
        assert_string_equal(text, expected);
    }
    json *again = parse(text);
    assert_true(json_number(again) == number);
    assert_int_equal(signbit(json_number(again)) != 0, signbit(number) != 0);
    free(text);
    json_free(again);
    json_free(value);
}

static void numbers(void)
{
    assert_number(0, "0");
    assert_number(-0.0, "-0");
    assert_number(0.1, "0.1");
    assert_number(1e-8, "1e-08");
    assert_number(0.1 + 0.2, "0.30000000000000004");
    assert_number(nextafter(1, 2), "1.0000000000000002");
    assert_number(9007199254740991.0, "9007199254740991");
    assert_number(5e-324, NULL);
    assert_number(DBL_MAX, NULL);
    assert_number((double)0.1f, NULL);
    for (int i = 0; i < 1000; i++) {
        assert_number(ldexp(1 + sin(i), i - 500), NULL);
    }
}

static void numbers_read_back_the_same(void **state)
{
    (void)state;
    numbers();
    json *value = json_new_number(NAN);
    assert_printed(value, false, "null");
    json_free(value);
}

static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    char directory[] = "/tmp/nmt-locale-XXXXXX";
    assert_non_null(mkdtemp(directory));
    const bool set = comma_locale_set(directory);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    if (!set) {
        skip();
    }
    numbers();
    json *list = parse("[1.5,2]");
    assert_true(json_number(json_first(list)) == 1.5);
    assert_int_equal(json_count(list), 2);
    json_free(list);
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A million words build, print and read in a time that only linear work allows; so do many keys. */
/* A list of `count` words, made, printed and parsed. */
static double time_of_list(size_t count)
{
    const double start = seconds();
    json *list = json_new_array();
    for (size_t i = 0; i < count; i++) {
        assert_true(json_append(list, json_new_string("word")));
    }
    char *text = json_print(list, false);
    json_free(list);
    json *again = parse(text);
    free(text);
    assert_int_equal(json_count(again), count);
    json_free(again);
    return seconds() - start;
}

/* An object of `count` keys, parsed: each is held against the others. */
static double time_of_object(size_t count)
{
    char *text = malloc(16 * count);
    assert_non_null(text);
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += (size_t)sprintf(text + length, "%c\"%zu\":0", i == 0 ? '{' : ',', (i * 7919) % count);
    }
    text[length++] = '}';
    text[length] = '\0';
    const double start = seconds();
    json_free(parse(text));
    const double taken = seconds() - start;
    free(text);
    return taken;
}

/* Eight times as much takes some eight times as long, and not 64 times, on whatever machine. */
static void assert_linear(double (*time_of)(size_t), size_t count)
{
    double small = INFINITY, large = INFINITY;
    for (int round = 0; round < 3; round++) {
        small = fmin(small, time_of(count));
        large = fmin(large, time_of(8 * count));
    }
    if (large > 24 * small) {
        fail_msg("%zu take %.3f s, eight times as many %.3f s", count, small, large);
    }
}

static void large_values_take_linear_time(void **state)
{
    (void)state;
    assert_linear(time_of_list, 40000);
    assert_linear(time_of_object, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_named_with_line_and_column),
        cmocka_unit_test(duplicate_keys_are_faults),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(values_are_read_as_they_stand),
        cmocka_unit_test(built_values_print),
        cmocka_unit_test(numbers_read_back_the_same),
        cmocka_unit_test(numbers_do_not_follow_the_locale),
        cmocka_unit_test(large_values_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
