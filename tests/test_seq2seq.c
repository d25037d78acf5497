/*
 * The whole model: every gradient for every choice of the configuration, and what must not matter: the company that a
 * sentence keeps, the length of its neighbours, whether it is decoded at once or step by step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gradcheck.h"
#include "model/seq2seq.h"
#include "support_loss.h"

enum { SOURCE_WORDS = 9, TARGET_WORDS = 11, SENTENCES = 5, NUMBERS_MAX = 1024 };

/* Sources of 4, 1, 6, 3 and 2 tokens with their </s>, one all unknown words; targets of 3, 6, 1, 4 and 2. */
static const char *const lines[SENTENCES] = {"3 4 3 | 5 6", "| 3 4 5 5 3", "8 3 0 0 4 |", "6 6 | 10 3 10", "0 | 0"};

/* E_src 3, E_tgt 5, H 4, and what `choices` says; D 6 and A 7 unless it does. */
static nmt_model *new_model(const char *choices)
{
    char text[600];
    const int length =
        snprintf(text, sizeof text, "{\"model\": {\"target_embedding\": 5, \"encoder_hidden\": 4%s%s%s%s}",
                 strstr(choices, "\"source_embedding\"") == NULL ? ", \"source_embedding\": 3" : "",
                 strstr(choices, "\"decoder_hidden\"") == NULL ? ", \"decoder_hidden\": 6" : "",
                 strstr(choices, "\"attention_size\"") == NULL ? ", \"attention_size\": 7" : "", choices);
    assert_true(length > 0 && (size_t)length < sizeof text);
    const bool shared = strstr(choices, "\"shared\"") != NULL;
    return support_model(text, shared ? TARGET_WORDS : SOURCE_WORDS, TARGET_WORDS, 0.5);
}

static nmt_model *new_plain_model(void)
{
    return new_model("}");
}

static void check_gradient(nmt_model *model, const char *const *sentences, size_t count)
{
    batch pairs = {0};
    support_batch(&pairs, sentences, count);
    training_loss trained = training_loss_of(model, pairs, 1, 1);
    real *gradient = new_gradient(model);
    gradcheck_prefill(gradient, model->parameters.size);
    const batch_loss loss = loss_and_gradient(model, &trained.pairs, gradient, 1);
    assert_int_equal(loss.tokens, trained.pairs.input.tokens);
    assert_true(loss.objective == objective(&trained));
    gradcheck_parameters(&model->parameters, model->block, gradient, objective, &trained);
    free(gradient);
    training_loss_free(&trained);
    nmt_model_free(model);
}

/* ---- gradients -------------------------------------------------------------------------------------------------- */

#define SMOOTHED "}, \"training\": {\"label_smoothing\": 0.1"

#define TIED_ALL_SIDES ", \"readout_size\": 5, \"tied_embeddings\": \"all\"}, \"vocabulary\": {\"shared\": true"
#define EVERY_DROPOUT                                                                                                  \
    "}, \"dropout\": {\"embedding\": 0.2, \"annotation\": 0.1, \"readout\": 0.2, \"attention_input\": 0.3, "           \
    "\"decoder_input\": 0.3, \"recurrent\": 0.4, \"source_word\": 0.1, \"target_word\": 0.2}"

/* What follows "attention_size", up to the last brace. */
static const char *const choices[] = {
    "}",
    SMOOTHED "}",
    ", \"gru\": \"reset_before\"}",
    ", \"gru\": \"reset_before\"" SMOOTHED "}",
    ", \"readout_embedding\": false}",
    ", \"readout_embedding\": false" SMOOTHED "}",
    ", \"readout_state\": \"previous\"}",
    ", \"initial_state\": \"mean\"}",
    ", \"initial_state\": \"mean\", \"gru\": \"reset_before\"}",
    ", \"initial_state\": \"zero\"}",
    ", \"initial_state\": \"zero\", \"gru\": \"reset_before\"}",
    ", \"readout\": \"tanh\", \"readout_size\": 2}",
    ", \"readout\": \"tanh\", \"readout_size\": 2" SMOOTHED "}",
    ", \"readout\": \"tanh\", \"readout_size\": 2, \"readout_embedding\": false}",
    ", \"readout\": \"maxout\", \"readout_size\": 2}",
    ", \"readout\": \"maxout\", \"readout_size\": 2" SMOOTHED "}",
    ", \"readout\": \"maxout\", \"readout_size\": 2, \"readout_state\": \"previous\"}",
    ", \"readout\": \"maxout\", \"readout_size\": 2, \"readout_state\": \"previous\", \"gru\": "
    "\"reset_before\"" SMOOTHED "}",
    ", \"readout\": \"tanh\", \"readout_size\": 5, \"tied_embeddings\": true}",
    ", \"readout\": \"maxout\", \"readout_size\": 5, \"tied_embeddings\": \"target\"" SMOOTHED "}",
    ", \"readout\": \"tanh\", \"source_embedding\": 5" TIED_ALL_SIDES "}",
    ", \"readout\": \"maxout\", \"order\": \"luong\", \"source_embedding\": 5" TIED_ALL_SIDES EVERY_DROPOUT,
    "}, \"dropout\": {\"embedding\": 0.3}",
    "}, \"dropout\": {\"annotation\": 0.3}",
    "}, \"dropout\": {\"readout\": 0.3}",
    "}, \"dropout\": {\"attention_input\": 0.3}",
    "}, \"dropout\": {\"decoder_input\": 0.3}",
    "}, \"dropout\": {\"recurrent\": 0.3}",
    "}, \"dropout\": {\"source_word\": 0.3, \"target_word\": 0.4}",
    ", \"readout_state\": \"previous\", \"gru\": \"reset_before\"" SMOOTHED EVERY_DROPOUT,
    ", \"order\": \"luong\", \"attention_extent\": \"local_p\", \"attention_window\": 2" EVERY_DROPOUT,
    ", \"order\": \"luong\", \"input_feeding\": false, \"attention_size\": 6, \"attention_heads\": 2" EVERY_DROPOUT,
    ", \"layer_normalization\": true}",
    ", \"layer_normalization\": true, \"gru\": \"reset_before\", \"readout\": \"tanh\", \"readout_size\": 3" SMOOTHED
    "}",
    ", \"layer_normalization\": true, \"order\": \"luong\", \"readout\": \"maxout\", \"readout_size\": 3" EVERY_DROPOUT,
    ", \"encoder_layers\": 2, \"decoder_layers\": 3}",
    ", \"encoder_layers\": 3, \"decoder_layers\": 2, \"residual\": false, \"gru\": \"reset_before\"}",
    ", \"order\": \"luong\", \"encoder_layers\": 2, \"decoder_layers\": 2, \"layer_normalization\": true" EVERY_DROPOUT,
    ", \"order\": \"luong\", \"input_feeding\": false, \"decoder_layers\": 3, \"residual\": false}",
    ", \"attention_score\": \"dot\", \"decoder_hidden\": 8}",
    ", \"attention_score\": \"general\"}",
    ", \"attention_score\": \"concat\"}",
    ", \"attention_score\": \"gaussian\"}",
    ", \"attention_score\": \"fixed\"}",
    ", \"attention_score\": \"scaled_dot\", \"attention_size\": 6, \"attention_heads\": 3}",
    ", \"attention_extent\": \"local_m\", \"attention_window\": 1}",
    ", \"attention_extent\": \"local_p\", \"attention_window\": 2}",
    ", \"order\": \"luong\", \"attention_score\": \"general\"}",
    ", \"order\": \"luong\", \"input_feeding\": false, \"readout\": \"tanh\", \"readout_size\": 2" SMOOTHED "}",
    ", \"order\": \"luong\", \"attention_extent\": \"local_p\", \"attention_window\": 2}",
    ", \"order\": \"conditional\"}",
    ", \"order\": \"conditional\"" EVERY_DROPOUT,
    ", \"order\": \"conditional\", \"layer_normalization\": true, \"gru\": \"reset_before\", \"readout\": \"maxout\", "
    "\"readout_size\": 3" EVERY_DROPOUT,
    ", \"order\": \"conditional\", \"encoder_layers\": 2, \"decoder_layers\": 3, \"attention_extent\": \"local_p\", "
    "\"attention_window\": 2}",
    ", \"order\": \"conditional\", \"initial_state\": \"mean\", \"readout_embedding\": false, \"attention_size\": 6, "
    "\"attention_heads\": 2}, \"training\": {\"coverage\": 0.7}",
    ", \"order\": \"conditional\", \"readout\": \"tanh\", \"source_embedding\": 5" TIED_ALL_SIDES
    "}, \"training\": {\"teacher_forcing\": 0}",
    "}, \"training\": {\"coverage\": 0.7}",
    "}, \"training\": {\"teacher_forcing\": 0}",
    ", \"order\": \"luong\"}, \"training\": {\"teacher_forcing\": 0.5}, \"dropout\": {\"embedding\": 0.2, "
    "\"target_word\": 0.2}",
    ", \"order\": \"luong\", \"attention_size\": 6, \"attention_heads\": 2}, \"training\": {\"coverage\": 0.7}",
    ", \"gru\": \"reset_before\", \"initial_state\": \"mean\", \"readout\": \"maxout\", \"readout_size\": 2" SMOOTHED
    "}, \"dropout\": {\"embedding\": 0.3, \"annotation\": 0.2, \"readout\": 0.4}",
};

static void test_gradient_for_every_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        check_gradient(new_model(choices[i]), lines, SENTENCES);
    }
}

static void test_gradient_of_a_target_ten_times_longer(void **state)
{
    (void)state;
    static const char *const pair = "4 8 | 3 4 5 6 7 8 9 10 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 0 3 4 5 6";
    batch pairs = {0};
    support_batch(&pairs, &pair, 1);
    assert_int_equal(pairs.input.tokens, 10 * pairs.source.tokens);
    batch_free(&pairs);
    check_gradient(new_plain_model(), &pair, 1);
}

/* What the gradient is multiplied with, and that a second call adds. */
static void test_gradient_scales_and_adds(void **state)
{
    (void)state;
    nmt_model *model = new_plain_model();
    const size_t size = model->parameters.size;
    real *once = new_gradient(model), *parts = new_gradient(model);
    batch pairs = {0};
    support_batch(&pairs, lines, SENTENCES);
    loss_and_gradient(model, &pairs, once, 1);
    loss_and_gradient(model, &pairs, parts, 0.25);
    loss_and_gradient(model, &pairs, parts, 0.75);
    assert_all_near(parts, once, size, 1e-13);
    free(once);
    free(parts);
    batch_free(&pairs);
    nmt_model_free(model);
}

/* ---- loss ------------------------------------------------------------------------------------------------------- */

/* Without gradient, the loss is the plain one: neither smoothed nor with anything dropped. */
static void test_evaluation_is_plain(void **state)
{
    (void)state;
    nmt_model *plain = new_plain_model();
    nmt_model *trained = new_model(SMOOTHED EVERY_DROPOUT);
    real *gradient = new_gradient(plain);
    batch pairs = {0};
    support_batch(&pairs, lines, SENTENCES);
    const batch_loss expected = loss_and_gradient(plain, &pairs, gradient, 1);
    const batch_loss found = loss_and_gradient(trained, &pairs, NULL, 1);
    const batch_loss training = loss_and_gradient(trained, &pairs, gradient, 1);
    assert_near(found.nats, expected.nats, 1e-12);
    assert_true(found.objective == found.nats && expected.objective == expected.nats);
    assert_true(training.nats != found.nats && training.objective != training.nats);
    free(gradient);
    batch_free(&pairs);
    nmt_model_free(plain);
    nmt_model_free(trained);
}

/* Frees the model. */
static void check_dropout(nmt_model *model)
{
    real *gradient = new_gradient(model);
    batch pairs = {0};
    batch_loss first, again, next, other_seed;
    nmt_error error;
    support_batch(&pairs, lines, SENTENCES);
    support_ok(model_loss_and_gradient(model, &pairs, gradient, 1, 7, &first, &error), &error);
    support_ok(model_loss_and_gradient(model, &pairs, gradient, 1, 7, &again, &error), &error);
    support_ok(model_loss_and_gradient(model, &pairs, gradient, 1, 8, &next, &error), &error);
    model->config->training.seed++;
    support_ok(model_loss_and_gradient(model, &pairs, gradient, 1, 7, &other_seed, &error), &error);
    assert_true(first.nats == again.nats);
    assert_true(first.nats != next.nats && first.nats != other_seed.nats);
    free(gradient);
    batch_free(&pairs);
    nmt_model_free(model);
}

static void test_dropout_follows_seed_and_update(void **state)
{
    (void)state;
    static const char *const kinds[] = {"embedding",     "annotation", "readout",     "attention_input",
                                        "decoder_input", "recurrent",  "source_word", "target_word"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[64];
        snprintf(text, sizeof text, "}, \"dropout\": {\"%s\": 0.4}", kinds[i]);
        check_dropout(new_model(text));
    }
}

/* Where all matrices of that name but the second cell's are zero, what its own mask drops is all that is dropped. */
static void test_dropout_of_the_second_cell(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {{"decoder_input", "weight_ih"}, {"recurrent", "weight_hh"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[96];
        snprintf(text, sizeof text, ", \"order\": \"conditional\"}, \"dropout\": {\"%s\": 0.4}", kinds[i][0]);
        nmt_model *model = new_model(text);
        for (size_t k = 0; k < model->parameters.count; k++) {
            const tensor *entry = &model->parameters.tensors[k];
            if (strstr(entry->name, kinds[i][1]) != NULL && strstr(entry->name, "decoder.gru2") == NULL) {
                memset(model->block + entry->offset, 0, tensor_size(entry) * sizeof(real));
            }
        }
        check_dropout(model);
    }
}

/* ---- the two paths ---------------------------------------------------------------------------------------------- */

static void test_paths_add_up(void **state)
{
    (void)state;
    static const attention_paths paths[] = {PATH_NONE, PATH_VALUE, PATH_SCORE, PATH_BOTH};
    enum { NONE, VALUE, SCORE, BOTH, RUNS };
    nmt_model *model = new_plain_model();
    const size_t parameters = model->parameters.size;
    real *gradient[RUNS];
    batch pairs = {0};
    nmt_error error;
    support_batch(&pairs, lines, SENTENCES);
    const size_t count = pairs.source.tokens * seq2seq_annotation_size(model);
    real *share[RUNS];
    double value = 0, score = 0;
    for (size_t run = 0; run < RUNS; run++) {
        share[run] = nan_reals(count);
        gradient[run] = nan_reals(parameters);
        support_ok(seq2seq_path_gradient(model, &pairs, paths[run], gradient[run], share[run], &error), &error);
    }
    for (size_t i = 0; i < count; i++) {
        const double of_value = share[VALUE][i] - share[NONE][i], of_score = share[SCORE][i] - share[NONE][i];
        assert_near(of_value + of_score + share[NONE][i], share[BOTH][i], 1e-13);
        value += fabs(of_value);
        score += fabs(of_score);
    }
    assert_true(value > 0.01 && score > 0.01); /* each carries something */
    for (size_t i = 0; i < parameters; i++) {
        assert_near(gradient[VALUE][i] + gradient[SCORE][i] - gradient[NONE][i], gradient[BOTH][i], 1e-13);
    }
    for (size_t run = 0; run < RUNS; run++) {
        free(gradient[run]);
        free(share[run]);
    }
    batch_free(&pairs);
    nmt_model_free(model);
}

/* ---- company ---------------------------------------------------------------------------------------------------- */

/* Attention of sentence `s` at target token t. */
static const real *alpha_of(const real *alpha, const batch *pairs, size_t s, size_t t)
{
    return alpha + (pairs->input.offset[t] + pairs->input.row[s]) * pairs->source.steps;
}

static real *align(nmt_model *model, const batch *pairs)
{
    real *alpha = nan_reals(pairs->input.tokens * pairs->source.steps);
    nmt_error error;
    support_ok(model_align(model, pairs, alpha, &error), &error);
    return alpha;
}

/* The weights of sentence `s` among others are those of `own`, where it is alone; and 0 behind its end. They sum to 1,
 * or to less where local_p favours those near its centre. */
static void compare_alpha(const batch *pairs, const real *alpha, size_t s, const batch *own, const real *own_alpha,
                          bool favoured)
{
    for (size_t t = 0; t < own->input.steps; t++) {
        const real *among = alpha_of(alpha, pairs, s, t), *alone = alpha_of(own_alpha, own, 0, t);
        double sum = 0;
        for (size_t i = 0; i < pairs->source.steps; i++) {
            assert_near(among[i], i < own->source.steps ? alone[i] : 0, i < own->source.steps ? 1e-12 : 0);
            sum += among[i];
        }
        assert_true(favoured ? sum > 0 && sum < 1 : fabs(sum - 1) <= 1e-14);
    }
}

static void check_company(const char *more)
{
    nmt_model *model = new_model(more);
    const size_t size = model->parameters.size;
    real *together = new_gradient(model), *apart = new_gradient(model);
    batch pairs = {0};
    double nats = 0, objectives = 0;
    support_batch(&pairs, lines, SENTENCES);
    const batch_loss loss = loss_and_gradient(model, &pairs, together, 1);
    real *alpha = align(model, &pairs);
    for (size_t s = 0; s < SENTENCES; s++) {
        batch own = {0};
        support_batch(&own, &lines[s], 1);
        const batch_loss alone = loss_and_gradient(model, &own, apart, 1);
        real *own_alpha = align(model, &own);
        compare_alpha(&pairs, alpha, s, &own, own_alpha, strstr(more, "local_p") != NULL);
        nats += alone.nats;
        objectives += alone.objective;
        free(own_alpha);
        batch_free(&own);
    }
    assert_near(loss.nats, nats, 1e-12);
    assert_near(loss.objective, objectives, 1e-12);
    assert_all_near(together, apart, size, 1e-12);
    free(together);
    free(apart);
    free(alpha);
    batch_free(&pairs);
    nmt_model_free(model);
}

static void test_company_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strstr(choices[i], "dropout") == NULL) {
            check_company(choices[i]);
        }
    }
}

static void test_order_changes_nothing(void **state)
{
    (void)state;
    static const size_t order[SENTENCES] = {3, 0, 4, 2, 1};
    const char *shuffled[SENTENCES];
    for (size_t s = 0; s < SENTENCES; s++) {
        shuffled[s] = lines[order[s]];
    }
    nmt_model *model = new_plain_model();
    real *first = new_gradient(model), *second = new_gradient(model);
    batch pairs = {0}, shuffled_pairs = {0};
    support_batch(&pairs, lines, SENTENCES);
    support_batch(&shuffled_pairs, shuffled, SENTENCES);
    const batch_loss a = loss_and_gradient(model, &pairs, first, 1);
    const batch_loss b = loss_and_gradient(model, &shuffled_pairs, second, 1);
    assert_near(a.nats, b.nats, 1e-12);
    assert_all_near(first, second, model->parameters.size, 1e-12);
    free(first);
    free(second);
    batch_free(&pairs);
    batch_free(&shuffled_pairs);
    nmt_model_free(model);
}

/* ---- unusual sentences ------------------------------------------------------------------------------------------ */

/* One matrix for both sides, and a file that holds another vocabulary for one of them. */
static void test_tied_sides_have_one_vocabulary(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model\": {\"readout\": \"tanh\", \"readout_size\": 256, \"tied_embeddings\": \"all\"}, "
        "\"vocabulary\": {\"shared\": true}}";
    nmt_config *config = support_config(text);
    nmt_model *model = NULL;
    nmt_error error;
    assert_int_equal(
        model_create(&model, config, support_vocabulary(SOURCE_WORDS), support_vocabulary(TARGET_WORDS), &error),
        NMT_INVALID);
    assert_non_null(strstr(error.message, "found 9 source and 11 target words"));
    assert_null(model);
}

static void test_a_source_of_unknown_words_moves_their_row_only(void **state)
{
    (void)state;
    static const char *const pair = "0 0 0 | 4 0";
    nmt_model *model = new_plain_model();
    real *gradient = new_gradient(model);
    batch pairs = {0};
    support_batch(&pairs, &pair, 1);
    assert_true(isfinite(loss_and_gradient(model, &pairs, gradient, 1).nats));
    const tensor *embedding = &model->parameters.tensors[0];
    assert_string_equal(embedding->name, "encoder.embedding.weight");
    for (size_t word = 0; word < embedding->rows; word++) {
        const bool present = word == TOKEN_UNKNOWN || word == TOKEN_END;
        for (size_t i = 0; i < embedding->columns; i++) {
            const real g = gradient[embedding->offset + word * embedding->columns + i];
            assert_true(present ? g != 0 && isfinite(g) : g == 0);
        }
    }
    free(gradient);
    batch_free(&pairs);
    nmt_model_free(model);
}

static void set_long_batch(batch *pairs, size_t length, size_t count)
{
    static int32_t tokens[NUMBERS_MAX];
    static const int32_t few[3] = {3, 5, 4};
    const int32_t *sources[2] = {few, tokens}, *targets[2] = {few, tokens};
    const size_t source_lengths[2] = {3, length}, target_lengths[2] = {2, length};
    nmt_error error;
    assert_true(length <= NUMBERS_MAX);
    for (size_t i = 0; i < length; i++) {
        tokens[i] = (int32_t)(i * 7 % 9);
    }
    support_ok(batch_set(pairs, sources + 2 - count, source_lengths + 2 - count, targets + 2 - count,
                         target_lengths + 2 - count, count, &error),
               &error);
}

static void test_a_sentence_of_a_thousand_tokens(void **state)
{
    (void)state;
    nmt_model *model = new_plain_model();
    const size_t size = model->parameters.size;
    real *gradient = new_gradient(model), *short_one = new_gradient(model);
    batch both = {0}, long_one = {0};
    set_long_batch(&both, 1000, 2);
    set_long_batch(&long_one, 1000, 1);
    assert_int_equal(both.source.steps, 1001);
    const batch_loss loss = loss_and_gradient(model, &both, gradient, 1);
    const batch_loss alone = loss_and_gradient(model, &long_one, gradient, -1);
    batch few = {0};
    static const char *const pair = "3 5 4 | 3 5";
    support_batch(&few, &pair, 1);
    const batch_loss other = loss_and_gradient(model, &few, short_one, 1);
    assert_near(loss.nats, alone.nats + other.nats, 1e-9 * loss.nats);
    assert_all_near(gradient, short_one, size, 1e-8);
    real *alpha = align(model, &both);
    for (size_t t = 0; t < both.input.steps; t++) {
        double sum = 0;
        for (size_t i = 0; i < both.source.steps; i++) {
            sum += alpha_of(alpha, &both, 1, t)[i];
        }
        assert_near(sum, 1, 1e-12);
    }
    free(alpha);
    free(gradient);
    free(short_one);
    batch_free(&both);
    batch_free(&long_one);
    batch_free(&few);
    nmt_model_free(model);
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

enum { BEAM = 2, STEPS = 3, HYPOTHESES = SENTENCES * BEAM };

static const size_t itself = 0; /* the parent of a hypothesis that is alone */

/* One hypothesis from its start: the sentence it reads and what it was fed; its logits and attention at the last. */
typedef struct fed {
    size_t sentence, length;
    int32_t token[STEPS];
} fed;

static void check_hypothesis(nmt_model *model, const fed *one, const real *logits, const real *alpha, size_t steps)
{
    batch own = {0};
    decoding *state;
    const real *expected = NULL, *weights = NULL;
    nmt_error error;
    support_batch(&own, &lines[one->sentence], 1);
    support_ok(model_start(model, &own.source, 1, &state, &error), &error);
    for (size_t t = 0; t < one->length; t++) {
        if (t > 0) {
            support_ok(model_reorder(state, &itself, 1, &error), &error);
        }
        support_ok(model_step(state, &one->token[t], &expected, &weights, &error), &error);
    }
    assert_all_near(logits, expected, TARGET_WORDS, 1e-13);
    for (size_t i = 0; i < steps; i++) {
        assert_near(alpha[i], i < own.source.steps ? weights[i] : 0, i < own.source.steps ? 1e-13 : 0);
    }
    model_finish(state);
    batch_free(&own);
}

static void feed(nmt_model *model, decoding *state, fed *hypotheses, size_t count, size_t source_steps)
{
    int32_t previous[HYPOTHESES] = {0};
    const real *logits, *alpha;
    nmt_error error;
    for (size_t i = 0; i < count; i++) {
        fed *one = &hypotheses[i];
        one->token[one->length] = one->length == 0 ? TOKEN_START : (int32_t)((3 * i + one->length) % TARGET_WORDS);
        previous[i] = one->token[one->length++];
    }
    support_ok(model_step(state, previous, &logits, &alpha, &error), &error);
    for (size_t i = 0; i < count; i++) {
        check_hypothesis(model, &hypotheses[i], logits + i * TARGET_WORDS, alpha + i * source_steps, source_steps);
    }
}

static void reorder(decoding *state, fed *hypotheses, const size_t *parents, size_t count)
{
    fed before[HYPOTHESES];
    nmt_error error;
    memcpy(before, hypotheses, sizeof before);
    support_ok(model_reorder(state, parents, count, &error), &error);
    for (size_t i = 0; i < count; i++) {
        hypotheses[i] = before[parents[i]];
    }
}

/* Hypotheses start in the order of the sentences, multiply, change places and end; each goes on as if it were alone. */
static void check_decoding_of(nmt_model *model)
{
    static const size_t doubled[HYPOTHESES] = {4, 4, 0, 0, 1, 1, 3, 3, 2, 2}, rest[3] = {7, 1, 8};
    fed hypotheses[HYPOTHESES] = {{0}};
    batch pairs = {0};
    decoding *state;
    nmt_error error;
    support_batch(&pairs, lines, SENTENCES);
    for (size_t s = 0; s < SENTENCES; s++) {
        hypotheses[s].sentence = s;
    }
    support_ok(model_start(model, &pairs.source, HYPOTHESES, &state, &error), &error);
    feed(model, state, hypotheses, SENTENCES, pairs.source.steps);
    reorder(state, hypotheses, doubled, HYPOTHESES);
    feed(model, state, hypotheses, HYPOTHESES, pairs.source.steps);
    reorder(state, hypotheses, rest, 3);
    feed(model, state, hypotheses, 3, pairs.source.steps);
    assert_int_equal(model_reorder(state, doubled, HYPOTHESES + 1, &error), NMT_INVALID);
    model_finish(state);
    batch_free(&pairs);
}

/* Sentences that had no room at first take the places of others; each goes on as if it were alone. */
static void check_joining(nmt_model *model)
{
    enum { ROOM = 3 };
    static const size_t kept[2] = {2, 0}, last = 1, next[2] = {3, 4}, again = 1;
    fed hypotheses[HYPOTHESES] = {{.sentence = 0}, {.sentence = 1}, {.sentence = 2}};
    batch pairs = {0};
    decoding *state;
    nmt_error error;
    support_batch(&pairs, lines, SENTENCES);
    support_ok(model_start(model, &pairs.source, ROOM, &state, &error), &error);
    feed(model, state, hypotheses, ROOM, pairs.source.steps);
    reorder(state, hypotheses, kept, 2);
    assert_int_equal(model_join(state, next, 2, &error), NMT_INVALID); /* and nobody has joined */
    support_ok(model_join(state, &next[0], 1, &error), &error);
    hypotheses[2] = (fed){.sentence = next[0]};
    feed(model, state, hypotheses, ROOM, pairs.source.steps);
    reorder(state, hypotheses, &last, 1);
    support_ok(model_join(state, &next[1], 1, &error), &error);
    hypotheses[1] = (fed){.sentence = next[1]};
    feed(model, state, hypotheses, 2, pairs.source.steps);
    reorder(state, hypotheses, NULL, 0);
    support_ok(model_join(state, &again, 1, &error), &error);
    hypotheses[0] = (fed){.sentence = again};
    feed(model, state, hypotheses, 1, pairs.source.steps);
    model_finish(state);
    batch_free(&pairs);
}

static void test_decoding(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        nmt_model *model = new_model(choices[i]);
        check_decoding_of(model);
        check_joining(model);
        nmt_model_free(model);
    }
}

/* Matrices rounded to what 8 bits hold of them; embeddings are read as they are unless the readout has them too. */
static void round_matrices(nmt_model *model)
{
    int8_t q[256];
    real scale;
    for (size_t i = 0; i < model->parameters.count; i++) {
        const tensor *entry = &model->parameters.tensors[i];
        for (size_t row = 0; strstr(entry->name, "embedding") == NULL && row < entry->rows; row++) {
            real *values = model->block + entry->offset + row * entry->columns;
            quantize_row(q, &scale, values, entry->columns);
            for (size_t k = 0; k < entry->columns; k++) {
                values[k] = q[k] * scale;
            }
        }
    }
}

/* Logits of the first sentence's first steps: [STEPS, TARGET_WORDS]. */
static void first_logits(nmt_model *model, real *kept)
{
    batch own = {0};
    decoding *state;
    nmt_error error;
    support_batch(&own, lines, 1);
    support_ok(model_start(model, &own.source, 1, &state, &error), &error);
    for (size_t t = 0; t < STEPS; t++) {
        const real *logits, *alpha;
        const int32_t token = t == 0 ? TOKEN_START : (int32_t)t + 3;
        support_ok(model_step(state, &token, &logits, &alpha, &error), &error);
        memcpy(kept + t * TARGET_WORDS, logits, TARGET_WORDS * sizeof *logits);
        support_ok(model_reorder(state, &itself, 1, &error), &error);
    }
    model_finish(state);
    batch_free(&own);
}

/* Decoding in 8 bits is decoding with rounded matrices, but for the rounding of what they multiply; it is as
 * indifferent to company; and nothing but decoding changes. */
static void test_decoding_in_8_bits(void **test_state)
{
    (void)test_state;
    real quantized[STEPS * TARGET_WORDS], rounded[STEPS * TARGET_WORDS], plain[STEPS * TARGET_WORDS];
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        nmt_model *model = new_model(choices[i]);
        nmt_error error;
        double moved = 0;
        batch pairs = {0};
        support_batch(&pairs, lines, SENTENCES);
        const double nats = loss_and_gradient(model, &pairs, NULL, 1).nats;
        first_logits(model, plain);
        support_ok(nmt_model_quantize(model, &error), &error);
        support_ok(nmt_model_quantize(model, &error), &error);
        first_logits(model, quantized);
        assert_true(loss_and_gradient(model, &pairs, NULL, 1).nats == nats);
        check_decoding_of(model);
        nmt_model *other = new_model(choices[i]);
        if (strstr(choices[i], "tied") == NULL) {
            round_matrices(other);
            first_logits(other, rounded);
            for (size_t k = 0; k < STEPS * TARGET_WORDS; k++) {
                moved = fmax(moved, fabs(quantized[k] - plain[k]));
                assert_near(quantized[k], rounded[k], 1e-3);
            }
            assert_true(moved > 1e-3);
        }
        nmt_model_free(other);
        nmt_model_free(model);
        batch_free(&pairs);
    }
}

/* The true target fed step by step gives the loss and the attention of teacher forcing. */
static void test_steps_are_teacher_forcing(void **test_state)
{
    (void)test_state;
    nmt_model *model = new_plain_model();
    for (size_t s = 0; s < SENTENCES; s++) {
        batch own = {0};
        decoding *state;
        nmt_error error;
        double nats = 0;
        support_batch(&own, &lines[s], 1);
        real *forced = align(model, &own);
        support_ok(model_start(model, &own.source, 1, &state, &error), &error);
        for (size_t t = 0; t < own.input.steps; t++) {
            const real *logits, *alpha;
            double sum = 0;
            support_ok(model_step(state, &own.input.id[t], &logits, &alpha, &error), &error);
            assert_all_near(alpha, forced + t * own.source.steps, own.source.steps, 1e-14);
            for (size_t i = 0; i < TARGET_WORDS; i++) {
                sum += exp(logits[i]);
            }
            nats += log(sum) - logits[own.output[t]];
            support_ok(model_reorder(state, &itself, 1, &error), &error);
        }
        assert_near(nats, loss_and_gradient(model, &own, NULL, 1).nats, 1e-12);
        model_finish(state);
        free(forced);
        batch_free(&own);
    }
    nmt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_for_every_choice),
        cmocka_unit_test(test_gradient_of_a_target_ten_times_longer),
        cmocka_unit_test(test_gradient_scales_and_adds),
        cmocka_unit_test(test_evaluation_is_plain),
        cmocka_unit_test(test_dropout_follows_seed_and_update),
        cmocka_unit_test(test_dropout_of_the_second_cell),
        cmocka_unit_test(test_paths_add_up),
        cmocka_unit_test(test_company_changes_nothing),
        cmocka_unit_test(test_order_changes_nothing),
        cmocka_unit_test(test_tied_sides_have_one_vocabulary),
        cmocka_unit_test(test_a_source_of_unknown_words_moves_their_row_only),
        cmocka_unit_test(test_a_sentence_of_a_thousand_tokens),
        cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_decoding_in_8_bits),
        cmocka_unit_test(test_steps_are_teacher_forcing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
