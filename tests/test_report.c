/* The alignment formats, byte by byte, on a pair whose tokens need quoting and whose weights need nine digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <nmt/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comma_locale.h"
#include "core/rng.h"

static char *source_words[] = {"a", "b,\"c", "</s>"};
static char *target_words[] = {"x", "</s>"};
static float weights[] = {0.1F, 0.899999976F, 1e-09F, 0.25F, 0.25F, 0.5F};

static const nmt_alignment pair = {3, 2, source_words, target_words, weights};
static const nmt_alignment nothing;

/* The report on `count` alignments, the caller's: free(). */
static char *report(const nmt_alignment *alignments, size_t count, nmt_alignment_format format, bool end_of_sentence)
{
    char *text;
    size_t length;
    nmt_error error;
    nmt_alignment_writer *writer;
    FILE *file = open_memstream(&text, &length);
    assert_int_equal(nmt_alignment_writer_create(&writer, file, format, end_of_sentence, &error), NMT_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(nmt_alignment_writer_add(writer, &alignments[i], &error), NMT_OK);
    }
    assert_int_equal(nmt_alignment_writer_finish(writer, &error), NMT_OK);
    nmt_alignment_writer_free(writer);
    fclose(file);
    return text;
}

static void check(const nmt_alignment *alignments, size_t count, nmt_alignment_format format, bool end_of_sentence,
                  const char *expected)
{
    char *text = report(alignments, count, format, end_of_sentence);
    assert_string_equal(text, expected);
    free(text);
}

static void test_long_form(void **state)
{
    (void)state;
    const nmt_alignment alignments[] = {nothing, pair};
    check(alignments, 2, NMT_ALIGNMENT_LONG, true,
          "sentence,target_index,target,source_index,source,weight\n"
          "2,0,x,0,a,0.100000001\n"
          "2,0,x,1,\"b,\"\"c\",0.899999976\n"
          "2,0,x,2,</s>,9.99999972e-10\n"
          "2,1,</s>,0,a,0.25\n"
          "2,1,</s>,1,\"b,\"\"c\",0.25\n"
          "2,1,</s>,2,</s>,0.5\n");
}

static void test_long_form_without_end_of_sentence(void **state)
{
    (void)state;
    check(&pair, 1, NMT_ALIGNMENT_LONG, false,
          "sentence,target_index,target,source_index,source,weight\n"
          "1,0,x,0,a,0.100000001\n"
          "1,0,x,1,\"b,\"\"c\",0.899999976\n");
}

/* As many blocks as sentences, also where one has no token. */
static void test_matrix_form(void **state)
{
    (void)state;
    const nmt_alignment alignments[] = {pair, nothing, pair};
    check(alignments, 3, NMT_ALIGNMENT_MATRIX, true,
          ",a,\"b,\"\"c\",</s>\n"
          "x,0.100000001,0.899999976,9.99999972e-10\n"
          "</s>,0.25,0.25,0.5\n"
          "\n"
          "\"\"\n"
          "\n"
          ",a,\"b,\"\"c\",</s>\n"
          "x,0.100000001,0.899999976,9.99999972e-10\n"
          "</s>,0.25,0.25,0.5\n");
    check(&pair, 1, NMT_ALIGNMENT_MATRIX, false, ",a,\"b,\"\"c\"\nx,0.100000001,0.899999976\n");
}

/* Every token that RFC 4180 would have quoted, and rows behind the first of a table with a column left out. */
static void test_quoting_and_rows_without_end_of_sentence(void **state)
{
    (void)state;
    char *source[] = {"\"", ",", "</s>"};
    char *target[] = {"\r", "'", "", "</s>"};
    float table[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const nmt_alignment alignment = {3, 4, source, target, table};
    check(&alignment, 1, NMT_ALIGNMENT_MATRIX, false,
          ",\"\"\"\",\",\"\n"
          "\"\r\",0,1\n"
          "',3,4\n"
          ",6,7\n");
}

/* Links name the source first; the first of equal weights wins; a target token on `</s>` has none; the row of `</s>`
 * has none. The choice about `</s>` changes nothing here. */
/* A translation cut off at its limit has no row of `</s>`: its last row is a word like any other. */
static void test_cut_translation(void **state)
{
    (void)state;
    char *cut_words[] = {"x", "y"};
    const nmt_alignment cut = {3, 2, source_words, cut_words, weights};
    check(&cut, 1, NMT_ALIGNMENT_PHARAOH, true, "1-0\n");
    float towards_word[] = {0.1F, 0.8F, 0.1F, 0.7F, 0.2F, 0.1F};
    const nmt_alignment linked = {3, 2, source_words, cut_words, towards_word};
    check(&linked, 1, NMT_ALIGNMENT_PHARAOH, true, "1-0 0-1\n");
    check(&linked, 1, NMT_ALIGNMENT_MATRIX, false,
          ",a,\"b,\"\"c\"\nx,0.100000001,0.800000012\ny,0.699999988,0.200000003\n");
}

static void test_pharaoh_links(void **state)
{
    (void)state;
    char *source[] = {"a", "b", "c", "</s>"};
    char *target[] = {"w", "x", "y", "z", "</s>"};
    float table[] = {0, 0.1F, 0.9F, 0, 0.4F, 0.2F, 0.4F, 0, 0, 0.1F, 0.2F, 0.7F, 0, 0.6F, 0.4F, 0, 1, 0, 0, 0};
    const nmt_alignment alignments[] = {{4, 5, source, target, table}, nothing, pair};
    check(alignments, 3, NMT_ALIGNMENT_PHARAOH, true, "2-0 0-1 1-3\n\n1-0\n");
    check(alignments, 3, NMT_ALIGNMENT_PHARAOH, false, "2-0 0-1 1-3\n\n1-0\n");
}

/* Columns line up beside double-width characters, and nothing in a token reaches the terminal as a command. */
static void test_terminal_matrix(void **state)
{
    (void)state;
    char *source[] = {"new", "\xe6\x96\xb0", "</s>"};
    char *target[] = {"\xe6\x96\xb0\xe8\xbd\xa6", "\x1b[m\xc2\x9b", "</s>"};
    float table[] = {0.01F, 0.1F, 0.89F, 0.3F, 0.6F, 0.1F, 0, 0, 1};
    const nmt_alignment alignment = {3, 3, source, target, table};
    check(&alignment, 1, NMT_ALIGNMENT_TERMINAL, true,
          "1:\n"
          "      new\n"
          "      │ \xe6\x96\xb0\n"
          "      │ │ </s>\n"
          "\xe6\x96\xb0\xe8\xbd\xa6  · ░░██\n"
          "\xef\xbf\xbd[m\xef\xbf\xbd  ▒▒▓▓░░\n"
          "</s>  · · ██\n");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static char *hostile_source[] = {"<script>alert(\"1\")</script>", "a&b\x01", "</s>"};
static char *hostile_target[] = {"'\xe2\x80\xa8\xff", "\xd9\x83"};
static const nmt_alignment hostile = {3, 2, hostile_source, hostile_target, weights};

/* A figure a sentence, each below the one before, and a drawing as large as all of them. */
static void test_svg_figures(void **state)
{
    (void)state;
    const nmt_alignment alignments[] = {pair, nothing, pair};
    char *one = report(alignments, 1, NMT_ALIGNMENT_SVG, true), *all = report(alignments, 3, NMT_ALIGNMENT_SVG, true);
    size_t width, height, stacked_width, stacked_height, second, third;
    assert_int_equal(sscanf(strstr(one, " width="), " width=\"%zu\" height=\"%zu\"", &width, &height), 2);
    assert_int_equal(sscanf(strstr(all, " width="), " width=\"%zu\" height=\"%zu\"", &stacked_width, &stacked_height),
                     2);
    assert_int_equal(count_of(all, "<g transform=\"translate(0,"), 3);
    const char *figure = strstr(strstr(all, "translate(0,0)") + 1, "translate(0,");
    assert_int_equal(sscanf(figure, "translate(0,%zu)", &second), 1);
    assert_int_equal(sscanf(strstr(figure + 1, "translate(0,"), "translate(0,%zu)", &third), 1);
    assert_int_equal(second, height);
    assert_true(third > second + 20 && third < second + height);
    assert_int_equal(stacked_height, third + height);
    assert_int_equal(stacked_width, width);
    assert_int_equal(count_of(all, "<rect x=") - 2, 2 * 6); /* two scales, two matrices */
    assert_int_equal(count_of(all, ": no token</text>"), 1);
    assert_int_equal(count_of(one, "<title>x reads a: 0.100000001</title>"), 1);
    assert_int_equal(count_of(one, ">.90</text>"), 1);
    assert_string_equal(all + strlen(all) - 7, "</svg>\n");
    free(one);
    free(all);
}

/* Without `</s>` there is a row and a column less; without any sentence there is still a drawing. */
static void test_svg_of_less(void **state)
{
    (void)state;
    char *cut = report(&pair, 1, NMT_ALIGNMENT_SVG, false), *none = report(NULL, 0, NMT_ALIGNMENT_SVG, true);
    assert_int_equal(count_of(cut, "<rect x=") - 1, 2);
    assert_int_equal(count_of(cut, "&lt;/s&gt;"), 0);
    assert_non_null(strstr(none, "<svg "));
    assert_non_null(strstr(none, "</svg>"));
    free(cut);
    free(none);
}

/* Tokens are text, whatever they hold, and a long one does not make the drawing wide. */
static void test_svg_of_hostile_tokens(void **state)
{
    (void)state;
    char *text = report(&hostile, 1, NMT_ALIGNMENT_SVG, true);
    assert_null(strstr(text, "<script"));
    assert_null(strchr(text, 1));
    assert_null(strchr(text, (char)0xff));
    assert_non_null(strstr(text, "<title>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</title>"));
    assert_non_null(strstr(text, "a&amp;b\xef\xbf\xbd"));
    free(text);
    char word[2001];
    memset(word, 'w', sizeof word - 1);
    word[2000] = '\0';
    char *words[] = {word, word};
    float even[] = {0.5F, 0.5F, 0.5F, 0.5F};
    const nmt_alignment wide = {2, 2, words, words, even};
    text = report(&wide, 1, NMT_ALIGNMENT_SVG, true);
    size_t width;
    assert_int_equal(sscanf(strstr(text, " width="), " width=\"%zu\"", &width), 1);
    assert_true(width > 300 && width < 700);
    assert_non_null(strstr(text, "w\xe2\x80\xa6<title>w"));
    free(text);
}

/* The page holds the sentences as JSON with the digits of the CSV, and nothing of a token can end the script. */
static void test_html_page(void **state)
{
    (void)state;
    const nmt_alignment alignments[] = {hostile, nothing, pair};
    char *text = report(alignments, 3, NMT_ALIGNMENT_HTML, true);
    assert_int_equal(strncmp(text, "<!doctype html>\n", 16), 0);
    assert_null(strstr(text, "@SENTENCES@"));
    assert_string_equal(text + strlen(text) - 8, "</html>\n");
    assert_non_null(strstr(
        text, "id=\"data\">[\n"
              "{\"source\":[\"\\u003cscript\\u003ealert(\\u00221\\u0022)\\u003c/script\\u003e\",\"a\\u0026b\\u0001\","
              "\"\\u003c/s\\u003e\"],\"target\":[\"'\\u2028\xef\xbf\xbd\",\"\xd9\x83\"],"
              "\"weights\":[[0.100000001,0.899999976,9.99999972e-10],[0.25,0.25,0.5]]},\n"
              "{\"source\":[],\"target\":[],\"weights\":[]},\n"
              "{\"source\":[\"a\",\"b,\\u0022c\",\"\\u003c/s\\u003e\"],\"target\":[\"x\",\"\\u003c/s\\u003e\"],"));
    free(text);
    text = report(NULL, 0, NMT_ALIGNMENT_HTML, false);
    assert_non_null(strstr(text, "id=\"data\">[\n\n]</script>"));
    free(text);
}

/* Every bit pattern of a weight comes back from its nine digits. */
static void test_weights_read_back_exactly(void **state)
{
    (void)state;
    rng random = rng_stream(11, "weights", 0);
    for (int i = 0; i < 2000; i++) {
        const uint32_t bits = (uint32_t)rng_below(&random, 0x3f800001); /* 0 to 1.0 */
        float weight;
        memcpy(&weight, &bits, sizeof weight);
        char *end[] = {"</s>"};
        const nmt_alignment alignment = {1, 1, end, end, &weight};
        char *text = report(&alignment, 1, NMT_ALIGNMENT_MATRIX, true);
        const float read_back = strtof(strrchr(text, ',') + 1, NULL);
        assert_memory_equal(&read_back, &weight, sizeof weight);
        free(text);
    }
}

static void test_locale_changes_nothing(void **state)
{
    (void)state;
    char directory[] = "/tmp/nmt-locale-XXXXXX";
    assert_non_null(mkdtemp(directory));
    const bool set = comma_locale_set(directory);
    char *text = report(&pair, 1, NMT_ALIGNMENT_MATRIX, false);
    setlocale(LC_ALL, "C");
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    if (!set) {
        free(text);
        skip();
    }
    assert_string_equal(text, ",a,\"b,\"\"c\"\nx,0.100000001,0.899999976\n");
    free(text);
}

static void test_full_disk_is_told(void **state)
{
    (void)state;
    nmt_error error;
    nmt_alignment_writer *writer;
    FILE *file = fopen("/dev/full", "w");
    if (file == NULL) {
        skip();
    }
    setvbuf(file, NULL, _IONBF, 0);
    assert_int_equal(nmt_alignment_writer_create(&writer, file, NMT_ALIGNMENT_MATRIX, true, &error), NMT_OK);
    assert_int_equal(nmt_alignment_writer_add(writer, &pair, &error), NMT_IO);
    assert_non_null(strstr(error.message, "No space left"));
    nmt_alignment_writer_free(writer);
    assert_int_equal(nmt_alignment_writer_create(&writer, file, NMT_ALIGNMENT_LONG, true, &error), NMT_IO);
    assert_int_equal(nmt_alignment_writer_create(&writer, file, NMT_ALIGNMENT_SVG, true, &error), NMT_OK);
    assert_int_equal(nmt_alignment_writer_add(writer, &pair, &error), NMT_OK);
    clearerr(file);
    assert_int_equal(nmt_alignment_writer_finish(writer, &error), NMT_IO);
    nmt_alignment_writer_free(writer);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_form),
        cmocka_unit_test(test_long_form_without_end_of_sentence),
        cmocka_unit_test(test_matrix_form),
        cmocka_unit_test(test_quoting_and_rows_without_end_of_sentence),
        cmocka_unit_test(test_cut_translation),
        cmocka_unit_test(test_pharaoh_links),
        cmocka_unit_test(test_terminal_matrix),
        cmocka_unit_test(test_svg_figures),
        cmocka_unit_test(test_svg_of_less),
        cmocka_unit_test(test_svg_of_hostile_tokens),
        cmocka_unit_test(test_html_page),
        cmocka_unit_test(test_weights_read_back_exactly),
        cmocka_unit_test(test_locale_changes_nothing),
        cmocka_unit_test(test_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
