/* Translating and aligning with a small model of random parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <nmt/explain.h>
#include <nmt/translate.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/packed.h"
#include "decode/sentence.h"
#include "support_files.h"
#include "support_model.h"

enum { LINES = 13, LONG = 1000, SOURCE_WORDS = 11, TARGET_WORDS = 9 };

static const char *const lines[LINES] = {"w3 w9 w4 w5 w6 w3 w8",
                                         "w4",
                                         "",
                                         "w10 w8 w5",
                                         "wholly unheard-of words",
                                         "w3 w4",
                                         "\t  ",
                                         "w6 w3 w8 w5 w10 w4 w6 w10 w8 w6 w10 w4",
                                         "w5 w5 w5 w5 w5",
                                         "w9",
                                         "w3  w9\tw8 ",
                                         "",
                                         "w6 w6 w4 w3"};

static const double float_rounding = 1e-5;

/* ---- a model
 * --------------------------------------------------------------------------------------------------------- */

/*
 * `data` is the configuration's object of that name. The numbers are chosen: few random models give translations of
 * several words that end by themselves.
 */
static nmt_model *make_model_for(const char *data)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"data\": %s, \"model\": {\"source_embedding\": 5, \"target_embedding\": 4, \"encoder_hidden\": 6, "
             "\"decoder_hidden\": 7, \"attention_size\": 3}}",
             data);
    nmt_model *model = support_model(text, SOURCE_WORDS, TARGET_WORDS, 1);
    real *values = normal_reals(model->parameters.size, 0.9, 39);
    memcpy(model->block, values, model->parameters.size * sizeof *values);
    free(values);
    return model;
}

static nmt_model *make_model(void)
{
    return make_model_for("{}");
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

/* Adds to the logit of a token, whatever the model read. */
static void bias_token(nmt_model *model, int32_t token, double bias)
{
    parameters_of(model, "readout.output.bias")[token] += (real)bias;
}

/* ---- calls
 * ----------------------------------------------------------------------------------------------------------- */

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

/* ---- translating
 * ----------------------------------------------------------------------------------------------------- */

static const nmt_translate_options with_alignment = {.alignment = true};

/* What the other tests rest on: translations differ, some end by themselves and some are cut off. */
static void the_model_is_no_simple_one(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    size_t by_itself = 0, cut = 0, different = 0;
    for (size_t i = 0; i < LINES; i++) {
        if (count_words(lines[i]) > 0) {
            const bool whole = ended(&translations[i].alignment);
            by_itself += whole && count_words(translations[i].text) > 1;
            cut += !whole;
            different += strcmp(translations[i].text, translations[0].text) != 0;
        }
    }
    assert_true(by_itself >= 4);
    assert_true(cut >= 2);
    assert_true(different >= 6);
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

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

static void empty_lines_stay_empty(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    for (size_t i = 0; i < LINES; i++) {
        const nmt_translation *each = &translations[i];
        if (count_words(lines[i]) > 0) {
            assert_true(each->log_probability < 0);
            assert_int_equal(each->alignment.source_count, count_words(lines[i]) + 1);
            continue;
        }
        assert_string_equal(each->text, "");
        assert_true(each->log_probability == 0);
        assert_int_equal(each->alignment.source_count, 0);
        assert_int_equal(each->alignment.target_count, 0);
        assert_null(each->alignment.source);
        assert_null(each->alignment.target);
        assert_null(each->alignment.weights);
    }
    clear_translations(translations, LINES);
    translate(model, NULL, 0, NULL, NULL);
    const char *const nothing[] = {"", " "};
    translate(model, nothing, 2, NULL, translations);
    assert_string_equal(translations[1].text, "");
    clear_translations(translations, 2);
    nmt_model_free(model);
}

static void alignments_name_the_words_and_their_weights_sum_to_one(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    for (size_t i = 0; i < LINES; i++) {
        const nmt_alignment *alignment = &translations[i].alignment;
        check_rows(alignment);
        char joined[1024] = "";
        const size_t rows = alignment->target_count;
        for (size_t t = 0; t < rows && (t + 1 < rows || !ended(alignment)); t++) {
            strcat(strcat(joined, t > 0 ? " " : ""), alignment->target[t]);
        }
        assert_string_equal(joined, translations[i].text);
    }
    const nmt_alignment *third = &translations[10].alignment;
    assert_int_equal(third->source_count, 4);
    assert_string_equal(third->source[0], "w3");
    assert_string_equal(third->source[1], "w9");
    assert_string_equal(third->source[2], "w8");
    assert_string_equal(third->source[3], "</s>");
    clear_translations(translations, LINES);
    translate(model, lines, LINES, NULL, translations);
    for (size_t i = 0; i < LINES; i++) {
        assert_null(translations[i].alignment.weights);
        assert_int_equal(translations[i].alignment.target_count, 0);
    }
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

static void translations_without_end_stop_at_their_limit(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    bias_token(model, TOKEN_END, -1e4);
    nmt_translation translations[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    for (size_t i = 0; i < LINES; i++) {
        const size_t words = count_words(lines[i]);
        assert_int_equal(count_words(translations[i].text), words > 0 ? 3 * words + 10 : 0);
        assert_int_equal(translations[i].alignment.target_count, words > 0 ? 3 * words + 10 : 0);
        assert_true(words == 0 || !ended(&translations[i].alignment));
    }
    clear_translations(translations, LINES);
    const nmt_translate_options tight = {.max_length_ratio = 1.5, .max_length_extra = 2};
    translate(model, lines, LINES, &tight, translations);
    for (size_t i = 0; i < LINES; i++) {
        const size_t words = count_words(lines[i]);
        assert_int_equal(count_words(translations[i].text), words > 0 ? 3 * words / 2 + 2 : 0);
    }
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

/* What is usual follows the training text where its targets are long, and leaves room for what is asked for. */
static void the_usual_limit_follows_the_training_text(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    const struct {
        double ratio;
        size_t minimum, times, more;
    } cases[] = {{1, 0, 3, 10}, {0.5, 0, 3, 10}, {4, 0, 12, 10}, {2, 9, 6, 10}, {1, 40, 3, 41}};
    bias_token(model, TOKEN_END, -1e4);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const nmt_translate_options options = {.min_length = cases[c].minimum};
        const size_t expected = cases[c].times * count_words(lines[0]) + cases[c].more;
        nmt_translation translation;
        nmt_explanation explanation;
        nmt_error error;
        model->length_ratio = cases[c].ratio;
        translate(model, lines, 1, &options, &translation);
        assert_int_equal(count_words(translation.text), expected);
        clear_translations(&translation, 1);
        if (cases[c].minimum == 0) {
            support_ok(nmt_explain(model, lines[0], &explanation, &error), &error);
            assert_int_equal(explanation.step_count, expected);
            nmt_explanation_clear(&explanation);
        }
    }
    nmt_model_free(model);
}

static void words_outside_the_vocabulary_are_all_the_same(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    /* A word spelled like a special token is an unknown word, and ends nothing. */
    const char *const unknown[] = {"nobody knows these", "<unk> </s> <s>", "w3 w3 w3"};
    nmt_translation translations[3];
    translate(model, unknown, 3, &with_alignment, translations);
    assert_string_equal(translations[0].text, translations[1].text);
    assert_near(translations[0].log_probability, translations[1].log_probability, float_rounding);
    assert_true(fabs(translations[0].log_probability - translations[2].log_probability) > 0.01);
    assert_string_equal(translations[1].alignment.source[1], "</s>");
    assert_int_equal(translations[1].alignment.source_count, 4);
    check_rows(&translations[0].alignment);
    clear_translations(translations, 3);

    bias_token(model, TOKEN_UNKNOWN, 1e4);
    translate(model, unknown, 1, NULL, translations);
    assert_memory_equal(translations[0].text, "<unk> <unk> ", 12);
    assert_int_equal(count_words(translations[0].text), 3 * 3 + 10);
    clear_translations(translations, 1);
    nmt_model_free(model);
}

static void a_line_is_normalised_but_shown_as_it_stood(void **state)
{
    (void)state;
    nmt_model *model = make_model_for("{\"lowercase\": true, \"nfc\": true}");
    const char *const words[SOURCE_WORDS] = {
        "<unk>", "<s>", "</s>", "a", "b", "c", "d", "e", "f", "g", "\xC3\xA9t\xC3\xA9"};
    nmt_error error;
    vocabulary_free(model->source_words);
    support_ok(vocabulary_from_words(&model->source_words, words, SOURCE_WORDS, "words", &error), &error);
    /* E and t and e, with combining accents; plain capitals; lower case. */
    const char *const text[] = {"E\xCC\x81te\xCC\x81 B", "\xC3\x89T\xC3\x89 b", "\xC3\xA9t\xC3\xA9 b", "unknown b"};
    nmt_translation translations[4];
    translate(model, text, 4, &with_alignment, translations);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(translations[i].text, translations[2].text);
        assert_near(translations[i].log_probability, translations[2].log_probability, float_rounding);
    }
    assert_true(fabs(translations[3].log_probability - translations[2].log_probability) > 0.01);
    assert_string_equal(translations[0].alignment.source[0], "E\xCC\x81te\xCC\x81");
    assert_string_equal(translations[0].alignment.source[1], "B");
    assert_string_equal(translations[1].alignment.source[0], "\xC3\x89T\xC3\x89");
    clear_translations(translations, 4);
    nmt_model_free(model);
}

/* ---- beams and lists of translations
 * --------------------------------------------------------------------------------- */

/* Where the matrices are packed: for more than one hypothesis at a time. */
static void batches_of_several_lines_give_the_same_bits(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation two[LINES], more[LINES];
    if (!packed_pays()) {
        skip();
    }
    for (size_t beam = 1; beam <= 3; beam += 2) {
        translate(model, lines, LINES, &(nmt_translate_options){.batch_size = 2, .beam = beam, .alignment = true}, two);
        for (size_t size = 3; size <= LINES; size++) {
            const nmt_translate_options options = {.batch_size = size, .beam = beam, .alignment = true};
            translate(model, lines, LINES, &options, more);
            for (size_t i = 0; i < LINES; i++) {
                const nmt_alignment *seen = &more[i].alignment, *expected = &two[i].alignment;
                assert_string_equal(more[i].text, two[i].text);
                assert_memory_equal(&more[i].score, &two[i].score, sizeof two[i].score);
                assert_memory_equal(more[i].token_log_probabilities, two[i].token_log_probabilities,
                                    two[i].token_count * sizeof(double));
                assert_memory_equal(seen->weights, expected->weights,
                                    expected->source_count * expected->target_count * sizeof *seen->weights);
            }
            clear_translations(more, LINES);
        }
        clear_translations(two, LINES);
    }
    nmt_model_free(model);
}

/* What was packed of the old numbers is not read for the new ones. */
static void a_model_that_changed_translates_anew(void **state)
{
    (void)state;
    nmt_model *changed = make_model(), *fresh = make_model();
    nmt_translation before[LINES], after[LINES], expected[LINES];
    real *values = normal_reals(changed->parameters.size, 0.9, 40);
    translate(changed, lines, LINES, NULL, before);
    memcpy(changed->block, values, changed->parameters.size * sizeof *values);
    memcpy(fresh->block, values, fresh->parameters.size * sizeof *values);
    model_changed(changed);
    translate(changed, lines, LINES, NULL, after);
    translate(fresh, lines, LINES, NULL, expected);
    assert_string_not_equal(after[0].text, before[0].text);
    for (size_t i = 0; i < LINES; i++) {
        assert_string_equal(after[i].text, expected[i].text);
        assert_memory_equal(&after[i].score, &expected[i].score, sizeof after[i].score);
    }
    clear_translations(before, LINES);
    clear_translations(after, LINES);
    clear_translations(expected, LINES);
    free(values);
    nmt_model_free(changed);
    nmt_model_free(fresh);
}

static void a_list_is_the_same_in_batches_of_any_size(void **state)
{
    (void)state;
    enum { NBEST = 3 };
    nmt_model *model = make_model();
    nmt_translation alone[LINES * NBEST], together[LINES * NBEST];
    nmt_translate_options options = {.alignment = true, .beam = 4, .nbest = NBEST};
    for (size_t i = 0; i < LINES; i++) {
        translate(model, &lines[i], 1, &options, &alone[i * NBEST]);
    }
    for (options.batch_size = 1; options.batch_size <= 7; options.batch_size += 2) {
        translate(model, lines, LINES, &options, together);
        for (size_t i = 0; i < LINES * NBEST; i++) {
            if (alone[i].text == NULL) {
                assert_null(together[i].text);
            } else {
                assert_same_translation(&together[i], &alone[i]);
                assert_near(together[i].score, alone[i].score, float_rounding);
                check_rows(&together[i].alignment);
            }
        }
        clear_translations(together, LINES * NBEST);
    }
    clear_translations(alone, LINES * NBEST);
    nmt_model_free(model);
}

static void a_list_has_the_best_first_and_nothing_twice(void **state)
{
    (void)state;
    enum { NBEST = 5 };
    nmt_model *model = make_model();
    nmt_translation found[LINES * NBEST];
    const nmt_translate_options options = {.beam = 8, .nbest = NBEST, .length_penalty = NMT_LENGTH_NONE};
    translate(model, lines, LINES, &options, found);
    for (size_t i = 0; i < LINES; i++) {
        const nmt_translation *list = &found[i * NBEST];
        const bool empty = count_words(lines[i]) == 0;
        assert_true(list[0].text != NULL);
        for (size_t k = 1; k < NBEST; k++) {
            if (empty) {
                assert_null(list[k].text);
                continue;
            }
            assert_true(list[k].score == list[k].log_probability);
            const bool ends = list[k].token_count > count_words(list[k].text);
            assert_true(list[k].score <= list[k - 1].score || !ends);
            for (size_t j = 0; j < k; j++) {
                assert_true(strcmp(list[j].text, list[k].text) != 0 || list[j].token_count != list[k].token_count);
            }
        }
    }
    clear_translations(found, LINES * NBEST);
    nmt_model_free(model);
}

static void a_beam_finds_what_greedy_search_misses(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation greedy[LINES], one[LINES], wide[LINES];
    nmt_translate_options options = {.length_penalty = NMT_LENGTH_NONE, .beam = 1};
    translate(model, lines, LINES, NULL, greedy);
    translate(model, lines, LINES, &options, one);
    options.beam = 12;
    translate(model, lines, LINES, &options, wide);
    size_t better = 0;
    for (size_t i = 0; i < LINES; i++) {
        assert_string_equal(one[i].text, greedy[i].text);
        assert_true(one[i].log_probability == greedy[i].log_probability);
        /* One that greedy search saw cut off is less probable than it is without `</s>`. */
        const bool whole = greedy[i].token_count > count_words(greedy[i].text);
        assert_true(!whole || wide[i].log_probability >= greedy[i].log_probability - float_rounding);
        better += whole && wide[i].log_probability > greedy[i].log_probability + 0.01;
    }
    assert_true(better >= 1);
    clear_translations(greedy, LINES);
    clear_translations(one, LINES);
    clear_translations(wide, LINES);
    nmt_model_free(model);
}

static void every_token_has_its_probability(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    for (size_t beam = 1; beam <= 3; beam += 2) {
        const nmt_translate_options options = {.alignment = true, .beam = beam};
        translate(model, lines, LINES, &options, translations);
        for (size_t i = 0; i < LINES; i++) {
            double sum = 0;
            assert_int_equal(translations[i].token_count, translations[i].alignment.target_count);
            for (size_t t = 0; t < translations[i].token_count; t++) {
                assert_true(translations[i].token_log_probabilities[t] <= 0);
                sum += translations[i].token_log_probabilities[t];
            }
            assert_near(translations[i].log_probability, sum, 1e-9);
            if (translations[i].token_count > 0) {
                assert_near(translations[i].score, sum / (double)translations[i].token_count, 1e-9);
            }
        }
        clear_translations(translations, LINES);
    }
    nmt_model_free(model);
}

/* ---- unknown words
 * --------------------------------------------------------------------------------------------------- */

typedef struct seen_words {
    size_t first, later, end; /* unknown words whose most weight is on the first word, another one, `</s>` */
} seen_words;

/* The word of the source that token `t` read most. */
static const char *most_read(const nmt_alignment *alignment, size_t t, seen_words *seen)
{
    const size_t S = alignment->source_count;
    const float *weights = alignment->weights + t * S;
    size_t best = 0;
    for (size_t s = 1; s + 1 < S; s++) {
        best = weights[s] > weights[best] ? s : best;
    }
    *(weights[S - 1] > weights[best] ? &seen->end : best > 0 ? &seen->later : &seen->first) += 1;
    return alignment->source[best];
}

static void check_replaced(const nmt_translation *plain, const nmt_translation *replaced, seen_words *seen)
{
    char joined[4096] = "";
    for (size_t t = 0; t < plain->alignment.target_count; t++) {
        const char *word = plain->alignment.target[t];
        if (strcmp(word, "<unk>") == 0) {
            word = most_read(&plain->alignment, t, seen);
            word = strcmp(word, "Unheard-Of") == 0 ? "neverheard" : word;
        }
        assert_string_equal(replaced->alignment.target[t], word);
        if (t + 1 < plain->alignment.target_count || !ended(&plain->alignment)) {
            strcat(strcat(joined, t > 0 ? " " : ""), word);
        }
    }
    assert_string_equal(replaced->text, joined);
    assert_near(replaced->log_probability, plain->log_probability, 0);
}

static void check_unknown_words(nmt_model *model, const nmt_lexicon *lexicon, size_t beam, seen_words *seen)
{
    enum { COUNT = 6 };
    const char *const text[COUNT] = {
        "wholly  Unheard-Of words", "w3 \u00c9t\u00e9 w5\tw6", "Unheard-Of", "w9 w7 w10 w4", "w9", "w6 w6 w4 w3"};
    nmt_translation plain[COUNT], replaced[COUNT];
    nmt_translate_options options = {.alignment = true, .beam = beam};
    translate(model, text, COUNT, &options, plain);
    options.replace_unknown = true;
    options.lexicon = lexicon;
    translate(model, text, COUNT, &options, replaced);
    for (size_t i = 0; i < COUNT; i++) {
        check_replaced(&plain[i], &replaced[i], seen);
    }
    clear_translations(replaced, COUNT);
    options.alignment = false; /* which is needed all the same */
    options.lexicon = NULL;
    translate(model, text, COUNT, &options, replaced);
    for (size_t i = 0; i < COUNT; i++) {
        assert_null(strstr(replaced[i].text, "<unk>"));
        assert_true(strstr(plain[i].text, "<unk>") == NULL || strcmp(replaced[i].text, plain[i].text) != 0);
    }
    assert_null(replaced[2].alignment.weights);
    clear_translations(replaced, COUNT);
    clear_translations(plain, COUNT);
}

static void unknown_words_are_taken_from_the_source(void **state)
{
    (void)state;
    nmt_lexicon *lexicon;
    nmt_error error;
    seen_words seen = {0};
    const char *path = support_write("lexicon", "Unheard-Of\tneverheard\nunheard-of\tno\n");
    support_ok(nmt_lexicon_load(&lexicon, path, &error), &error);
    nmt_model *model = make_model_for("{\"lowercase\": true}");
    bias_token(model, TOKEN_UNKNOWN, 3); /* some */
    check_unknown_words(model, lexicon, 1, &seen);
    check_unknown_words(model, lexicon, 3, &seen);
    bias_token(model, TOKEN_UNKNOWN, 1e4); /* all */
    check_unknown_words(model, lexicon, 1, &seen);
    check_unknown_words(model, lexicon, 3, &seen);
    assert_true(seen.first > 0 && seen.later > 0 && seen.end > 0);
    nmt_lexicon_free(lexicon);
    nmt_model_free(model);
}

#define SPACE "\u2581"

static void a_token_is_found_in_its_word(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cut, *words[7]; /* of each token */
    } cases[] = {
        {"Ab  \u00c9", "a b " SPACE " \u00e9", {"Ab", "Ab", "\u00c9", "\u00c9"}},
        {"Ab c", SPACE "a b " SPACE "c", {"Ab", "Ab", "c"}},
        {"Ab c", SPACE " ab " SPACE " c", {"Ab", "Ab", "c", "c"}},
        {"a b\tC d", SPACE "a" SPACE "b " SPACE "c" SPACE "d", {"a", "C"}}, /* pieces over words: their first one */
        {"Ab c D", "ab" SPACE "c " SPACE "d", {"Ab", "D"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char cut[64];
        snprintf(cut, sizeof cut, "%s", cases[c].cut);
        const sentence from = {.text = cases[c].text,
                               .text_length = strlen(cases[c].text),
                               .line = cut,
                               .cut = cut,
                               .line_length = strlen(cut)};
        for (size_t i = 0; cases[c].words[i] != NULL; i++) {
            size_t size;
            const char *word = sentence_word(&from, i, &size);
            assert_int_equal(size, strlen(cases[c].words[i]));
            assert_memory_equal(word, cases[c].words[i], size);
        }
    }
}

/* The word that holds the character most read, by hand. */
static const char *word_of_character(const char *const *words, const nmt_alignment *alignment, size_t t)
{
    seen_words seen = {0};
    const char *read = most_read(alignment, t, &seen);
    size_t word = 0;
    for (size_t s = 0; alignment->source[s] != read; s++) {
        word += strcmp(alignment->source[s + 1], SPACE) == 0;
    }
    return words[word];
}

static void unknown_tokens_of_cut_text_become_words(void **state)
{
    (void)state;
    static const char *const line = "Wholly  Unheard-Of words";
    static const char *const words[] = {"Wholly", "neverheard", "words"};
    nmt_lexicon *lexicon;
    nmt_error error;
    support_ok(nmt_lexicon_load(&lexicon, support_write("lexicon", "Unheard-Of\tneverheard\n"), &error), &error);
    for (size_t sides = 1; sides < 4; sides++) {
        nmt_model *model = make_model_for("{\"lowercase\": true}");
        nmt_translate_options options = {.alignment = true};
        nmt_translation plain, replaced;
        char expected[4096] = "";
        bias_token(model, TOKEN_UNKNOWN, 1e4);
        support_ok(segmenters_of_characters(&model->segmenters, sides & 1, sides & 2, &error), &error);
        translate(model, &line, 1, &options, &plain);
        options.replace_unknown = true;
        options.lexicon = lexicon;
        translate(model, &line, 1, &options, &replaced);
        for (size_t t = 0; t < plain.alignment.target_count; t++) {
            seen_words seen = {0};
            const char *read = most_read(&plain.alignment, t, &seen);
            const char *word = sides == 1                        ? word_of_character(words, &plain.alignment, t)
                               : strcmp(read, "Unheard-Of") == 0 ? "neverheard"
                                                                 : read;
            assert_string_equal(replaced.alignment.target[t], word);
            strcat(strcat(expected, t > 0 && sides < 3 ? " " : ""), word);
        }
        if (sides == 3) { /* characters fit between characters */
            segmenter_join(expected);
        }
        assert_string_equal(replaced.text, expected);
        clear_translations(&plain, 1);
        clear_translations(&replaced, 1);
        nmt_model_free(model);
    }
    nmt_lexicon_free(lexicon);
}

static void unknown_words_can_be_banned(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    bias_token(model, TOKEN_UNKNOWN, 5);
    nmt_translation translations[LINES];
    const nmt_translate_options options = {.ban_unknown = true, .min_length = 2};
    translate(model, lines, LINES, &options, translations);
    for (size_t i = 0; i < LINES; i++) {
        assert_null(strstr(translations[i].text, "<unk>"));
        assert_true(count_words(translations[i].text) >= 2 || count_words(lines[i]) == 0);
    }
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

static void refuse_lexicon(const char *text, const char *message)
{
    nmt_lexicon *lexicon;
    nmt_error error;
    const char *path = support_write("lexicon", text);
    char expected[1024];
    snprintf(expected, sizeof expected, "%s:%s", path, message);
    assert_int_equal(nmt_lexicon_load(&lexicon, path, &error), NMT_INVALID);
    assert_string_equal(error.message, expected);
}

static void a_fault_in_a_lexicon_has_its_line(void **state)
{
    (void)state;
    refuse_lexicon("a\tb\nc d\n", "2: expected a source token, a tab and a target token, found \"c d\"");
    refuse_lexicon("a\tb\tc\n", "1: expected a source token, a tab and a target token, found \"a\\x09b\\x09c\"");
    refuse_lexicon("a\tb c\n", "1: expected a source token, a tab and a target token, found \"a\\x09b c\"");
    refuse_lexicon("a\tb\n\n", "2: expected a source token, a tab and a target token, found \"\"");
    refuse_lexicon("\tb\n", "1: expected a source token, a tab and a target token, found \"\\x09b\"");
    refuse_lexicon("a\t\n", "1: expected a source token, a tab and a target token, found \"a\\x09\"");
    refuse_lexicon("a\tb\nc\td\na\tb\n", "3: expected a new source token, \"a\" stands in line 1 already");
    refuse_lexicon("a\tb\n\xff\td\n", "2: byte 1 is not valid UTF-8 (0xff)");
    nmt_lexicon *lexicon;
    nmt_error error;
    assert_int_equal(nmt_lexicon_load(&lexicon, support_path("none"), &error), NMT_IO);
    nmt_lexicon_free(NULL);
}

/* ---- aligning
 * -------------------------------------------------------------------------------------------------------- */

/* Feeding a greedy translation back gives the attention that the search reported; of one that was cut off, all but the
 * row of `</s>`. */
static void a_translation_fed_back_is_read_as_it_was_found(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    nmt_alignment alignments[LINES];
    const char *targets[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    for (size_t i = 0; i < LINES; i++) {
        targets[i] = translations[i].text;
    }
    align(model, lines, targets, LINES, 4, alignments);
    size_t compared = 0;
    for (size_t i = 0; i < LINES; i++) {
        if (count_words(targets[i]) == 0) {
            assert_int_equal(alignments[i].target_count, 0);
            continue;
        }
        nmt_alignment rows = alignments[i];
        check_rows(&rows);
        assert_true(ended(&rows));
        rows.target_count -= ended(&translations[i].alignment) ? 0 : 1;
        assert_same_alignment(&rows, &translations[i].alignment);
        compared++;
    }
    assert_true(compared >= 8);
    clear_alignments(alignments, LINES);
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

/* The log probability of a translation that ended is what training would call its negative loss. */
static void log_probability_is_that_of_the_pair(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_translation translations[LINES];
    translate(model, lines, LINES, &with_alignment, translations);
    size_t compared = 0;
    for (size_t i = 0; i < LINES; i++) {
        const nmt_alignment *alignment = &translations[i].alignment;
        if (count_words(lines[i]) == 0 || !ended(alignment)) {
            continue;
        }
        int32_t source[64], target[64];
        const int32_t *const sources[] = {source}, *const targets[] = {target};
        const size_t S = alignment->source_count - 1, T = alignment->target_count - 1;
        for (size_t s = 0; s < S; s++) {
            source[s] = vocabulary_find(model->source_words, alignment->source[s], strlen(alignment->source[s]));
        }
        for (size_t t = 0; t < T; t++) {
            target[t] = vocabulary_find(model->target_words, alignment->target[t], strlen(alignment->target[t]));
        }
        batch pairs = {0};
        batch_loss loss;
        nmt_error error;
        support_ok(batch_set(&pairs, sources, &S, targets, &T, 1, &error), &error);
        support_ok(model_loss_and_gradient(model, &pairs, NULL, 1, 0, &loss, &error), &error);
        assert_near(translations[i].log_probability, -loss.nats, float_rounding * (double)(T + 1));
        batch_free(&pairs);
        compared++;
    }
    assert_true(compared >= 4);
    clear_translations(translations, LINES);
    nmt_model_free(model);
}

enum { PAIRS = 9 };
static const char *const pair_sources[PAIRS] = {"w3 w4", "",      "w5 W6 w7 w8 w9", "w3", "w4 w5 w6",
                                                "w9 w9", "w3 w4", "w10 w3 w4 w5",   " "};
static const char *const pair_targets[PAIRS] = {"w3 w4 w5 w6",          "w3", "w7", "", "w4 <unk>\tw8", "w3  w4", "w5",
                                                "w3 w4 w5 w6 w7 w8 w3", ""};

static void pairs_align_the_same_in_batches_of_any_size(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    nmt_alignment alone[PAIRS], together[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        align(model, &pair_sources[i], &pair_targets[i], 1, 1, &alone[i]);
        check_rows(&alone[i]);
    }
    for (size_t size = 0; size <= 7; size++) {
        align(model, pair_sources, pair_targets, PAIRS, size, together);
        for (size_t i = 0; i < PAIRS; i++) {
            assert_same_alignment(&together[i], &alone[i]);
        }
        clear_alignments(together, PAIRS);
    }
    clear_alignments(alone, PAIRS);
    align(model, NULL, NULL, 0, 0, NULL);
    nmt_model_free(model);
}

static void an_alignment_has_the_words_of_both_lines(void **state)
{
    (void)state;
    nmt_model *model = make_model_for("{\"lowercase\": true}");
    nmt_alignment alignments[PAIRS];
    align(model, pair_sources, pair_targets, PAIRS, 0, alignments);
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t S = count_words(pair_sources[i]), T = count_words(pair_targets[i]);
        const bool full = S > 0 && T > 0;
        assert_int_equal(alignments[i].source_count, full ? S + 1 : 0);
        assert_int_equal(alignments[i].target_count, full ? T + 1 : 0);
        assert_true((alignments[i].weights != NULL) == full);
        if (full) {
            assert_string_equal(alignments[i].source[S], "</s>");
            assert_string_equal(alignments[i].target[T], "</s>");
        }
    }
    assert_string_equal(alignments[2].source[1], "W6");
    assert_string_equal(alignments[4].target[1], "<unk>");
    assert_string_equal(alignments[4].target[2], "w8");
    clear_alignments(alignments, PAIRS);
    nmt_model_free(model);
}

/* ---- extremes
 * -------------------------------------------------------------------------------------------------------- */

/* "w3 w4 ... w8 w3 ...", the caller's: free(). */
static char *long_line(size_t words)
{
    char *text = calloc(words, 3);
    assert_non_null(text);
    for (size_t i = 0; i < words; i++) {
        memcpy(text + 3 * i, (const char[]){'w', (char)('3' + i % 6), i + 1 < words ? ' ' : '\0'}, 3);
    }
    return text;
}

static void a_sentence_of_a_thousand_tokens(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    bias_token(model, TOKEN_END, -1e4);
    char *text = long_line(LONG);
    const char *const both[] = {"w3", text};
    nmt_translation translations[2];
    nmt_alignment alignments[2];
    const nmt_translate_options options = {.max_length_ratio = 0.25, .alignment = true};
    translate(model, both, 2, &options, translations);
    assert_int_equal(translations[1].alignment.source_count, LONG + 1);
    assert_int_equal(translations[1].alignment.target_count, LONG / 4 + 10);
    assert_int_equal(translations[0].alignment.target_count, 10);
    assert_true(isfinite(translations[1].log_probability));
    check_rows(&translations[0].alignment);
    check_rows(&translations[1].alignment);
    const char *const targets[] = {text, "w3"};
    align(model, both, targets, 2, 0, alignments);
    assert_int_equal(alignments[0].source_count, 2);
    assert_int_equal(alignments[0].target_count, LONG + 1);
    check_rows(&alignments[0]);
    check_rows(&alignments[1]);
    clear_alignments(alignments, 2);
    clear_translations(translations, 2);
    free(text);
    nmt_model_free(model);
}

/* ---- errors
 * ---------------------------------------------------------------------------------------------------------- */

static void assert_no_translations(nmt_model *model, const char *const *text, size_t count,
                                   const nmt_translate_options *options, nmt_status status, const char *message)
{
    nmt_translation translations[LINES * 3];
    nmt_error error;
    assert_int_equal(nmt_translate(model, text, count, options, translations, &error), status);
    assert_string_equal(error.message, message);
    for (size_t i = 0; i < count; i++) {
        assert_null(translations[i].text);
        assert_null(translations[i].alignment.weights);
    }
}

static void assert_no_alignments(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                                 nmt_status status, const char *message)
{
    nmt_alignment alignments[LINES];
    nmt_error error;
    assert_int_equal(nmt_align(model, sources, targets, count, 1, alignments, &error), status);
    assert_string_equal(error.message, message);
    for (size_t i = 0; i < count; i++) {
        assert_null(alignments[i].source);
        assert_null(alignments[i].weights);
    }
}

static void invalid_utf8_is_named_by_line_and_byte(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    const char *const good[] = {"w3", "", "w4 w5", "w5"}, *const bad[] = {"w3", "", "w4 \xC3(", "w5"};
    assert_no_translations(model, bad, 4, NULL, NMT_INVALID, "line 3: byte 4 is not valid UTF-8 (0xc3)");
    assert_no_alignments(model, bad, good, 4, NMT_INVALID, "source line 3: byte 4 is not valid UTF-8 (0xc3)");
    assert_no_alignments(model, good, bad, 4, NMT_INVALID, "target line 3: byte 4 is not valid UTF-8 (0xc3)");
    nmt_model_free(model);
}

/* The first sentences are done by the time the fault shows: longer ones come first. */
static void a_model_that_is_not_finite_is_an_error_with_its_line(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    const char *const text[] = {"", "w3 w4 w5", "w4", "w5 w6"};
    const nmt_translate_options one_by_one = {.batch_size = 1, .alignment = true};
    parameters_of(model, "encoder.embedding.weight")[4 * 5] = (real)NAN; /* of w4, which the second line has too */
    assert_no_translations(model, text, 4, &one_by_one, NMT_NOT_FINITE,
                           "line 2: the model gives NaN or infinity for token 1 of its translation");
    const char *const other[] = {"", "w3 w5 w5", "w4", "w5 w6"};
    assert_no_translations(model, other, 4, &one_by_one, NMT_NOT_FINITE,
                           "line 3: the model gives NaN or infinity for token 1 of its translation");
    assert_no_alignments(model, other, other, 4, NMT_NOT_FINITE, "line 3: the model gives NaN for target token 1");
    nmt_model_free(model);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        nmt_translate_options options;
        const char *message;
    } bad[] = {
        {{.beam = 1025}, "beam: expected at most 1024, found 1025"},
        {{.beam = 2, .nbest = 3}, "nbest: expected at most the beam, 2, found 3"},
        {{.nbest = 2}, "nbest: expected at most the beam, 1, found 2"},
        {{.length_alpha = -0.5}, "length_alpha: expected a number from 0 to 10"},
        {{.length_alpha = NAN}, "length_alpha: expected a number from 0 to 10"},
        {{.length_bonus = 101}, "length_bonus: expected a number from -100 to 100"},
        {{.length_bonus = NAN}, "length_bonus: expected a number from -100 to 100"},
    };
    nmt_model *model = make_model();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_no_translations(model, lines, 4, &bad[i].options, NMT_INVALID, bad[i].message);
    }
    nmt_model_free(model);
}

static void a_length_ratio_must_be_a_number_that_makes_sense(void **state)
{
    (void)state;
    nmt_model *model = make_model();
    const double bad[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        const nmt_translate_options options = {.max_length_ratio = bad[i]};
        assert_no_translations(model, lines, LINES, &options, NMT_INVALID,
                               "max_length_ratio: expected a finite number that is not negative");
    }
    nmt_translation_clear(NULL);
    nmt_alignment_clear(NULL);
    nmt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_no_simple_one),
        cmocka_unit_test(batches_of_any_size_give_the_same_in_the_order_of_the_lines),
        cmocka_unit_test(empty_lines_stay_empty),
        cmocka_unit_test(alignments_name_the_words_and_their_weights_sum_to_one),
        cmocka_unit_test(translations_without_end_stop_at_their_limit),
        cmocka_unit_test(the_usual_limit_follows_the_training_text),
        cmocka_unit_test(words_outside_the_vocabulary_are_all_the_same),
        cmocka_unit_test(a_line_is_normalised_but_shown_as_it_stood),
        cmocka_unit_test(batches_of_several_lines_give_the_same_bits),
        cmocka_unit_test(a_model_that_changed_translates_anew),
        cmocka_unit_test(a_list_is_the_same_in_batches_of_any_size),
        cmocka_unit_test(a_list_has_the_best_first_and_nothing_twice),
        cmocka_unit_test(a_beam_finds_what_greedy_search_misses),
        cmocka_unit_test(every_token_has_its_probability),
        cmocka_unit_test(unknown_words_are_taken_from_the_source),
        cmocka_unit_test(a_token_is_found_in_its_word),
        cmocka_unit_test(unknown_tokens_of_cut_text_become_words),
        cmocka_unit_test(unknown_words_can_be_banned),
        cmocka_unit_test(a_fault_in_a_lexicon_has_its_line),
        cmocka_unit_test(a_translation_fed_back_is_read_as_it_was_found),
        cmocka_unit_test(log_probability_is_that_of_the_pair),
        cmocka_unit_test(pairs_align_the_same_in_batches_of_any_size),
        cmocka_unit_test(an_alignment_has_the_words_of_both_lines),
        cmocka_unit_test(a_sentence_of_a_thousand_tokens),
        cmocka_unit_test(invalid_utf8_is_named_by_line_and_byte),
        cmocka_unit_test(a_model_that_is_not_finite_is_an_error_with_its_line),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_length_ratio_must_be_a_number_that_makes_sense),
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
