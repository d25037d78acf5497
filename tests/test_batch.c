#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "core/rng.h"
#include "data/batch.h"
#include "data/vocabulary.h"

static nmt_error error;

enum { a = 11, b, c, d, e, f };

#define CHECK_ARRAY(type, found, ...)                                                                                  \
    assert_memory_equal((found), ((const type[]){__VA_ARGS__}), sizeof((const type[]){__VA_ARGS__}))

static void test_layout(void **state)
{
    (void)state;
    /* The example of the header, the sentences given in another order. */
    static const int32_t de[] = {d, e}, abc[] = {a, b, c}, f_[] = {f};
    const int32_t *const ids[] = {de, f_, abc};
    static const size_t lengths[] = {2, 1, 3};
    sequences packed = {0};
    assert_int_equal(sequences_set(&packed, ids, lengths, 3, &error), NMT_OK);
    assert_int_equal(packed.count, 3);
    assert_int_equal(packed.steps, 3);
    assert_int_equal(packed.tokens, 6);
    CHECK_ARRAY(uint32_t, packed.order, 2, 0, 1);
    CHECK_ARRAY(uint32_t, packed.row, 1, 2, 0);
    CHECK_ARRAY(uint32_t, packed.length, 3, 2, 1);
    CHECK_ARRAY(uint32_t, packed.active, 3, 2, 1);
    CHECK_ARRAY(uint32_t, packed.offset, 0, 3, 5, 6);
    CHECK_ARRAY(int32_t, packed.id, a, d, f, b, e, c);
    sequences_free(&packed);
    assert_null(packed.id);
}

static void test_ties_as_given(void **state)
{
    (void)state;
    static const int32_t one[] = {a, b}, two[] = {c}, three[] = {d, e}, four[] = {f};
    const int32_t *const ids[] = {two, one, four, three};
    static const size_t lengths[] = {1, 2, 1, 2};
    sequences packed = {0};
    assert_int_equal(sequences_set(&packed, ids, lengths, 4, &error), NMT_OK);
    CHECK_ARRAY(uint32_t, packed.order, 1, 3, 0, 2);
    CHECK_ARRAY(uint32_t, packed.row, 2, 0, 3, 1);
    CHECK_ARRAY(uint32_t, packed.active, 4, 2);
    CHECK_ARRAY(int32_t, packed.id, a, d, c, f, b, e);
    sequences_free(&packed);
}

static void test_empty_batch(void **state)
{
    (void)state;
    sequences packed = {0};
    assert_int_equal(sequences_set(&packed, NULL, NULL, 0, &error), NMT_OK);
    assert_int_equal(packed.count, 0);
    assert_int_equal(packed.steps, 0);
    assert_int_equal(packed.tokens, 0);
    assert_int_equal(packed.offset[0], 0);
    sequences_free(&packed);
}

/* Whatever the lengths: each sentence reads back token by token, and the arrays fit each other. */
static void check_reads_back(const sequences *packed, const int32_t *const *ids, const size_t *lengths, size_t count)
{
    size_t tokens = 0;
    assert_int_equal(packed->count, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t row = packed->row[i];
        assert_int_equal(packed->order[row], i);
        assert_int_equal(packed->length[row], lengths[i]);
        for (size_t t = 0; t < lengths[i]; t++) {
            assert_true(row < packed->active[t]);
            assert_int_equal(packed->id[packed->offset[t] + row], ids[i][t]);
        }
        tokens += lengths[i];
    }
    assert_int_equal(packed->tokens, tokens);
    assert_int_equal(packed->offset[packed->steps], tokens);
    for (size_t row = 1; row < count; row++) {
        assert_true(packed->length[row - 1] >= packed->length[row]);
        if (packed->length[row - 1] == packed->length[row]) {
            assert_true(packed->order[row - 1] < packed->order[row]);
        }
    }
}

static void test_reuse(void **state)
{
    (void)state;
    enum { MOST = 40, LONGEST = 30 };
    static int32_t numbers[MOST][LONGEST];
    rng generator = rng_stream(1, "test", 0);
    sequences packed = {0};
    for (int round = 0; round < 50; round++) {
        const int32_t *ids[MOST];
        size_t lengths[MOST];
        const size_t count = 1 + rng_below(&generator, MOST);
        const size_t longest = 1 + rng_below(&generator, LONGEST);
        for (size_t i = 0; i < count; i++) {
            ids[i] = numbers[i];
            lengths[i] = 1 + rng_below(&generator, longest);
            for (size_t t = 0; t < lengths[i]; t++) {
                numbers[i][t] = (int32_t)rng_below(&generator, 1000);
            }
        }
        assert_int_equal(sequences_set(&packed, ids, lengths, count, &error), NMT_OK);
        check_reads_back(&packed, ids, lengths, count);
    }
    sequences_free(&packed);
}

static void test_no_allocation_the_second_time(void **state)
{
    (void)state;
    static const int32_t one[] = {a, b, c}, two[] = {d};
    const int32_t *const ids[] = {one, two};
    static const size_t lengths[] = {3, 1};
    batch pairs = {0};
    assert_int_equal(batch_set(&pairs, ids, lengths, ids, lengths, 2, &error), NMT_OK);
    const batch first = pairs;
    assert_int_equal(batch_set(&pairs, ids, lengths, ids, lengths, 1, &error), NMT_OK);
    assert_int_equal(batch_set(&pairs, ids, lengths, ids, lengths, 2, &error), NMT_OK);
    assert_memory_equal(&first, &pairs, sizeof pairs); /* the same pointers and capacities */
    batch_free(&pairs);
}

static void test_pairs(void **state)
{
    (void)state;
    static const int32_t ab[] = {a, b}, c_[] = {c}, def[] = {d, e, f};
    const int32_t *const sources[] = {c_, ab, NULL};
    static const size_t source_lengths[] = {1, 2, 0};
    const int32_t *const targets[] = {def, NULL, c_};
    static const size_t target_lengths[] = {3, 0, 1};
    batch pairs = {0};
    assert_int_equal(batch_set(&pairs, sources, source_lengths, targets, target_lengths, 3, &error), NMT_OK);

    /* a b </s> / c </s> / </s> */
    CHECK_ARRAY(uint32_t, pairs.source.order, 1, 0, 2);
    CHECK_ARRAY(uint32_t, pairs.source.length, 3, 2, 1);
    CHECK_ARRAY(int32_t, pairs.source.id, a, c, TOKEN_END, b, TOKEN_END, TOKEN_END);

    /* <s> d e f / <s> c / <s>, predicting d e f </s> / c </s> / </s> */
    assert_int_equal(pairs.input.tokens, 7);
    CHECK_ARRAY(uint32_t, pairs.input.order, 0, 2, 1);
    CHECK_ARRAY(uint32_t, pairs.input.row, 0, 2, 1);
    CHECK_ARRAY(uint32_t, pairs.input.active, 3, 2, 1, 1);
    CHECK_ARRAY(int32_t, pairs.input.id, TOKEN_START, TOKEN_START, TOKEN_START, d, c, e, f);
    CHECK_ARRAY(int32_t, pairs.output, d, c, TOKEN_END, e, TOKEN_END, f, TOKEN_END);
    batch_free(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),      cmocka_unit_test(test_ties_as_given),
        cmocka_unit_test(test_empty_batch), cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_pairs),       cmocka_unit_test(test_no_allocation_the_second_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
