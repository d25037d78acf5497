/* Several models that translate as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <nmt/score.h>
#include <nmt/translate.h>
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint.h"
#include "model/ensemble.h"
#include "support_files.h"
#include "support_model.h"

enum { SOURCE_WORDS = 9, TARGET_WORDS = 301, SENTENCES = 3, ROWS = 6 }; /* more target words than one block */

static const char *const names[] = {"a.model", "b.model", "c.model"};

static const char *const small =
    "{\"model\": {\"source_embedding\": 5, \"target_embedding\": 4, \"encoder_hidden\": 6, "
    "\"decoder_hidden\": 7, \"attention_size\": 3}}";
static const char *const large =
    "{\"model\": {\"source_embedding\": 7, \"target_embedding\": 6, \"encoder_hidden\": 3, "
    "\"decoder_hidden\": 9, \"attention_size\": 5}}";

static nmt_model *make_member(const char *config, uint64_t seed)
{
    nmt_model *model = support_model(config, SOURCE_WORDS, TARGET_WORDS, 1);
    real *values = normal_reals(model->parameters.size, 1.2, seed);
    memcpy(model->block, values, model->parameters.size * sizeof *values);
    free(values);
    return model;
}

static real *output_bias(nmt_model *model)
{
    for (size_t i = 0; i < model->parameters.count; i++) {
        if (strcmp(model->parameters.tensors[i].name, "readout.output.bias") == 0) {
            return model->block + model->parameters.tensors[i].offset;
        }
    }
    fail_msg("the model has no bias");
    return NULL;
}

/* Takes ownership of the members. */
static nmt_model *join(nmt_model *const *members, size_t count)
{
    nmt_model *made;
    nmt_error error;
    support_ok(ensemble_create(&made, members, names, count, &error), &error);
    return made;
}

static void make_sources(sequences *sources)
{
    static const int32_t ids[SENTENCES][4] = {{3, 2}, {4, 8, 5, 2}, {7, 3, 2}};
    static const size_t lengths[SENTENCES] = {2, 4, 3};
    const int32_t *const sides[SENTENCES] = {ids[0], ids[1], ids[2]};
    nmt_error error;
    memset(sources, 0, sizeof *sources);
    support_ok(sequences_set(sources, sides, lengths, SENTENCES, &error), &error);
}

/* Two steps, hypotheses reordered and doubled between them. */
typedef struct two_steps {
    real logits[2][ROWS * TARGET_WORDS], alpha[2][ROWS * 4];
} two_steps;

static void take_two_steps(nmt_model *model, two_steps *taken)
{
    static const size_t parents[ROWS] = {2, 0, 1, 1, 0, 2};
    static const int32_t previous[2][ROWS] = {{1, 1, 1}, {5, 0, 17, 250, 9, 300}};
    static const size_t rows[2] = {SENTENCES, ROWS};
    sequences sources;
    decoding *state;
    nmt_error error;
    make_sources(&sources);
    support_ok(model_start(model, &sources, ROWS, &state, &error), &error);
    for (size_t t = 0; t < 2; t++) {
        const real *logits, *alpha;
        support_ok(model_step(state, previous[t], &logits, &alpha, &error), &error);
        memcpy(taken->logits[t], logits, rows[t] * TARGET_WORDS * sizeof *logits);
        memcpy(taken->alpha[t], alpha, rows[t] * 4 * sizeof *alpha);
        support_ok(model_reorder(state, parents, ROWS, &error), &error);
    }
    model_finish(state);
    sequences_free(&sources);
}

static void probabilities(double *p, const real *logits)
{
    double sum = 0;
    for (size_t i = 0; i < TARGET_WORDS; i++) {
        sum += exp((double)logits[i]);
    }
    for (size_t i = 0; i < TARGET_WORDS; i++) {
        p[i] = exp((double)logits[i]) / sum;
    }
}

/* ---- tests
 * ----------------------------------------------------------------------------------------------------------- */

static void a_step_gives_the_mean_of_the_probabilities(void **state)
{
    (void)state;
    nmt_model *members[] = {make_member(small, 1), make_member(large, 2), make_member(small, 3)};
    two_steps each[3], found;
    for (size_t m = 0; m < 3; m++) {
        take_two_steps(members[m], &each[m]);
    }
    nmt_model *model = join(members, 3);
    take_two_steps(model, &found);
    for (size_t row = 0; row < SENTENCES + ROWS; row++) {
        const size_t t = row < SENTENCES ? 0 : 1, at = t == 0 ? row : row - SENTENCES;
        double p[3][TARGET_WORDS], sum = 0;
        for (size_t m = 0; m < 3; m++) {
            probabilities(p[m], each[m].logits[t] + at * TARGET_WORDS);
        }
        for (size_t i = 0; i < TARGET_WORDS; i++) {
            const double expected = log((p[0][i] + p[1][i] + p[2][i]) / 3);
            assert_near((double)found.logits[t][at * TARGET_WORDS + i], expected, 1e-5 * (1 + fabs(expected)));
            sum += exp((double)found.logits[t][at * TARGET_WORDS + i]);
        }
        assert_near(sum, 1, 1e-4);
        for (size_t s = 0; s < 4; s++) {
            const size_t i = at * 4 + s;
            const real mean = (each[0].alpha[t][i] + each[1].alpha[t][i] + each[2].alpha[t][i]) / 3;
            assert_near((double)found.alpha[t][i], (double)mean, 1e-6);
        }
    }
    nmt_model_free(model);
}

static const char *const lines[] = {"w3 w8 w4", "w5", "", "w6 unheard-of w3 w7 w4 w4"};
enum { LINES = 4 };

static void an_ensemble_of_one_is_the_model(void **state)
{
    (void)state;
    const nmt_translate_options options = {.beam = 3, .nbest = 2, .alignment = true};
    nmt_translation alone[LINES * 2], joined[LINES * 2];
    nmt_error error;
    nmt_model *member = make_member(small, 4);
    support_ok(nmt_translate(member, lines, LINES, &options, alone, &error), &error);
    nmt_model *model = join(&member, 1);
    support_ok(nmt_translate(model, lines, LINES, &options, joined, &error), &error);
    for (size_t i = 0; i < LINES * 2; i++) {
        if (alone[i].text == NULL) {
            assert_null(joined[i].text);
            continue;
        }
        assert_string_equal(joined[i].text, alone[i].text);
        assert_near(joined[i].score, alone[i].score, 1e-5);
        assert_int_equal(joined[i].alignment.target_count, alone[i].alignment.target_count);
        for (size_t k = 0; k < alone[i].alignment.target_count * alone[i].alignment.source_count; k++) {
            assert_near((double)joined[i].alignment.weights[k], (double)alone[i].alignment.weights[k], 1e-6);
        }
        nmt_translation_clear(&alone[i]);
        nmt_translation_clear(&joined[i]);
    }
    nmt_model_free(model);
}

/* A token that every member finds impossible to tell from 0 in single precision has its log probability all the same.
 */
static void small_probabilities_are_not_lost(void **state)
{
    (void)state;
    nmt_model *members[] = {make_member(small, 1), make_member(small, 2)};
    two_steps found;
    output_bias(members[0])[7] -= 200;
    output_bias(members[1])[7] -= 200;
    nmt_model *model = join(members, 2);
    take_two_steps(model, &found);
    assert_true(isfinite(found.logits[0][7]) && found.logits[0][7] < -150);
    nmt_model_free(model);
}

static void a_member_that_gives_nan_is_not_outvoted(void **state)
{
    (void)state;
    nmt_translation translation;
    nmt_error error;
    nmt_model *members[] = {make_member(small, 1), make_member(small, 2)};
    output_bias(members[1])[TARGET_WORDS - 1] = (real)INFINITY;
    nmt_model *model = join(members, 2);
    assert_int_equal(nmt_translate(model, lines, 1, NULL, &translation, &error), NMT_NOT_FINITE);
    assert_string_equal(error.message, "line 1: the model gives NaN or infinity for token 1 of its translation");
    nmt_model_free(model);
}

static void it_aligns_with_the_mean_of_the_attention(void **state)
{
    (void)state;
    const char *const sources[] = {"w3 w8 w4", "w5 w6"}, *const targets[] = {"w9 w4", "w100 w3 w7"};
    nmt_alignment each[2][2], found[2];
    nmt_error error;
    nmt_model *members[] = {make_member(small, 5), make_member(large, 6)};
    for (size_t m = 0; m < 2; m++) {
        support_ok(nmt_align(members[m], sources, targets, 2, 0, each[m], &error), &error);
    }
    nmt_model *model = join(members, 2);
    support_ok(nmt_align(model, sources, targets, 2, 0, found, &error), &error);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < found[i].source_count * found[i].target_count; k++) {
            assert_near((double)found[i].weights[k], (double)(each[0][i].weights[k] + each[1][i].weights[k]) / 2, 1e-6);
        }
        nmt_alignment_clear(&each[0][i]);
        nmt_alignment_clear(&each[1][i]);
        nmt_alignment_clear(&found[i]);
    }
    nmt_model_free(model);
}

static void it_cannot_be_trained(void **state)
{
    (void)state;
    nmt_model *members[] = {make_member(small, 5), make_member(large, 6)};
    nmt_model *model = join(members, 2);
    nmt_error error;
    batch pairs = {0};
    batch_loss loss;
    assert_int_equal(model_loss_and_gradient(model, &pairs, NULL, 1, 0, &loss, &error), NMT_UNSUPPORTED);
    nmt_model_free(model);
}

/* ---- who may stand together
 * ------------------------------------------------------------------------------------------ */

static vocabulary *make_words(const char *const *list, size_t count)
{
    vocabulary *words;
    nmt_error error;
    support_ok(vocabulary_from_words(&words, list, count, "the test", &error), &error);
    return words;
}

static void refuse(nmt_model *first, nmt_model *second, const char *message)
{
    nmt_model *members[] = {first, second}, *model = NULL;
    nmt_error error;
    assert_int_equal(ensemble_create(&model, members, names, 2, &error), NMT_INVALID);
    assert_string_equal(error.message, message);
}

static void the_first_word_that_differs_is_named(void **state)
{
    (void)state;
    static const char *const words[] = {"<unk>", "<s>", "</s>", "a", "b", "c"};
    static const char *const others[] = {"<unk>", "<s>", "</s>", "a", "B", "C"};
    nmt_model *first = make_member(small, 1), *second = make_member(small, 2);
    vocabulary_free(first->source_words);
    vocabulary_free(second->source_words);
    first->source_words = make_words(words, 6);
    second->source_words = make_words(others, 6);
    refuse(first, second, "b.model: expected the vocabularies of a.model, but source word 4 is \"B\" and not \"b\"");

    first = make_member(small, 1);
    second = make_member(small, 2);
    vocabulary_free(first->target_words);
    vocabulary_free(second->target_words);
    first->target_words = make_words(words, 6);
    second->target_words = make_words(words, 5);
    refuse(first, second,
           "b.model: expected the vocabularies of a.model, but target word 5, \"c\", is only in a.model");

    first = make_member(small, 1);
    second = make_member(small, 2);
    vocabulary_free(first->target_words);
    vocabulary_free(second->target_words);
    first->target_words = make_words(words, 4);
    second->target_words = make_words(words, 6);
    refuse(first, second,
           "b.model: expected the vocabularies of a.model, but target word 4, \"b\", is only in b.model");
}

static void text_is_prepared_in_one_way(void **state)
{
    (void)state;
    nmt_model *second = make_member(small, 2);
    second->config->data.lowercase = true;
    refuse(make_member(small, 1), second,
           "b.model: expected data.lowercase as in a.model, an ensemble prepares text in one way");
    second = make_member(small, 2);
    second->config->data.nfc = !second->config->data.nfc;
    refuse(make_member(small, 1), second,
           "b.model: expected data.nfc as in a.model, an ensemble prepares text in one way");
}

static void files_load_as_one(void **state)
{
    (void)state;
    const char *const paths[] = {support_path("a"), support_path("b")};
    nmt_model *member = make_member(small, 1), *model;
    nmt_error error;
    nmt_pair_score once, twice;
    support_ok(checkpoint_save_model(member, member->block, paths[0], &error), &error);
    support_ok(checkpoint_save_model(member, member->block, paths[1], &error), &error);
    support_ok(nmt_score(member, lines, lines, 1, 0, &once, &error), &error);
    support_ok(nmt_model_load_ensemble(&model, paths, 2, &error), &error);
    assert_ptr_equal(model->block, NULL);
    support_ok(nmt_score(model, lines, lines, 1, 0, &twice, &error), &error);
    assert_near(twice.log_probability, once.log_probability, 1e-4);
    nmt_model_free(model);
    support_ok(nmt_model_load_ensemble(&model, paths, 1, &error), &error);
    assert_int_equal(nmt_model_parameter_count(model), member->parameters.size);
    nmt_model_free(model);
    assert_int_equal(nmt_model_load_ensemble(&model, paths, 0, &error), NMT_INVALID);
    const char *const missing[] = {paths[0], support_path("none")};
    assert_int_equal(nmt_model_load_ensemble(&model, missing, 2, &error), NMT_IO);
    assert_non_null(strstr(error.message, "none"));
    nmt_pair_score_clear(&once);
    nmt_pair_score_clear(&twice);
    nmt_model_free(member);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_gives_the_mean_of_the_probabilities),
        cmocka_unit_test(an_ensemble_of_one_is_the_model),
        cmocka_unit_test(small_probabilities_are_not_lost),
        cmocka_unit_test(a_member_that_gives_nan_is_not_outvoted),
        cmocka_unit_test(it_aligns_with_the_mean_of_the_attention),
        cmocka_unit_test(it_cannot_be_trained),
        cmocka_unit_test(the_first_word_that_differs_is_named),
        cmocka_unit_test(text_is_prepared_in_one_way),
        cmocka_unit_test(files_load_as_one),
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
