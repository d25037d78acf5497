#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/rng.h"
#include "data/epoch.h"
#include "support_files.h"

enum { PAIRS = 503 };

static nmt_error error;
static corpus *pairs;

static void put_sentence(FILE *file, size_t length)
{
    for (size_t t = 0; t < length; t++) {
        fputs(t == 0 ? "w" : " w", file);
    }
    fputc('\n', file);
}

/* Random lengths, 1 to 30 on each side, and one target of 200. */
static int open_corpus(void **state)
{
    if (support_setup(state) != 0) {
        return -1;
    }
    const corpus_options options = {.source_path = support_path("s"), .target_path = support_path("t")};
    FILE *source = fopen(options.source_path, "w");
    FILE *target = fopen(options.target_path, "w");
    if (source == NULL || target == NULL) {
        return -1;
    }
    rng generator = rng_stream(7, "test", 0);
    for (size_t i = 0; i < PAIRS; i++) {
        put_sentence(source, 1 + rng_below(&generator, 30));
        put_sentence(target, i == 100 ? 200 : 1 + rng_below(&generator, 30));
    }
    fclose(source);
    fclose(target);
    return corpus_open(&pairs, &options, NULL, NULL, &error) == NMT_OK ? 0 : -1;
}

static int close_corpus(void **state)
{
    corpus_close(pairs);
    return support_teardown(state);
}

static epoch_plan make(epoch_options options, uint64_t epoch)
{
    epoch_plan plan;
    assert_int_equal(epoch_plan_create(&plan, pairs, &options, epoch, &error), NMT_OK);
    return plan;
}

static size_t batch_length(const epoch_plan *plan, size_t batch)
{
    return plan->start[batch + 1] - plan->start[batch];
}

static size_t batch_tokens(const epoch_plan *plan, size_t batch)
{
    size_t tokens = 0;
    for (size_t at = plan->start[batch]; at < plan->start[batch + 1]; at++) {
        tokens += corpus_target_length(pairs, plan->pair[at]) + 1;
    }
    return tokens;
}

/* Every pair stands in exactly one batch, and no batch is empty. */
static void check_covers_all(const epoch_plan *plan)
{
    bool seen[PAIRS] = {false};
    assert_int_equal(plan->pairs, PAIRS);
    assert_int_equal(plan->start[0], 0);
    assert_int_equal(plan->start[plan->batches], PAIRS);
    for (size_t batch = 0; batch < plan->batches; batch++) {
        assert_true(plan->start[batch] < plan->start[batch + 1]);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        assert_true(plan->pair[i] < PAIRS);
        assert_false(seen[plan->pair[i]]);
        seen[plan->pair[i]] = true;
    }
}

static void test_covers_all(void **state)
{
    (void)state;
    for (int unit = BATCH_SENTENCES; unit <= BATCH_TOKENS; unit++) {
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            static const size_t sizes[] = {1, 7, 20, 64, 502, 503, 504, 100000, SIZE_MAX / 3 + 1, SIZE_MAX};
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                for (size_t pool = 0; pool < 30; pool += 3) {
                    epoch_plan plan = make((epoch_options){unit, sizes[i], pool, shuffle, 5}, 1);
                    check_covers_all(&plan);
                    if (sizes[i] >= 100000) {
                        assert_int_equal(plan.batches, 1);
                    }
                    epoch_plan_free(&plan);
                }
            }
        }
    }
}

static void test_sentence_batches(void **state)
{
    (void)state;
    epoch_plan plan = make((epoch_options){BATCH_SENTENCES, 20, 5, true, 5}, 1);
    assert_int_equal(plan.batches, 26);
    for (size_t pool = 0; pool < 5; pool++) {
        for (size_t batch = 5 * pool; batch < 5 * pool + 5; batch++) {
            assert_int_equal(batch_length(&plan, batch), 20);
        }
    }
    assert_int_equal(batch_length(&plan, 25), 3);
    epoch_plan_free(&plan);
}

static void test_token_batches(void **state)
{
    (void)state;
    const size_t limit = 150;
    epoch_plan plan = make((epoch_options){BATCH_TOKENS, limit, 10, true, 5}, 1);
    size_t over = 0;
    size_t tokens = 0;
    for (size_t batch = 0; batch < plan.batches; batch++) {
        tokens += batch_tokens(&plan, batch);
        if (batch_tokens(&plan, batch) > limit) { /* only the pair that is longer than a batch, alone */
            over++;
            assert_int_equal(batch_length(&plan, batch), 1);
            assert_int_equal(plan.pair[plan.start[batch]], 100);
        }
    }
    assert_int_equal(over, 1);
    assert_int_equal(tokens, corpus_summarise(pairs).target_tokens + PAIRS);
    assert_true(plan.batches < 1.25 * (double)tokens / (double)limit); /* batches are full */
    epoch_plan_free(&plan);

    /* The bound is kept to the token: 200 and `</s>` fit into 201 with nothing beside them. */
    plan = make((epoch_options){BATCH_TOKENS, 201, 1000, false, 5}, 1);
    for (size_t batch = 0; batch < plan.batches; batch++) {
        assert_true(batch_tokens(&plan, batch) <= 201);
    }
    epoch_plan_free(&plan);
}

/* Whether pair `later` sorts before `earlier`. */
static bool out_of_order(uint32_t earlier, uint32_t later)
{
    const size_t before = corpus_target_length(pairs, earlier);
    const size_t after = corpus_target_length(pairs, later);
    return before > after ||
           (before == after && corpus_source_length(pairs, earlier) > corpus_source_length(pairs, later));
}

static void test_sorted_within_pools(void **state)
{
    (void)state;
    /* Without shuffling, pools are runs of the corpus, and equal lengths stay in its order. */
    epoch_plan plan = make((epoch_options){BATCH_SENTENCES, 10, 10, false, 5}, 1);
    size_t ties = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        assert_int_equal(plan.pair[i] / 100, i / 100);
        if (i % 100 == 0) {
            continue;
        }
        const uint32_t earlier = plan.pair[i - 1];
        const uint32_t later = plan.pair[i];
        assert_false(out_of_order(earlier, later));
        if (!out_of_order(later, earlier)) {
            ties++;
            assert_true(earlier < later);
        }
    }
    assert_true(ties > 5);
    epoch_plan_free(&plan);

    /* With it, batches are still sorted inside, and so hold like lengths, but do not follow each other by length. */
    plan = make((epoch_options){BATCH_SENTENCES, 10, 10, true, 5}, 1);
    size_t falls = 0;
    for (size_t batch = 0; batch < plan.batches; batch++) {
        for (size_t at = plan.start[batch] + 1; at < plan.start[batch + 1]; at++) {
            assert_false(out_of_order(plan.pair[at - 1], plan.pair[at]));
        }
        falls += batch % 10 != 0 && out_of_order(plan.pair[plan.start[batch] - 1], plan.pair[plan.start[batch]]);
    }
    assert_true(falls > 10);
    epoch_plan_free(&plan);
}

static void test_pool_of_one_keeps_the_order(void **state)
{
    (void)state;
    epoch_plan plan = make((epoch_options){BATCH_TOKENS, 90, 1, false, 5}, 1);
    for (size_t i = 0; i < PAIRS; i++) {
        assert_int_equal(plan.pair[i], i);
    }
    epoch_plan_free(&plan);
}

static bool same(epoch_options left, uint64_t left_epoch, epoch_options right, uint64_t right_epoch)
{
    epoch_plan first = make(left, left_epoch);
    epoch_plan second = make(right, right_epoch);
    const bool equal = first.batches == second.batches &&
                       memcmp(first.pair, second.pair, PAIRS * sizeof *first.pair) == 0 &&
                       memcmp(first.start, second.start, (first.batches + 1) * sizeof *first.start) == 0;
    epoch_plan_free(&first);
    epoch_plan_free(&second);
    return equal;
}

static void test_follows_from_seed_and_epoch(void **state)
{
    (void)state;
    for (int unit = BATCH_SENTENCES; unit <= BATCH_TOKENS; unit++) {
        const epoch_options options = {unit, 50, 4, true, 5};
        epoch_options other = options;
        other.seed = 6;
        assert_true(same(options, 1, options, 1));
        assert_false(same(options, 1, options, 2));
        assert_false(same(options, 1, other, 1));
        other = options;
        other.shuffle = false;
        assert_true(same(other, 1, other, 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covers_all),
        cmocka_unit_test(test_sentence_batches),
        cmocka_unit_test(test_token_batches),
        cmocka_unit_test(test_sorted_within_pools),
        cmocka_unit_test(test_pool_of_one_keeps_the_order),
        cmocka_unit_test(test_follows_from_seed_and_epoch),
    };
    return cmocka_run_group_tests(tests, open_corpus, close_corpus);
}
