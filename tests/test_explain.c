/* Explanations: the numbers are those of greedy translation, and fit each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <nmt/explain.h>
#include <nmt/translate.h>
#include <stdlib.h>
#include <string.h>

#include "model/ensemble.h"
#include "support_model.h"

#define SIZES                                                                                                          \
    "\"source_embedding\": 5, \"target_embedding\": 4, \"encoder_hidden\": 6, \"decoder_hidden\": 7, "                 \
    "\"attention_size\": 4"

enum { SOURCE_WORDS = 9, TARGET_WORDS = 11 };
static const char *const line = "w3 w8 unknown w4";

static nmt_model *model_with(const char *more)
{
    char text[400];
    snprintf(text, sizeof text, "{\"model\": {" SIZES "%s}}", more);
    return support_model(text, SOURCE_WORDS, TARGET_WORDS, 1);
}

static nmt_explanation explain(nmt_model *model, const char *text)
{
    nmt_explanation made;
    nmt_error error;
    support_ok(nmt_explain(model, text, &made, &error), &error);
    return made;
}

static void assert_close(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-5)) {
        fail_msg("expected %.9g, found %.9g", expected, found);
    }
}

/* Tokens, weights and probabilities against nmt_translate's; returns how many steps there were. */
static size_t check_against_translation(nmt_model *model)
{
    nmt_translation translation;
    nmt_error error;
    const nmt_translate_options options = {.alignment = true};
    support_ok(nmt_translate(model, &line, 1, &options, &translation, &error), &error);
    nmt_explanation made = explain(model, line);
    assert_int_equal(made.step_count, translation.token_count);
    assert_int_equal(made.source_count, 5);
    assert_string_equal(made.source[2], "unknown");
    assert_string_equal(made.source[4], "</s>");
    for (size_t t = 0; t < made.step_count; t++) {
        const nmt_explained_step *step = &made.steps[t];
        assert_string_equal(step->candidates[0].token, translation.alignment.target[t]);
        assert_close(log(step->candidates[0].probability), translation.token_log_probabilities[t]);
        assert_true(step->state_norm > 0 && step->context_norm > 0);
        for (size_t s = 0; s < made.source_count; s++) {
            assert_close(step->weights[s], (double)translation.alignment.weights[t * made.source_count + s]);
        }
    }
    const size_t steps = made.step_count;
    nmt_explanation_clear(&made);
    nmt_translation_clear(&translation);
    return steps;
}

static void test_steps_are_those_of_translation(void **state)
{
    (void)state;
    static const char *const kinds[] = {"",
                                        ", \"order\": \"luong\"",
                                        ", \"order\": \"conditional\"",
                                        ", \"attention_heads\": 2",
                                        ", \"order\": \"luong\", \"attention_extent\": \"local_p\"",
                                        ", \"readout_state\": \"previous\""};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        nmt_model *model = model_with(kinds[i]);
        assert_true(check_against_translation(model) >= 2);
        nmt_model_free(model);
    }
}

/* In every order alpha = softmax(e). */
static void test_scores_make_the_weights(void **state)
{
    (void)state;
    static const char *const kinds[] = {"", ", \"order\": \"luong\", \"attention_score\": \"general\"",
                                        ", \"order\": \"conditional\""};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        nmt_model *model = model_with(kinds[i]);
        nmt_explanation made = explain(model, line);
        for (size_t t = 0; t < made.step_count; t++) {
            double sum = 0;
            for (size_t s = 0; s < made.source_count; s++) {
                sum += exp(made.steps[t].energies[s]);
            }
            for (size_t s = 0; s < made.source_count; s++) {
                assert_close(exp(made.steps[t].energies[s]) / sum, made.steps[t].weights[s]);
            }
        }
        nmt_explanation_clear(&made);
        nmt_model_free(model);
    }
}

static void test_weights_of_no_single_score_have_none(void **state)
{
    (void)state;
    static const char *const kinds[] = {", \"attention_heads\": 2", ", \"attention_extent\": \"local_m\"",
                                        ", \"attention_score\": \"fixed\""};
    for (size_t i = 0; i < 3; i++) {
        nmt_model *model = model_with(kinds[i]);
        nmt_explanation made = explain(model, line);
        assert_null(made.steps[0].energies);
        nmt_explanation_clear(&made);
        nmt_model_free(model);
    }
}

/* The best first, each once, `<s>` never, no more than there is. */
static void test_candidates(void **state)
{
    (void)state;
    nmt_model *model = model_with("");
    nmt_explanation made = explain(model, line);
    for (size_t t = 0; t < made.step_count; t++) {
        const nmt_explained_step *step = &made.steps[t];
        double sum = 0;
        assert_int_equal(step->candidate_count, NMT_CANDIDATES);
        for (size_t i = 0; i < NMT_CANDIDATES; i++) {
            sum += step->candidates[i].probability;
            assert_string_not_equal(step->candidates[i].token, "<s>");
            assert_true(i == 0 || step->candidates[i].probability <= step->candidates[i - 1].probability);
            assert_true(i == 0 || strcmp(step->candidates[i].token, step->candidates[i - 1].token) != 0);
        }
        assert_true(sum <= 1 + 1e-6);
    }
    nmt_explanation_clear(&made);
    nmt_model_free(model);
    model = support_model("{\"model\": {" SIZES "}}", SOURCE_WORDS, 4, 1);
    made = explain(model, line);
    assert_int_equal(made.steps[0].candidate_count, 3);
    nmt_explanation_clear(&made);
    nmt_model_free(model);
}

static void test_what_cannot_be_explained(void **state)
{
    (void)state;
    nmt_error error;
    nmt_explanation made;
    nmt_model *model = model_with("");
    made = explain(model, "  ");
    assert_int_equal(made.step_count, 0);
    assert_int_equal(made.source_count, 0);
    assert_int_equal(nmt_explain(model, "w3 \xff", &made, &error), NMT_INVALID);
    model->block[model->parameters.size - 1] = NAN;
    assert_int_equal(nmt_explain(model, line, &made, &error), NMT_NOT_FINITE);
    nmt_model_free(model);
    static const char *const names[] = {"a", "b"};
    nmt_model *const members[] = {model_with(""), model_with(", \"order\": \"luong\"")};
    nmt_model *joint;
    support_ok(ensemble_create(&joint, members, names, 2, &error), &error);
    assert_int_equal(nmt_explain(joint, line, &made, &error), NMT_UNSUPPORTED);
    nmt_model_free(joint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_those_of_translation),
        cmocka_unit_test(test_scores_make_the_weights),
        cmocka_unit_test(test_weights_of_no_single_score_have_none),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_what_cannot_be_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
