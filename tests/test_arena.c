#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"

/* Refused memory is tested here: the sanitizers are to give NULL as others do, instead of ending the program. */
static const char refuse[] = "allocator_may_return_null=1";

__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return refuse;
}

__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return refuse;
}

enum { ARRAYS = 4 };

/* What a step lays out: arrays of odd sizes, one of them empty. */
static void lay_out(arena *space, unsigned char **arrays, const size_t *sizes)
{
    for (size_t i = 0; i < ARRAYS; i++) {
        arrays[i] = arena_take(space, sizes[i], 1);
    }
}

static void reserve(arena *space, unsigned char **arrays, const size_t *sizes)
{
    nmt_error error;
    arena_measure(space);
    lay_out(space, arrays, sizes);
    for (size_t i = 0; i < ARRAYS; i++) {
        assert_null(arrays[i]);
    }
    assert_int_equal(arena_reserve(space, "the test", &error), NMT_OK);
    lay_out(space, arrays, sizes);
}

static void test_arrays_are_aligned_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[ARRAYS] = {1, 130, 0, 64};
    arena space = {0};
    unsigned char *arrays[ARRAYS];
    reserve(&space, arrays, sizes);
    for (size_t i = 0; i < ARRAYS; i++) {
        assert_int_equal((uintptr_t)arrays[i] % 64, 0);
        memset(arrays[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < ARRAYS; i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(arrays[i][k], i + 1);
        }
    }
    arena_free(&space);
}

static void test_room_is_used_again(void **state)
{
    (void)state;
    static const size_t large[ARRAYS] = {5000, 10, 20, 30}, small[ARRAYS] = {1, 2, 3, 4};
    arena space = {0};
    unsigned char *first[ARRAYS], *second[ARRAYS];
    reserve(&space, first, large);
    const size_t capacity = space.capacity;
    reserve(&space, second, small);
    assert_ptr_equal(first[0], second[0]);
    assert_int_equal(space.capacity, capacity);
    reserve(&space, second, large);
    assert_ptr_equal(first[0], second[0]);
    arena_free(&space);
    assert_null(space.base);
    arena_free(&space);
}

static void test_room_grows(void **state)
{
    (void)state;
    static const size_t small[ARRAYS] = {1, 2, 3, 4}, large[ARRAYS] = {1, 100000, 1, 1};
    arena space = {0};
    unsigned char *arrays[ARRAYS];
    reserve(&space, arrays, small);
    reserve(&space, arrays, large);
    assert_true(space.capacity >= 100000);
    memset(arrays[1], 1, 100000);
    arena_free(&space);
}

static void test_reals(void **state)
{
    (void)state;
    arena space = {0};
    nmt_error error;
    arena_measure(&space);
    assert_null(arena_reals(&space, 16));
    assert_int_equal(space.used, 16 * sizeof(real));
    assert_int_equal(arena_reserve(&space, "the test", &error), NMT_OK);
    assert_non_null(arena_reals(&space, 16));
    arena_free(&space);
}

/* Arrays that need more than can be counted: noticed, and said whose they are. */
static void check_overflow(size_t count, size_t size, size_t arrays)
{
    arena space = {0};
    nmt_error error;
    arena_measure(&space);
    for (size_t i = 0; i < arrays; i++) {
        arena_take(&space, count, size);
    }
    assert_int_equal(arena_reserve(&space, "the test's layout", &error), NMT_NO_MEMORY);
    assert_non_null(strstr(error.message, "the test's layout needs more bytes than"));
    arena_free(&space);
}

static void test_overflow(void **state)
{
    (void)state;
    check_overflow(SIZE_MAX / 8 + 2, 8, 1); /* as a product of 64 bits: 8 */
    check_overflow(SIZE_MAX / 4 + 1, 1, 5); /* as a sum: 1/4 of all */
    check_overflow(SIZE_MAX, 1, 1);         /* rounded up: 0 */
    check_overflow(SIZE_MAX, 1, 2);
}

/* What the system refuses; the arena can be used afterwards. */
static void test_refusal(void **state)
{
    (void)state;
    static const size_t sizes[ARRAYS] = {1, 2, 3, 4};
    arena space = {0};
    unsigned char *arrays[ARRAYS];
    nmt_error error;
    arena_measure(&space);
    arena_take(&space, SIZE_MAX / 4, 1);
    assert_int_equal(arena_reserve(&space, "the test", &error), NMT_NO_MEMORY);
    assert_non_null(strstr(error.message, "bytes"));
    reserve(&space, arrays, sizes);
    memset(arrays[3], 1, sizes[3]);
    arena_free(&space);
}

/* Whether the system's map of the process marks the memory at `address` for large pages; false too without a map. */
static bool large_pages_wished(const void *address)
{
    char line[512];
    bool here = false, wished = false;
    FILE *map = fopen("/proc/self/smaps", "r");
    while (map != NULL && fgets(line, sizeof line, map) != NULL) {
        uintptr_t start, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2) {
            here = start <= (uintptr_t)address && (uintptr_t)address < end;
        } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            wished = strstr(line, " hg") != NULL;
        }
    }
    if (map != NULL) {
        fclose(map);
    }
    return wished;
}

static void test_large_pages(void **state)
{
    (void)state;
    static const size_t sizes[ARRAYS] = {1, 16 << 20, 2, 3};
    FILE *setting = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (setting == NULL) {
        skip();
    }
    fclose(setting);
    arena space = {0};
    unsigned char *arrays[ARRAYS];
    reserve(&space, arrays, sizes);
    assert_true(large_pages_wished(arrays[1] + sizes[1] / 2));
    arena_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_are_aligned_and_apart),
        cmocka_unit_test(test_room_is_used_again),
        cmocka_unit_test(test_room_grows),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_large_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
