/* Translating and aligning with a small model of random parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <nmt/translate.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "layers/init.h"
#include "model/model.h"
#include "support_reals.h"

enum { LINES = 13, LONG = 1000 };

static const char *const lines[LINES] = {
    "the black cat sat on the mat", "cat", "", "a mat sat", "wholly unheard-of words", "the cat", "\t  ",
    "on the mat sat a cat on a mat on a cat", "sat sat sat sat sat", "black", "the  black\tmat ", "", "on on cat the"};

static const double float_rounding = 1e-5;

/* ---- a model --------------------------------------------------------------------------------------------------------- */

static vocabulary *make_words(const char *const *list, size_t count)
{
    vocabulary *words;
    nmt_error error;
    if (vocabulary_from_words(&words, list, count, "words", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return words;
}

static nmt_config *make_config(const char *text)
{
    json *object;
    nmt_config *config;
    nmt_error error;
    if (json_parse(&object, text, strlen(text), "config", &error) != NMT_OK ||
        config_from_json(&config, object, "config", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    json_free(object);
    return config;
}

/* The numbers of a tensor. */
static real *parameters_of(nmt_model *model, const char *name)
{
    for (size_t i = 0; i < model->parameters.count; i++) {
        if (strcmp(model->parameters.tensors[i].name, name) == 0) {
            return model->block + model->parameters.tensors[i].offset;
        }
    }
    fail_msg("the model has no %s", name);
    return NULL;
}

/* `data` is the configuration's object of that name. */
static nmt_model *make_model_for(const char *data)
{
    static const char *const source[] = {"<unk>", "<s>", "</s>", "the", "cat", "sat", "on", "mat", "black", "a", "\xC3\xA9"};
    static const char *const target[] = {"<unk>", "<s>", "</s>", "le", "chat", "noir", "assis", "sur", "tapis"};
    char text[512];
    snprintf(text, sizeof text,
             "{\"data\": %s, \"model\": {\"source_embedding\": 5, \"target_embedding\": 4, \"encoder_hidden\": 6, "
             "\"decoder_hidden\": 7, \"attention_size\": 3}}",
             data);
    nmt_model *model;
    nmt_error error;
    if (model_create(&model, make_config(text), make_words(source, 11), make_words(target, 9), &error) != NMT_OK ||
        init_parameters(model->block, &model->parameters, &(init_options){.scale = 1.2, .seed = 3}, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return model;
}

static nmt_model *make_model(void)
{
    return make_model_for("{}");
}

/* Adds to the logit of a token, whatever the model read. */
static void bias_token(nmt_model *model, int32_t token, double bias)
{
    parameters_of(model, "readout.output.bias")[token] += (real)bias;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

static void translate(nmt_model *model, const char *const *text, size_t count, const nmt_translate_options *options,
                      nmt_translation *translations)
{
    nmt_error error;
    if (nmt_translate(model, text, count, options, translations, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
}

static void align(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                  size_t batch_size, nmt_alignment *alignments)
{
    nmt_error error;
    if (nmt_align(model, sources, targets, count, batch_size, alignments, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
}

static void clear_translations(nmt_translation *translations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nmt_translation_clear(&translations[i]);
        assert_null(translations[i].text);
    }
}

static void clear_alignments(nmt_alignment *alignments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nmt_alignment_clear(&alignments[i]);
        assert_null(alignments[i].weights);
    }
}

static size_t count_words(const char *text)
{
    size_t count = 0;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c != ' ' && *c != '\t' && (c == text || c[-1] == ' ' || c[-1] == '\t');
    }
    return count;
}

static bool ended(const nmt_alignment *alignment)
{
    return strcmp(alignment->target[alignment->target_count - 1], "</s>") == 0;
}

static void check_rows(const nmt_alignment *alignment)
{
    for (size_t t = 0; t < alignment->target_count; t++) {
        double sum = 0;
        for (size_t s = 0; s < alignment->source_count; s++) {
            const float weight = alignment->weights[t * alignment->source_count + s];
            assert_true(weight >= 0);
            sum += (double)weight;
        }
        assert_near(sum, 1, float_rounding);
    }
}

static void assert_same_alignment(const nmt_alignment *found, const nmt_alignment *expected)
{
    assert_int_equal(found->source_count, expected->source_count);
    assert_int_equal(found->target_count, expected->target_count);
    for (size_t s = 0; s < found->source_count; s++) {
        assert_string_equal(found->source[s], expected->source[s]);
    }
    for (size_t t = 0; t < found->target_count; t++) {
        assert_string_equal(found->target[t], expected->target[t]);
    }
    for (size_t i = 0; i < found->source_count * found->target_count; i++) {
        assert_near((double)found->weights[i], (double)expected->weights[i], float_rounding);
    }
}

static void assert_same_translation(const nmt_translation *found, const nmt_translation *expected)
{
    assert_string_equal(found->text, expected->text);
    assert_near(found->log_probability, expected->log_probability, float_rounding * (1 + count_words(found->text)));
    assert_same_alignment(&found->alignment, &expected->alignment);
}

/* ---- translating ----------------------------------------------------------------------------------------------------- */

static const nmt_translate_options with_alignment = {.alignment = true};

/* Each line alone is what every batch has to give for it. */
static void batches_of_any_size_give_the_same_in_the_order_of_the_lines(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation alone[LINES], together[LINES];
    for (size_t i = 0; i < LINES; i++) {
        translate(model, &lines[i], 1, &with_alignment, &alone[i]);
    }
    for (size_t size = 0; size <= 7; size++) {
        const nmt_translate_options options = {.alignment = true, .batch_size = size};
        translate(model, lines, LINES, &options, together);
        for (size_t i = 0; i < LINES; i++) {
            assert_same_translation(&together[i], &alone[i]);
        }
        clear_translations(together, LINES);
    }
    clear_translations(alone, LINES);
    nmt_model_free(model);
}

/* What the other tests rest on: the model's translations differ, some end by themselves and some are cut off. */
static void the_model_is_no_simple_one(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    size_t by_itself = 0, cut = 0, different = 0;
    for (size_t i = 0; i < LINES; i++) {
        if (count_words(lines[i]) > 0) {
            by_itself += ended(&translations[i].alignment);
            cut += !ended(&translations[i].alignment);
            different += strcmp(translations[i].text, translations[0].text) != 0;
        }
        print_message("%zu %s | %s\n", i, lines[i], translations[i].text);
    }
    assert_true(by_itself >= 4);
    assert_true(cut >= 2);
    assert_true(different >= 4);
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_no_simple_one),
        cmocka_unit_test(batches_of_any_size_give_the_same_in_the_order_of_the_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
