/* The probability of given translations. */
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

#include "core/packed.h"
#include "support_model.h"

enum { PAIRS = 8, SOURCE_WORDS = 11, TARGET_WORDS = 9 };

static const char *const sources[PAIRS] = {"w3 w9 w4 w5",    "w4",  "",      "w10 w8 w5", "unheard-of words",
                                           "w3 w4 w5 w6 w7", "\t ", "w5  w5"};
static const char *const targets[PAIRS] = {"w3 w4", "", "w8",    "w5 nobody w3 <s>", "w7 w7 w7 w7 w7 w7",
                                           "w3",    "", "w8\tw4"};
static const size_t target_words[PAIRS] = {2, 0, 1, 4, 6, 1, 0, 2};

static nmt_model *make_model(void)
{
    nmt_model *model = support_model("{\"model\": {\"source_embedding\": 5, \"target_embedding\": 4, "
                                     "\"encoder_hidden\": 6, \"decoder_hidden\": 7, \"attention_size\": 3}}",
                                     SOURCE_WORDS, TARGET_WORDS, 1);
    real *values = normal_reals(model->parameters.size, 0.9, 39);
    memcpy(model->block, values, model->parameters.size * sizeof *values);
    free(values);
    return model;
}

static void score(nmt_model *model, size_t batch_size, nmt_pair_score *scores)
{
    nmt_error error;
    support_ok(nmt_score(model, sources, targets, PAIRS, batch_size, scores, &error), &error);
}

static void clear(nmt_pair_score *scores, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nmt_pair_score_clear(&scores[i]);
        assert_null(scores[i].token_log_probabilities);
    }
}

/* The numbers of a text's words. */
static size_t find_words(int32_t *ids, const char *text, const vocabulary *words)
{
    size_t count = 0;
    for (const char *word = text + strspn(text, " \t"); *word != '\0'; word += strspn(word, " \t")) {
        const size_t length = strcspn(word, " \t");
        ids[count++] = vocabulary_find(words, word, length);
        word += length;
    }
    return count;
}

/* What training would call the negative loss. */
static double log_probability(nmt_model *model, size_t pair)
{
    int32_t source[16], target[16];
    const int32_t *const source_side[] = {source}, *const target_side[] = {target};
    const size_t S = find_words(source, sources[pair], model->source_words);
    const size_t T = find_words(target, targets[pair], model->target_words);
    batch pairs = {0};
    batch_loss loss;
    nmt_error error;
    assert_int_equal(T, target_words[pair]);
    support_ok(batch_set(&pairs, source_side, &S, target_side, &T, 1, &error), &error);
    support_ok(model_loss_and_gradient(model, &pairs, NULL, 1, 0, &loss, &error), &error);
    batch_free(&pairs);
    return -loss.nats;
}

static void a_score_is_the_negative_loss_of_the_pair(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_pair_score scores[PAIRS];
    score(model, 0, scores);
    for (size_t i = 0; i < PAIRS; i++) {
        double sum = 0;
        assert_near(scores[i].log_probability, log_probability(model, i), 1e-5 * (1 + (double)target_words[i]));
        assert_int_equal(scores[i].token_count, target_words[i] + 1);
        assert_int_equal(scores[i].unknown_count, i == 3 ? 2 : 0);
        for (size_t t = 0; t < scores[i].token_count; t++) {
            assert_true(scores[i].token_log_probabilities[t] < 0);
            sum += scores[i].token_log_probabilities[t];
        }
        assert_near(scores[i].log_probability, sum, 1e-9);
    }
    clear(scores, PAIRS);
    nmt_model_free(model);
}

static void the_batch_changes_nothing(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_pair_score alone[PAIRS], together[PAIRS];
    score(model, 1, alone);
    for (size_t size = 2; size <= PAIRS + 1; size++) {
        score(model, size, together);
        for (size_t i = 0; i < PAIRS; i++) {
            assert_int_equal(together[i].token_count, alone[i].token_count);
            for (size_t t = 0; t < alone[i].token_count; t++) {
                assert_near(together[i].token_log_probabilities[t], alone[i].token_log_probabilities[t], 1e-5);
            }
        }
        clear(together, PAIRS);
    }
    clear(alone, PAIRS);
    nmt_model_free(model);
}

/* Not a bit of it, where the matrices are packed: for more than one pair at a time. */
static void the_batch_changes_no_bit(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_pair_score two[PAIRS], together[PAIRS];
    if (!packed_pays()) {
        skip();
    }
    score(model, 2, two);
    for (size_t size = 3; size <= PAIRS + 1; size++) {
        score(model, size, together);
        for (size_t i = 0; i < PAIRS; i++) {
            assert_memory_equal(together[i].token_log_probabilities, two[i].token_log_probabilities,
                                two[i].token_count * sizeof(double));
        }
        clear(together, PAIRS);
    }
    clear(two, PAIRS);
    nmt_model_free(model);
}

/* Token by token, what a search found has the probability that it reported. */
static void a_translation_scores_what_its_search_said(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    const nmt_translate_options options = {.beam = 4, .nbest = 3};
    nmt_translation found[PAIRS * 3];
    nmt_error error;
    size_t compared = 0;
    support_ok(nmt_translate(model, sources, PAIRS, &options, found, &error), &error);
    for (size_t i = 0; i < PAIRS * 3; i++) {
        if (found[i].text == NULL || found[i].token_count == 0) {
            nmt_translation_clear(&found[i]);
            continue;
        }
        const char *const target = found[i].text;
        nmt_pair_score scored;
        support_ok(nmt_score(model, &sources[i / 3], &target, 1, 0, &scored, &error), &error);
        assert_in_range(scored.token_count - found[i].token_count, 0, 1); /* one that was cut off lacks `</s>` */
        for (size_t t = 0; t < found[i].token_count; t++) {
            assert_near(scored.token_log_probabilities[t], found[i].token_log_probabilities[t], 1e-5);
        }
        compared++;
        nmt_pair_score_clear(&scored);
        nmt_translation_clear(&found[i]);
    }
    assert_int_equal(compared, 6 * 3);
    nmt_model_free(model);
}

static void no_pairs_have_no_scores(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_error error;
    assert_int_equal(nmt_score(model, NULL, NULL, 0, 0, NULL, &error), NMT_OK);
    nmt_model_free(model);
}

static void faults_name_the_line(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_pair_score scores[2];
    nmt_error error;
    const char *const good[] = {"w3", "w4 w5"}, *const bad[] = {"w3", "w4 \xff"};
    assert_int_equal(nmt_score(model, bad, good, 2, 0, scores, &error), NMT_INVALID);
    assert_string_equal(error.message, "source line 2: byte 4 is not valid UTF-8 (0xff)");
    assert_int_equal(nmt_score(model, good, bad, 2, 0, scores, &error), NMT_INVALID);
    assert_string_equal(error.message, "target line 2: byte 4 is not valid UTF-8 (0xff)");
    for (size_t i = 0; i < model->parameters.count; i++) {
        if (strcmp(model->parameters.tensors[i].name, "readout.output.bias") == 0) {
            model->block[model->parameters.tensors[i].offset + 4] = (real)INFINITY;
        }
    }
    assert_int_equal(nmt_score(model, good, good, 2, 0, scores, &error), NMT_NOT_FINITE);
    assert_string_equal(error.message, "line 1: the model gives NaN or infinity for target token 1");
    assert_null(scores[0].token_log_probabilities);
    assert_int_equal(scores[0].token_count, 0);
    nmt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_score_is_the_negative_loss_of_the_pair),
        cmocka_unit_test(the_batch_changes_nothing),
        cmocka_unit_test(the_batch_changes_no_bit),
        cmocka_unit_test(a_translation_scores_what_its_search_said),
        cmocka_unit_test(no_pairs_have_no_scores),
        cmocka_unit_test(faults_name_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
