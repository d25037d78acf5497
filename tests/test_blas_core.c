/*
 * Which kernels of OpenBLAS to ask for: the decision for every kind of processor, library and wish; chains of restarts
 * against simulated libraries; and the check that a restarted process trusts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/blas.h"
#include "core/blas_core.h"
#include "core/cpu.h"

static const cpu_features no_vectors = {0}, with_avx2 = {.avx2 = true}, with_avx512 = {.avx2 = true, .avx512 = true};

static nmt_blas_advice decide(blas_situation now)
{
    nmt_blas_advice advice;
    memset(&advice, 0x5a, sizeof advice); /* all of it is filled */
    blas_core_decide(&advice, &now);
    return advice;
}

static void assert_quiet_keep(blas_situation now)
{
    const nmt_blas_advice advice = decide(now);
    assert_int_equal(advice.action, NMT_BLAS_KEEP);
    assert_string_equal(advice.message, "");
}

static void assert_restart(blas_situation now, const char *core, const char *history)
{
    const nmt_blas_advice advice = decide(now);
    assert_int_equal(advice.action, NMT_BLAS_RESTART);
    assert_string_equal(advice.core, core);
    assert_string_equal(advice.history, history);
    assert_string_equal(advice.message, "");
}

static void assert_says(blas_situation now, nmt_blas_action action, const char *part)
{
    const nmt_blas_advice advice = decide(now);
    assert_int_equal(advice.action, action);
    if (strstr(advice.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", advice.message, part);
    }
}

static void test_first_start(void **state)
{
    (void)state;
    blas_situation now = {.cpu = with_avx512, .core = "Prescott", .choosable = true, .wish = "auto"};
    assert_restart(now, "SkylakeX", "Prescott,SkylakeX");
    now.variable = now.history = ""; /* as if they were not set */
    assert_restart(now, "SkylakeX", "Prescott,SkylakeX");
    now.core = "Sandybridge"; /* AVX alone */
    assert_restart(now, "SkylakeX", "Sandybridge,SkylakeX");
    now.cpu = with_avx2;
    now.core = "Nehalem";
    assert_restart(now, "Haswell", "Nehalem,Haswell");
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    static const char *const good[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", "Excavator"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_quiet_keep((blas_situation){.cpu = with_avx512, .core = good[i], .choosable = true, .wish = "auto"});
    }
    /* An old processor, a library of one core, another architecture, a core that only a newer library knows. */
    assert_quiet_keep((blas_situation){.cpu = no_vectors, .core = "Nehalem", .choosable = true, .wish = "auto"});
    assert_quiet_keep((blas_situation){.cpu = with_avx512, .core = "Prescott", .choosable = false, .wish = "auto"});
    assert_quiet_keep((blas_situation){.cpu = no_vectors, .core = "neoversen1", .choosable = true, .wish = "auto"});
    assert_quiet_keep((blas_situation){.cpu = with_avx512, .core = "Zen9", .choosable = true, .wish = "auto"});
}

static void test_the_users_variable_stays(void **state)
{
    (void)state;
    blas_situation now = {
        .cpu = with_avx512, .core = "Prescott", .choosable = true, .variable = "Prescott", .wish = "auto"};
    assert_quiet_keep(now);
    now.history = "Nehalem,SkylakeX"; /* of some other process */
    assert_quiet_keep(now);
    now.variable = "Nonsense";
    now.history = NULL;
    assert_quiet_keep(now);
}

static void test_keep(void **state)
{
    (void)state;
    assert_quiet_keep((blas_situation){.cpu = with_avx512, .core = "Prescott", .choosable = true, .wish = "keep"});
}

static void test_behind_a_restart(void **state)
{
    (void)state;
    blas_situation now = {.cpu = with_avx512,
                          .core = "SkylakeX",
                          .choosable = true,
                          .variable = "SkylakeX",
                          .history = "Prescott,SkylakeX",
                          .wish = "auto",
                          .right = true};
    assert_says(now, NMT_BLAS_KEEP, "chose its slow Prescott kernels for this processor; restarted with SkylakeX,");
    now.right = false;
    assert_restart(now, "Haswell", "Prescott,SkylakeX,Haswell");
    now.core = "Prescott"; /* the library did not accept it */
    now.right = true;
    assert_restart(now, "Haswell", "Prescott,SkylakeX,Haswell");

    now.history = "Haswellish,SkylakeX"; /* an entry counts as a whole */
    assert_restart(now, "Haswell", "Haswellish,SkylakeX,Haswell");

    now.variable = "Haswell";
    now.history = "Prescott,SkylakeX,Haswell";
    assert_says(now, NMT_BLAS_KEEP, "stays with its slow Prescott kernels");
    assert_says(now, NMT_BLAS_KEEP, "(tried SkylakeX,Haswell)");
    now.core = "Haswell";
    assert_says(now, NMT_BLAS_KEEP, "restarted with Haswell");
    now.right = false;
    assert_restart(now, "", "Prescott,SkylakeX,Haswell,-");

    now.variable = NULL;
    now.core = "Prescott";
    now.history = "Prescott,SkylakeX,Haswell,-";
    assert_says(now, NMT_BLAS_REFUSE, "wrong products");
    now.right = true;
    assert_says(now, NMT_BLAS_KEEP, "(tried SkylakeX,Haswell)");
}

static void test_a_named_core(void **state)
{
    (void)state;
    blas_situation now = {.cpu = with_avx2, .core = "Haswell", .choosable = true, .wish = "Prescott"};
    assert_restart(now, "Prescott", "Haswell,Prescott");
    now.variable = "Zen"; /* the command line says more than the environment */
    assert_restart(now, "Prescott", "Haswell,Prescott");
    now.wish = "haswell";
    assert_quiet_keep(now);
    now.wish = "SkylakeX";
    assert_says(now, NMT_BLAS_REFUSE, "need AVX-512, which this processor does not have");
    now.wish = "Zen9"; /* unknown to us: the library knows */
    assert_restart(now, "Zen9", "Haswell,Zen9");
    now.choosable = false;
    assert_says(now, NMT_BLAS_REFUSE, "expected auto, keep or Haswell");
    now.choosable = true;
    now.cpu = no_vectors;
    now.core = "Nehalem";
    now.wish = "Zen";
    assert_says(now, NMT_BLAS_REFUSE, "need AVX2 and FMA");
}

/* What would not come back from the environment as it went in would start the program for ever. */
static void test_names_that_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {"-", "", "a,b", "Zen ", "Zen\n", "a_name_of_thirty_two_characters_"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_says((blas_situation){.cpu = with_avx2, .core = "Zen", .choosable = true, .wish = none[i]},
                    NMT_BLAS_REFUSE, "expected auto, keep or the name of a core");
    }
    assert_restart(
        (blas_situation){.cpu = with_avx2, .core = "Zen", .choosable = true, .wish = "a_name_of_thirty_one_characters"},
        "a_name_of_thirty_one_characters", "Zen,a_name_of_thirty_one_characters");
}

static void test_a_named_core_behind_its_restart(void **state)
{
    (void)state;
    blas_situation now = {.cpu = with_avx512,
                          .core = "Haswell",
                          .choosable = true,
                          .variable = "haswell",
                          .history = "SkylakeX,haswell",
                          .wish = "haswell",
                          .right = true};
    assert_says(now, NMT_BLAS_KEEP, "restarted with the Haswell kernels of OpenBLAS, as asked");
    now.right = false;
    assert_says(now, NMT_BLAS_REFUSE, "the Haswell kernels of OpenBLAS give wrong products");
    now.core = "SkylakeX";
    now.right = true;
    assert_says(now, NMT_BLAS_REFUSE, "no kernels 'haswell' for this processor: asked for them, it took SkylakeX");
}

/* A library that chooses `own`, accepts what `accepts` names, and is right with all kernels but those in `wrong`. */
typedef struct simulated {
    const char *own, *accepts, *wrong;
} simulated;

/* Starts until the advice is not to restart; returns how often it was to. */
static size_t run_simulated(const simulated *library, const char *wish, nmt_blas_advice *advice, const char **core)
{
    char variable[64] = "", history[256] = "";
    for (size_t restarts = 0; restarts < 10; restarts++) {
        *core = *variable != '\0' && strstr(library->accepts, variable) != NULL ? variable : library->own;
        static char kept[64];
        snprintf(kept, sizeof kept, "%s", *core);
        *core = kept;
        *advice = decide((blas_situation){.cpu = with_avx512,
                                          .core = kept,
                                          .choosable = true,
                                          .variable = variable,
                                          .history = history,
                                          .wish = wish,
                                          .right = strstr(library->wrong, kept) == NULL});
        if (advice->action != NMT_BLAS_RESTART) {
            return restarts;
        }
        snprintf(variable, sizeof variable, "%s", advice->core);
        snprintf(history, sizeof history, "%s", advice->history);
    }
    fail_msg("restarts go on for ever");
    return 0;
}

static void test_chains(void **state)
{
    (void)state;
    static const struct {
        simulated library;
        const char *wish;
        size_t restarts;
        nmt_blas_action action;
        const char *core;
    } cases[] = {
        {{"Prescott", "SkylakeX Haswell", ""}, "auto", 1, NMT_BLAS_KEEP, "SkylakeX"},
        {{"Prescott", "Haswell", ""}, "auto", 2, NMT_BLAS_KEEP, "Haswell"},
        {{"Prescott", "", ""}, "auto", 2, NMT_BLAS_KEEP, "Prescott"},
        {{"Prescott", "SkylakeX Haswell", "SkylakeX"}, "auto", 2, NMT_BLAS_KEEP, "Haswell"},
        {{"Prescott", "SkylakeX Haswell", "SkylakeX Haswell"}, "auto", 3, NMT_BLAS_KEEP, "Prescott"},
        {{"Prescott", "SkylakeX Haswell", "SkylakeX Haswell Prescott"}, "auto", 3, NMT_BLAS_REFUSE, "Prescott"},
        {{"Prescott", "", "Prescott"}, "auto", 3, NMT_BLAS_REFUSE, "Prescott"},
        {{"SkylakeX", "Haswell", ""}, "auto", 0, NMT_BLAS_KEEP, "SkylakeX"},
        {{"SkylakeX", "Haswell", ""}, "Haswell", 1, NMT_BLAS_KEEP, "Haswell"},
        {{"SkylakeX", "Haswell", "Haswell"}, "Haswell", 1, NMT_BLAS_REFUSE, "Haswell"},
        {{"SkylakeX", "Haswell", ""}, "Zen9", 1, NMT_BLAS_REFUSE, "SkylakeX"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nmt_blas_advice advice;
        const char *core;
        assert_int_equal(run_simulated(&cases[i].library, cases[i].wish, &advice, &core), cases[i].restarts);
        assert_int_equal(advice.action, cases[i].action);
        assert_string_equal(core, cases[i].core);
    }
}

static void test_better_core(void **state)
{
    (void)state;
    assert_string_equal(blas_core_better(with_avx512, "Prescott"), "SkylakeX");
    assert_string_equal(blas_core_better(with_avx2, "prescott"), "Haswell");
    assert_null(blas_core_better(with_avx2, "Haswell"));
    assert_null(blas_core_better(no_vectors, "Prescott"));
    assert_null(blas_core_better(with_avx2, "neoversen1"));
}

/* ---- the library as it is here ----------------------------------------------------------------------------------- */

static void test_report(void **state)
{
    (void)state;
    nmt_system report;
    nmt_system_report(&report);
    assert_true(report.processors >= 1 && report.threads >= 1);
    assert_string_equal(report.architecture, cpu_architecture());
    assert_string_equal(report.blas_core, blas_core());
    assert_non_null(strstr(report.blas, "OpenBLAS"));
    assert_int_equal(strstr(report.vectors, "AVX-512") != NULL, cpu_detect().avx512);
    assert_int_equal(strstr(report.vectors, "AVX2") != NULL, cpu_detect().avx2);
    const char *better = blas_core_better(cpu_detect(), blas_core());
    assert_int_equal(report.better_core != NULL, blas_core_is_choosable() && better != NULL);
}

/* The environment that the decision is about. */
static void test_advice_reads_the_environment(void **state)
{
    (void)state;
    nmt_blas_advice advice;
    unsetenv("NMT_BLAS_HISTORY");
    nmt_blas_advise(&advice, "keep");
    assert_int_equal(advice.action, NMT_BLAS_KEEP);

    char history[64];
    snprintf(history, sizeof history, "Prescott,%s", blas_core());
    setenv("NMT_BLAS_HISTORY", history, 1);
    setenv("OPENBLAS_CORETYPE", blas_core(), 1);
    nmt_blas_advise(&advice, blas_core());
    assert_int_equal(advice.action, NMT_BLAS_KEEP);
    assert_non_null(strstr(advice.message, "as asked; their products are right"));
    unsetenv("NMT_BLAS_HISTORY");
    unsetenv("OPENBLAS_CORETYPE");
}

static void wrong_in_last_element(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M,
                                  size_t N, size_t K, real beta)
{
    gemm_nn(C, ldc, A, lda, B, ldb, M, N, K, beta);
    if (M > 64 && N > 64) {
        C[(M - 1) * ldc + N - 1] += (real)0.015625;
    }
}

static void forgets_beta(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N,
                         size_t K, real beta)
{
    (void)beta;
    gemm_nn(C, ldc, A, lda, B, ldb, M, N, K, 0);
}

static void not_a_number(real *C, size_t ldc, const real *A, size_t lda, const real *B, size_t ldb, size_t M, size_t N,
                         size_t K, real beta)
{
    gemm_nn(C, ldc, A, lda, B, ldb, M, N, K, beta);
    C[0] = (real)NAN;
}

static void test_products(void **state)
{
    (void)state;
    assert_true(blas_products_are_right());
    assert_true(blas_product_is_right(gemm_nt, false, true));
    assert_false(blas_product_is_right(wrong_in_last_element, false, false));
    assert_false(blas_product_is_right(forgets_beta, false, false));
    assert_false(blas_product_is_right(not_a_number, false, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_start),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_the_users_variable_stays),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_behind_a_restart),
        cmocka_unit_test(test_a_named_core),
        cmocka_unit_test(test_names_that_are_none),
        cmocka_unit_test(test_a_named_core_behind_its_restart),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_better_core),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_advice_reads_the_environment),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
