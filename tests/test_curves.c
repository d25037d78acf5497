/* The drawing of a run: a panel for what there are numbers of, the line through them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comma_locale.h"
#include "report/curves.h"

/* The drawing of a run, the caller's: free(). */
static char *draw(const curve_point *points, size_t count)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    curves_write(file, points, count);
    const long length = ftell(file);
    assert_true(length >= 0);
    char *text = calloc((size_t)length + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)length, file), length);
    fclose(file);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* Updates 0 to 40 lie on 76 to 736 of the width, losses 2 to 4 on 190 to 0 of the panel. */
static const curve_point run[] = {
    {10, 4, 3.5, NAN, 0.001}, {20, 3, NAN, NAN, 0.001}, {30, 2.5, 3, NAN, 0.0005}, {40, 2, 2.5, NAN, 0.0005}};

static void test_lines_go_through_the_points(void **state)
{
    (void)state;
    char *text = draw(run, 4);
    assert_non_null(strstr(text, "d=\"M241 0L406 95L571 143L736 190\"")); /* training */
    assert_non_null(strstr(text, "d=\"M241 48M571 95L736 143\""));        /* validation, with a gap */
    assert_int_equal(count_of(text, "<circle "), 4 + 3 + 4);
    assert_non_null(strstr(text, "<title>update 30: 2.5</title>"));
    assert_non_null(strstr(text, ">training</text>"));
    free(text);
}

static void test_panels_without_numbers_are_left_out(void **state)
{
    (void)state;
    curve_point with_bleu[4], without_validation[4];
    for (size_t i = 0; i < 4; i++) {
        with_bleu[i] = without_validation[i] = run[i];
        with_bleu[i].bleu = 10 * (double)i;
        without_validation[i].validation_loss = NAN;
    }
    char *two = draw(run, 4), *three = draw(with_bleu, 4), *without = draw(without_validation, 4);
    assert_int_equal(count_of(two, "<g "), 2);
    assert_null(strstr(two, "BLEU</text>"));
    assert_int_equal(count_of(three, "<g "), 3);
    assert_non_null(strstr(three, "BLEU</text>"));
    assert_null(strstr(without, "validation"));
    int low, high;
    assert_int_equal(sscanf(strstr(two, " height="), " height=\"%d\"", &low), 1);
    assert_int_equal(sscanf(strstr(three, " height="), " height=\"%d\"", &high), 1);
    assert_true(high > low + 150);
    free(two);
    free(three);
    free(without);
}

static void test_few_points_and_many(void **state)
{
    (void)state;
    char *text = draw(NULL, 0);
    assert_int_equal(count_of(text, "<g "), 0);
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    free(text);
    text = draw(run, 1);
    assert_int_equal(count_of(text, "<circle "), 3);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    curve_point many[61];
    for (size_t i = 0; i < 61; i++) {
        many[i] = (curve_point){(double)(1000 * (i + 1)), 2, 1, 20, 0.001};
    }
    text = draw(many, 61);
    assert_int_equal(count_of(text, "<circle "), 0);
    assert_non_null(strstr(text, ">60000</text>"));
    free(text);
}

static void test_locale_changes_nothing(void **state)
{
    (void)state;
    char directory[] = "/tmp/nmt-locale-XXXXXX";
    assert_non_null(mkdtemp(directory));
    char *plain = draw(run, 4);
    const bool set = comma_locale_set(directory);
    char *text = draw(run, 4);
    setlocale(LC_ALL, "C");
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    if (set) {
        assert_string_equal(text, plain);
    }
    free(text);
    free(plain);
    if (!set) {
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_go_through_the_points),
        cmocka_unit_test(test_panels_without_numbers_are_left_out),
        cmocka_unit_test(test_few_points_and_many),
        cmocka_unit_test(test_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
