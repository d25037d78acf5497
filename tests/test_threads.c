/*
 * A training step with one thread, two and three, large enough for every loop and product to be cut: the same result up
 * to rounding, and for one number of threads the same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/parallel.h"
#include "support_model.h"

enum { SENTENCES = 24, LENGTH_MAX = 20, WORDS = 700, THREADS = 3 };

static const char *const configurations[] = {
    "{\"model\": {\"source_embedding\": 40, \"target_embedding\": 48, \"encoder_hidden\": 72, \"decoder_hidden\": 80, "
    "\"attention_size\": 56, \"gru\": \"reset_before\", \"readout\": \"maxout\", \"readout_size\": 44}, "
    "\"dropout\": {\"embedding\": 0.2, \"annotation\": 0.2, \"readout\": 0.2, \"attention_input\": 0.2, "
    "\"decoder_input\": 0.2, \"recurrent\": 0.2, \"source_word\": 0.1, \"target_word\": 0.1}}",
    "{\"model\": {\"source_embedding\": 40, \"target_embedding\": 48, \"encoder_hidden\": 72, \"decoder_hidden\": 80, "
    "\"attention_size\": 56, \"readout\": \"tanh\", \"readout_size\": 44, \"initial_state\": \"mean\"}}",
};

static void fill_batch(batch *pairs)
{
    static int32_t tokens[2][SENTENCES][LENGTH_MAX];
    const int32_t *ids[2][SENTENCES];
    size_t lengths[2][SENTENCES];
    rng generator = rng_stream(1, "sentences", 0);
    nmt_error error;
    for (size_t i = 0; i < 2 * SENTENCES; i++) {
        int32_t *sentence = tokens[i % 2][i / 2];
        ids[i % 2][i / 2] = sentence;
        lengths[i % 2][i / 2] = (size_t)rng_below(&generator, LENGTH_MAX);
        for (size_t t = 0; t < LENGTH_MAX; t++) {
            sentence[t] = (int32_t)rng_below(&generator, WORDS);
        }
    }
    support_ok(batch_set(pairs, ids[0], lengths[0], ids[1], lengths[1], SENTENCES, &error), &error);
}

/* The gradient; the caller's. */
static real *run(nmt_model *model, const batch *pairs, size_t threads, double *objective)
{
    real *gradient = normal_reals(model->parameters.size, 0, 1);
    batch_loss loss;
    nmt_error error;
    support_ok(parallel_set_threads(threads, &error), &error);
    support_ok(model_loss_and_gradient(model, pairs, gradient, 1, 1, &loss, &error), &error);
    *objective = loss.objective;
    return gradient;
}

/* Within 1e-4 of each tensor's largest number: attention's gradients are differences of larger numbers. */
static void compare(const parameter_table *table, const real *found, const real *expected)
{
    for (size_t t = 0; t < table->count; t++) {
        const tensor *entry = &table->tensors[t];
        double largest = 0;
        for (size_t i = 0; i < tensor_size(entry); i++) {
            largest = fmax(largest, fabs((double)expected[entry->offset + i]));
        }
        assert_true(largest > 0);
        assert_all_near(found + entry->offset, expected + entry->offset, tensor_size(entry), 1e-4 * largest);
    }
}

static void check_model(const char *configuration)
{
    nmt_model *model = support_model(configuration, WORDS, WORDS, 0.3);
    const size_t bytes = model->parameters.size * sizeof(real);
    batch pairs = {0};
    double expected, objective, again;
    fill_batch(&pairs);
    real *alone = run(model, &pairs, 1, &expected);
    for (size_t threads = 1; threads <= THREADS; threads++) {
        real *first = run(model, &pairs, threads, &objective), *second = run(model, &pairs, threads, &again);
        assert_near(objective, expected, 1e-5 * expected);
        compare(&model->parameters, first, alone);
        assert_true(objective == again);
        assert_memory_equal(first, second, bytes);
        free(first);
        free(second);
    }
    free(alone);
    batch_free(&pairs);
    nmt_model_free(model);
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof configurations / sizeof *configurations; i++) {
        check_model(configurations[i]);
    }
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
        cmocka_unit_test(test_threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, one_thread_again);
}
