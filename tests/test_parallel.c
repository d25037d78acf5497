/* Loops over threads: everything is done once, whatever the number of threads and whoever calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/blas.h"
#include "core/parallel.h"
#include "support_reals.h"

enum { ITEMS = 1000, REPEATS = 300 };

static void set_threads(size_t threads)
{
    nmt_error error;
    assert_int_equal(parallel_set_threads(threads, &error), NMT_OK);
    assert_int_equal(parallel_threads(), threads);
}

/* ---- every item once -------------------------------------------------------------------------------------------- */

typedef struct tally {
    int times[ITEMS];
    atomic_size_t parts, smallest;
} tally;

static void count_items(void *context, size_t begin, size_t end)
{
    tally *done = context;
    atomic_fetch_add(&done->parts, 1);
    size_t smallest = atomic_load(&done->smallest);
    while (end - begin < smallest && !atomic_compare_exchange_weak(&done->smallest, &smallest, end - begin)) {
    }
    for (size_t i = begin; i < end; i++) {
        done->times[i]++;
    }
}

static void check_counts(size_t count, size_t grain, size_t threads)
{
    tally done = {.smallest = SIZE_MAX};
    parallel_for(count, grain, count_items, &done);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(done.times[i], i < count);
    }
    assert_true(done.parts <= threads);
    assert_true(count == 0 ? done.parts == 0 : done.parts >= 1);
    assert_true(done.parts <= 1 || done.smallest >= grain);
}

static void test_every_item_is_done_once(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 5, 7, 33, 64, 999, ITEMS}, grains[] = {1, 2, 3, 32, 500, 5000};
    for (size_t threads = 1; threads <= 5; threads++) {
        set_threads(threads);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
                check_counts(counts[c], grains[g], threads);
            }
        }
    }
}

static void test_changing_the_number_of_threads(void **state)
{
    (void)state;
    static const size_t numbers[] = {3, 1, 2, 2, 7, 1, 4};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        set_threads(numbers[i]);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            check_counts(100, 1, numbers[i]);
        }
    }
    nmt_error error;
    assert_int_equal(parallel_set_threads(0, &error), NMT_INVALID);
    assert_int_equal(parallel_threads(), 4);
    check_counts(100, 1, 4);
}

/* A worker that has gone to sleep wakes for the next loop. */
static void test_loops_far_apart(void **state)
{
    (void)state;
    set_threads(3);
    for (int repeat = 0; repeat < 10; repeat++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        check_counts(ITEMS, 1, 3);
    }
}

/* ---- really at once --------------------------------------------------------------------------------------------- */

/* Each part waits until all have begun: no thread can do two of them. Gives up after ten seconds. */
static void wait_for_all(void *context, size_t begin, size_t end)
{
    atomic_size_t *begun = context;
    const time_t start = time(NULL);
    atomic_fetch_add(begun, end - begin);
    while (atomic_load(begun) < 3 && time(NULL) < start + 10) {
        sched_yield();
    }
}

static void test_parts_run_at_once(void **state)
{
    (void)state;
    set_threads(3);
    atomic_size_t begun = 0;
    const time_t start = time(NULL);
    parallel_for(3, 1, wait_for_all, &begun);
    assert_int_equal(begun, 3);
    assert_true(time(NULL) < start + 10);
}

/* ---- loops in loops, and two callers ---------------------------------------------------------------------------- */

enum { OUTER = 7, INNER = 11 };

static void count_inner(void *context, size_t begin, size_t end)
{
    int *times = context;
    for (size_t i = begin; i < end; i++) {
        times[i]++;
    }
}

static void count_outer(void *context, size_t begin, size_t end)
{
    int(*times)[INNER] = context;
    for (size_t i = begin; i < end; i++) {
        parallel_for(INNER, 1, count_inner, times[i]);
    }
}

static void test_a_loop_within_a_loop(void **state)
{
    (void)state;
    set_threads(3);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        int times[OUTER][INNER] = {{0}};
        parallel_for(OUTER, 1, count_outer, times);
        for (size_t i = 0; i < OUTER * INNER; i++) {
            assert_int_equal(times[i / INNER][i % INNER], 1);
        }
    }
}

static void *call_often(void *context)
{
    int *times = context;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        parallel_for(ITEMS, 1, count_inner, times);
    }
    return NULL;
}

static void test_two_callers_at_once(void **state)
{
    (void)state;
    static int times[2][ITEMS];
    pthread_t other;
    memset(times, 0, sizeof times);
    set_threads(3);
    assert_int_equal(pthread_create(&other, NULL, call_often, times[1]), 0);
    call_often(times[0]);
    pthread_join(other, NULL);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(times[0][i], REPEATS);
        assert_int_equal(times[1][i], REPEATS);
    }
}

static void *change_often(void *unused)
{
    for (size_t repeat = 0; repeat < 20; repeat++) {
        nmt_error error;
        parallel_set_threads(1 + repeat % 3, &error);
    }
    return unused;
}

static void test_the_pool_changes_while_another_calls(void **state)
{
    (void)state;
    static int times[ITEMS];
    pthread_t other;
    memset(times, 0, sizeof times);
    set_threads(2);
    assert_int_equal(pthread_create(&other, NULL, change_often, NULL), 0);
    call_often(times);
    pthread_join(other, NULL);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(times[i], REPEATS);
    }
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* The cutting threshold lies between the two: 64 K multiply-adds. */
static void check_products(size_t M, size_t N, size_t K)
{
    real *A = normal_reals(M * K, 1, 1), *B = normal_reals(N * K, 1, 2), *C[3];
    for (size_t threads = 1; threads <= 3; threads++) {
        set_threads(threads);
        real *product = C[threads - 1] = nan_reals(M * N);
        gemm_nt(product, N, A, K, B, K, M, N, K, 0);
        assert_all_near(product, C[0], M * N, 1e-5 * sqrt((double)K));
        real *again = nan_reals(M * N);
        gemm_nt(again, N, A, K, B, K, M, N, K, 0);
        assert_memory_equal(again, product, M * N * sizeof *again);
        free(again);
    }
    for (size_t i = 0; i < 3; i++) {
        free(C[i]);
    }
    free(A);
    free(B);
}

static void test_products_do_not_depend_on_threads(void **state)
{
    (void)state;
    check_products(5, 7, 3);
    check_products(131, 67, 45);
    check_products(67, 131, 45);
    check_products(300, 1, 400);
    check_products(1, 300, 400);
}

static int one_thread_again(void **state)
{
    (void)state;
    nmt_error error;
    return parallel_set_threads(1, &error) == NMT_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_is_done_once),
        cmocka_unit_test(test_changing_the_number_of_threads),
        cmocka_unit_test(test_loops_far_apart),
        cmocka_unit_test(test_parts_run_at_once),
        cmocka_unit_test(test_a_loop_within_a_loop),
        cmocka_unit_test(test_two_callers_at_once),
        cmocka_unit_test(test_the_pool_changes_while_another_calls),
        cmocka_unit_test(test_products_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, one_thread_again);
}
