/* What the decoder sees in training: the reference, or what it would say itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/scheduled_sampling.h"
#include "support_model.h"

enum { WORDS = 300, SENTENCES = 5, TOKENS_MAX = 512 };

/* Targets of 3, 6, 1, 0 and 40 words. */
static const char *const lines[SENTENCES] = {
    "3 4 3 | 5 6 7", "| 3 4 5 5 3 9", "8 3 0 0 4 | 8", "6 6 |",
    "0 4 | 3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7"};

static nmt_model *new_model(const char *training)
{
    char text[300];
    snprintf(text, sizeof text,
             "{\"model\": {\"source_embedding\": 3, \"target_embedding\": 5, \"encoder_hidden\": 4, "
             "\"decoder_hidden\": 6, \"attention_size\": 7}, \"training\": {%s}}",
             training);
    return support_model(text, 11, WORDS, 0.7);
}

static void sample(nmt_model *model, const batch *pairs, double share, uint64_t update, int32_t *id)
{
    nmt_error error;
    assert_true(pairs->input.tokens <= TOKENS_MAX);
    support_ok(scheduled_sampling(model, pairs, share, update, id, &error), &error);
}

/*
 * Whether each word that row `row` sees is the likeliest behind those before it, by decoding that sentence alone; the
 * count of those that are is added to `own`, that of those that are the reference's to `given`. Each must be one.
 */
static void check_row(nmt_model *model, const char *line, const batch *pairs, const int32_t *id, size_t row,
                      size_t *own, size_t *given)
{
    batch alone = {0};
    decoding *state;
    const real *logits, *alpha;
    nmt_error error;
    support_batch(&alone, &line, 1);
    support_ok(model_start(model, &alone.source, 1, &state, &error), &error);
    assert_int_equal(id[row], TOKEN_START);
    for (size_t t = 0; t + 1 < pairs->input.length[row]; t++) {
        const size_t next = pairs->input.offset[t + 1] + row;
        int32_t best = TOKEN_UNKNOWN;
        support_ok(model_step(state, &id[pairs->input.offset[t] + row], &logits, &alpha, &error), &error);
        for (int32_t word = TOKEN_END; word < WORDS; word++) {
            best = logits[word] > logits[best] ? word : best;
        }
        support_ok(model_reorder(state, &(size_t){0}, 1, &error), &error);
        assert_true(id[next] == best || id[next] == pairs->input.id[next]);
        *own += id[next] == best;
        *given += id[next] == pairs->input.id[next];
    }
    model_finish(state);
    batch_free(&alone);
}

static void check(double share, size_t own_least, size_t own_most)
{
    nmt_model *model = new_model("\"seed\": 3");
    batch pairs = {0};
    int32_t id[TOKENS_MAX];
    size_t own = 0, given = 0;
    support_batch(&pairs, lines, SENTENCES);
    sample(model, &pairs, share, 1, id);
    for (size_t row = 0; row < SENTENCES; row++) {
        check_row(model, lines[pairs.input.order[row]], &pairs, id, row, &own, &given);
    }
    assert_in_range(own, own_least, own_most);
    assert_true(own + given >= pairs.input.tokens - SENTENCES);
    assert_true(own + given <= pairs.input.tokens - SENTENCES + 3); /* hardly any is both */
    batch_free(&pairs);
    nmt_model_free(model);
}

/* 50 words besides the `<s>` of each. */
static void words_are_the_references_or_the_likeliest(void **state)
{
    (void)state;
    check(0, 50, 50);
    check(0.5, 14, 36);
    check(0.9, 1, 14);
    check(1, 0, 3);
}

static void the_same_update_draws_the_same(void **state)
{
    (void)state;
    nmt_model *model = new_model("\"seed\": 3");
    batch pairs = {0};
    int32_t first[TOKENS_MAX], again[TOKENS_MAX], next[TOKENS_MAX], other_seed[TOKENS_MAX];
    support_batch(&pairs, lines, SENTENCES);
    const size_t size = pairs.input.tokens * sizeof *first;
    sample(model, &pairs, 0.5, 7, first);
    sample(model, &pairs, 0.5, 7, again);
    sample(model, &pairs, 0.5, 8, next);
    model->config->training.seed++;
    sample(model, &pairs, 0.5, 7, other_seed);
    assert_memory_equal(first, again, size);
    assert_memory_not_equal(first, next, size);
    assert_memory_not_equal(first, other_seed, size);
    batch_free(&pairs);
    nmt_model_free(model);
}

static void the_share_falls_evenly(void **state)
{
    (void)state;
    nmt_model *model = new_model("\"teacher_forcing\": 0.2, \"forcing_decay\": 8");
    static const double shares[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2};
    for (uint64_t update = 1; update <= 10; update++) {
        assert_near(teacher_forcing_share(model->config, update), shares[update - 1], 1e-12);
    }
    model->config->training.forcing_decay = 0;
    assert_near(teacher_forcing_share(model->config, 1), 0.2, 1e-12);
    model->config->training.teacher_forcing = 1;
    assert_true(teacher_forcing_share(model->config, 1000) == 1);
    nmt_model_free(model);
}

/* Training's loss is that of the words it saw; without gradient it is the plain one. */
static void only_training_sees_its_own_words(void **state)
{
    (void)state;
    nmt_model *model = new_model("\"teacher_forcing\": 0.3");
    batch pairs = {0}, seen;
    int32_t id[TOKENS_MAX];
    batch_loss plain, training, expected;
    nmt_error error;
    real *gradient = normal_reals(model->parameters.size, 0, 1);
    support_batch(&pairs, lines, SENTENCES);
    sample(model, &pairs, 0.3, 5, id);
    seen = pairs;
    seen.input.id = id;
    support_ok(model_loss_and_gradient(model, &pairs, gradient, 1, 5, &training, &error), &error);
    support_ok(model_loss_and_gradient(model, &pairs, NULL, 0, 5, &plain, &error), &error);
    support_ok(model_loss_and_gradient(model, &seen, NULL, 0, 5, &expected, &error), &error);
    assert_true(plain.nats != training.nats);
    assert_near(training.nats, expected.nats, 1e-5 * expected.nats);
    free(gradient);
    batch_free(&pairs);
    nmt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_the_references_or_the_likeliest), cmocka_unit_test(the_same_update_draws_the_same),
        cmocka_unit_test(the_share_falls_evenly), cmocka_unit_test(only_training_sees_its_own_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
