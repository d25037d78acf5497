/* Links: reading them strictly, taking them from attention, joining two directions and measuring, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <nmt/links.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("expected %.10g, found %.10g", expected, actual);
    }
}

static nmt_links parse(const char *line, bool gold)
{
    nmt_links links = {0};
    nmt_error error;
    if (nmt_links_parse(&links, line, gold, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return links;
}

/* Links as they are read, "0-1 2p3". */
static void check_links(const nmt_links *links, const char *expected)
{
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < links->count && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u%c%u", i > 0 ? " " : "", links->items[i].source,
                                 links->items[i].possible ? 'p' : '-', links->items[i].target);
    }
    assert_string_equal(text, expected);
}

static void test_parse_sorts_by_target(void **state)
{
    (void)state;
    nmt_links links = parse(" 2-1\t0-1  10-0 0p2 999999-3 ", true);
    check_links(&links, "10-0 0-1 2-1 0p2 999999-3");
    nmt_error error;
    assert_int_equal(nmt_links_parse(&links, "", false, &error), NMT_OK);
    assert_int_equal(links.count, 0);
    nmt_links_clear(&links);
    assert_null(links.items);
}

static void check_fault(const char *line, bool gold, const char *part)
{
    nmt_links links = {0};
    nmt_error error;
    assert_int_equal(nmt_links_parse(&links, line, gold, &error), NMT_INVALID);
    if (strstr(error.message, part) == NULL) {
        fail_msg("expected \"...%s...\", found \"%s\"", part, error.message);
    }
    nmt_links_clear(&links);
}

static void test_parse_is_strict(void **state)
{
    (void)state;
    const char *const faults[] = {"0",    "0-",   "-1",  "0-1x",      "0--1",      "a-1",
                                  "0 -1", "+0-1", "0:1", "0-1000000", "1000000-0", "0-99999999999999999999",
                                  "0-1,"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        check_fault(faults[i], false, "link 1: expected i-j with");
        check_fault(faults[i], true, "link 1: expected i-j or ipj with");
    }
    check_fault("0-0 1p1", false, "link 2: expected i-j with numbers from 0 to 999999, found \"1p1\"");
    check_fault("0-0 1-1\x1b[m", false, "found \"1-1\\x1B[m\"");
    check_fault("3-4 0-0 3-4", false, "source token 3 and target token 4 are linked twice");
    check_fault("3-4 0-0 3p4", true, "linked twice");
}

static void test_swap(void **state)
{
    (void)state;
    nmt_links links = parse("5-0 1p1 0-2", true);
    nmt_links_swap(&links);
    check_links(&links, "2-0 1p1 0-5");
    nmt_links_clear(&links);
}

/* ---- from attention ---------------------------------------------------------------------------------------------- */

static char *source_tokens[] = {"a", "b", "c", "</s>"};
static char *target_tokens[] = {"w", "x", "y", "z", "</s>"};

/* Rows read c, a and c alike, </s>, b, a. */
static const float table[] = {0, 0.1F, 0.9F, 0, 0.4F, 0.2F, 0.4F, 0, 0, 0.1F, 0.2F, 0.7F, 0, 0.6F, 0.4F, 0, 1, 0, 0, 0};

static void check_attention(size_t targets, bool shift, const char *expected)
{
    float weights[sizeof table / sizeof table[0]];
    memcpy(weights, table, sizeof table);
    nmt_alignment alignment = {4, targets, source_tokens, target_tokens, weights};
    nmt_links links = {0};
    nmt_error error;
    assert_int_equal(nmt_links_from_attention(&links, &alignment, shift, &error), NMT_OK);
    check_links(&links, expected);
    if (shift) { /* the same by moving the rows themselves */
        nmt_alignment_shift(&alignment);
        assert_int_equal(nmt_links_from_attention(&links, &alignment, false, &error), NMT_OK);
        check_links(&links, expected);
    }
    nmt_links_clear(&links);
}

/* With five rows the last is that of </s>; with four the translation was cut off, and the last one is a word's. */
static void test_links_from_attention(void **state)
{
    (void)state;
    check_attention(5, false, "2-0 0-1 1-3");
    check_attention(4, false, "2-0 0-1 1-3");
    check_attention(5, true, "0-0 1-2 0-3");
    check_attention(4, true, "0-0 1-2 1-3");
    check_attention(1, true, "2-0");
}

static void test_shift_keeps_the_last_row(void **state)
{
    (void)state;
    float weights[] = {0.1F, 0.9F, 0.2F, 0.8F, 0.3F, 0.7F};
    const float expected[] = {0.2F, 0.8F, 0.3F, 0.7F, 0.3F, 0.7F};
    char *source[] = {"a", "</s>"};
    nmt_alignment alignment = {2, 3, source, target_tokens, weights};
    nmt_alignment_shift(&alignment);
    assert_memory_equal(weights, expected, sizeof expected);
    nmt_alignment nothing = {0};
    nmt_alignment_shift(&nothing);
    nmt_links links = {0};
    nmt_error error;
    assert_int_equal(nmt_links_from_attention(&links, &nothing, true, &error), NMT_OK);
    assert_int_equal(links.count, 0);
    nmt_links_clear(&links);
}

/* ---- two directions ---------------------------------------------------------------------------------------------- */

static void check_join(const char *forward, const char *reverse, nmt_symmetrization method, const char *expected)
{
    nmt_links there = parse(forward, false);
    nmt_links back = parse(reverse, false);
    nmt_links joined = parse("7-7", false); /* is overwritten */
    nmt_error error;
    assert_int_equal(nmt_links_symmetrize(&joined, &there, &back, method, &error), NMT_OK);
    check_links(&joined, expected);
    nmt_links_clear(&there);
    nmt_links_clear(&back);
    nmt_links_clear(&joined);
}

static void test_intersection_and_union(void **state)
{
    (void)state;
    const char *forward = "0-0 1-1 2-1 4-4";
    const char *reverse = "0-0 2-1 2-2 3-4";
    check_join(forward, reverse, NMT_SYMMETRIZATION_INTERSECTION, "0-0 2-1");
    check_join(forward, reverse, NMT_SYMMETRIZATION_UNION, "0-0 1-1 2-1 2-2 3-4 4-4");
    check_join("", reverse, NMT_SYMMETRIZATION_INTERSECTION, "");
    check_join("", reverse, NMT_SYMMETRIZATION_UNION, "0-0 2-1 2-2 3-4");
    check_join("", "", NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND, "");
}

/* From 0-0, the only link of both: 1-1 is its diagonal neighbour and new on both sides; 1-2 is a neighbour of 1-1, and
 * target 2 is new; 2-2 is a neighbour of 1-1 as well, but is asked for behind 1-2 and then joins for source 2. 4-4
 * touches nothing that is taken. */
static void test_grow_diag(void **state)
{
    (void)state;
    const char *forward = "0-0 1-1 1-2 4-4";
    const char *reverse = "0-0 2-2";
    check_join(forward, reverse, NMT_SYMMETRIZATION_GROW_DIAG, "0-0 1-1 1-2 2-2");
    check_join(forward, reverse, NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND, "0-0 1-1 1-2 2-2 4-4");
}

/* A neighbour whose two tokens both have links already does not join: 1-0 and 0-1 between 0-0 and 1-1. */
static void test_grow_diag_needs_a_new_token(void **state)
{
    (void)state;
    check_join("0-0 1-1 1-0", "0-0 1-1 0-1", NMT_SYMMETRIZATION_GROW_DIAG, "0-0 1-1");
    check_join("0-0 1-1 1-0", "0-0 1-1 0-1", NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND, "0-0 1-1");
}

/* Of two neighbours that shut each other out the one asked for first joins. Both lie on target 2 (or 0), which is new;
 * their sources have links of both directions far away. */
static void test_grow_diag_order_of_neighbours(void **state)
{
    (void)state;
    /* (1,-1) before (1,1): 0-2 before 2-2. */
    check_join("1-1 0-6 2-8 0-2", "1-1 0-6 2-8 2-2", NMT_SYMMETRIZATION_GROW_DIAG, "1-1 0-2 0-6 2-8");
    /* Straight before diagonal: 1-2 at (1,0) before 0-2 at (1,-1). */
    check_join("1-1 0-6 0-2", "1-1 0-6 1-2", NMT_SYMMETRIZATION_GROW_DIAG, "1-1 1-2 0-6");
    /* (-1,-1) before (-1,1): 0-0 before 2-0. */
    check_join("1-1 0-6 2-8 0-0", "1-1 0-6 2-8 2-0", NMT_SYMMETRIZATION_GROW_DIAG, "0-0 1-1 0-6 2-8");
    /* Of neighbours on the same target, with new sources, both join. */
    check_join("1-1 0-1", "1-1 2-1", NMT_SYMMETRIZATION_GROW_DIAG, "0-1 1-1 2-1");
}

/* A walk by target: 0-4 stands last. What it takes before its own place, 0-3, then 0-2, is gone over in the next walk,
 * until a walk adds nothing. */
static void test_grow_diag_repeats(void **state)
{
    (void)state;
    check_join("0-4 0-3 0-1", "0-4 0-2 0-0", NMT_SYMMETRIZATION_GROW_DIAG, "0-0 0-1 0-2 0-3 0-4");
}

/* Final: by target and then source, only where both tokens are without a link. 3-3 before 3-4 and 4-3, which it shuts
 * out; 0-5 has a source with a link. */
static void test_final_and(void **state)
{
    (void)state;
    check_join("0-0 3-3 4-3", "0-0 3-4 0-5", NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND, "0-0 3-3");
    check_join("0-0 4-3", "0-0 3-4", NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND, "0-0 4-3 3-4");
}

/* ---- measures ---------------------------------------------------------------------------------------------------- */

static void add(nmt_link_counts *counts, const char *links, const char *gold)
{
    nmt_links found = parse(links, false);
    nmt_links wanted = parse(gold, true);
    nmt_link_counts_add(counts, &found, &wanted);
    nmt_links_clear(&found);
    nmt_links_clear(&wanted);
}

/* Five links: two sure, one possible, two wrong; three sure gold links in all. */
static void test_error_rate(void **state)
{
    (void)state;
    nmt_link_counts counts = {0};
    add(&counts, "0-0 1-1 2-2", "0-0 1p1 3-2 1p2");
    assert_near(nmt_links_precision(&counts), 100 * 2.0 / 3, 1e-10);
    assert_near(nmt_links_recall(&counts), 100 * 1.0 / 2, 1e-10);
    assert_near(nmt_links_error_rate(&counts), 100 * (1 - 3.0 / 5), 1e-10);
    add(&counts, "0-1 1-0", "0-1");
    assert_int_equal(counts.links, 5);
    assert_int_equal(counts.sure, 3);
    assert_int_equal(counts.links_sure, 2);
    assert_int_equal(counts.links_allowed, 3);
    assert_near(nmt_links_precision(&counts), 100 * 3.0 / 5, 1e-10);
    assert_near(nmt_links_recall(&counts), 100 * 2.0 / 3, 1e-10);
    assert_near(nmt_links_error_rate(&counts), 100 * (1 - 5.0 / 8), 1e-10);
}

/* All sure links and only allowed ones: nothing is wrong, however many possible links are left out (Och and Ney). */
static void test_error_rate_of_the_best(void **state)
{
    (void)state;
    nmt_link_counts counts = {0};
    add(&counts, "0-0 1-1", "0-0 1p1 2p2");
    assert_near(nmt_links_error_rate(&counts), 0, 1e-10);
}

static void test_measures_of_nothing(void **state)
{
    (void)state;
    nmt_link_counts counts = {0};
    assert_near(nmt_links_precision(&counts), 100, 0);
    assert_near(nmt_links_recall(&counts), 100, 0);
    assert_near(nmt_links_error_rate(&counts), 0, 0);
    add(&counts, "", "0-0");
    assert_near(nmt_links_precision(&counts), 100, 0);
    assert_near(nmt_links_recall(&counts), 0, 0);
    assert_near(nmt_links_error_rate(&counts), 100, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_sorts_by_target),
        cmocka_unit_test(test_parse_is_strict),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_links_from_attention),
        cmocka_unit_test(test_shift_keeps_the_last_row),
        cmocka_unit_test(test_intersection_and_union),
        cmocka_unit_test(test_grow_diag),
        cmocka_unit_test(test_grow_diag_needs_a_new_token),
        cmocka_unit_test(test_grow_diag_order_of_neighbours),
        cmocka_unit_test(test_grow_diag_repeats),
        cmocka_unit_test(test_final_and),
        cmocka_unit_test(test_error_rate),
        cmocka_unit_test(test_error_rate_of_the_best),
        cmocka_unit_test(test_measures_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
