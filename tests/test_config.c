#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comma_locale.h"
#include "model/config.h"

#define FILES "\"data\": {\"train_source\": \"a.en\", \"train_target\": \"a.zh\"}"
#define VALIDATED                                                                                                      \
    "\"data\": {\"train_source\": \"a\", \"train_target\": \"b\", \"validation_source\": \"c\", "                      \
    "\"validation_target\": "                                                                                          \
    "\"d\"}"

static char directory[] = "/tmp/nmt-config-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL && chdir(directory) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink("c.json");
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static nmt_status load(nmt_config **config, const char *text, const char *override, nmt_error *error)
{
    FILE *file = fopen("c.json", "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return nmt_config_load(config, "c.json", &override, override != NULL, error);
}

static nmt_config *load_good(const char *text, const char *override)
{
    nmt_config *config = NULL;
    nmt_error error = {0};
    if (load(&config, text, override, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return config;
}

static void assert_refused(const char *text, const char *override, const char *message)
{
    nmt_config *config = (nmt_config *)1;
    nmt_error error = {0};
    assert_int_equal(load(&config, text, override, &error), NMT_INVALID);
    assert_string_equal(error.message, message);
    assert_null(config);
}

static void defaults_are_as_documented(void **state)
{
    (void)state;
    nmt_config *config = load_good("{" FILES "}", NULL);
    assert_string_equal(config->data.train_source, "a.en");
    assert_string_equal(config->data.train_target, "a.zh");
    assert_null(config->data.validation_source);
    assert_false(config->data.lowercase);
    assert_int_equal(config->data.max_length, 50);
    assert_int_equal(config->vocabulary.source_size, 0);
    assert_int_equal(config->vocabulary.minimum_count, 1);
    assert_int_equal(config->model.source_embedding, 256);
    assert_int_equal(config->model.target_embedding, 256);
    assert_int_equal(config->model.encoder_hidden, 512);
    assert_int_equal(config->model.decoder_hidden, 512);
    assert_string_equal(config->model.attention_score, "additive");
    assert_int_equal(config->model.attention_size, 512);
    assert_int_equal(config->model.attention_heads, 1);
    assert_int_equal(config->model.attention_extent, REACH_GLOBAL);
    assert_int_equal(config->model.attention_window, 10);
    assert_int_equal(config->model.order, ORDER_BAHDANAU);
    assert_true(config->model.input_feeding);
    assert_int_equal(config->model.gru, GRU_RESET_AFTER);
    assert_int_equal(config->model.initial_state, INITIAL_STATE_BACKWARD);
    assert_int_equal(config->model.readout, READOUT_LINEAR);
    assert_int_equal(config->model.readout_size, 512);
    assert_true(config->model.readout_embedding);
    assert_int_equal(config->model.readout_state, READOUT_STATE_CURRENT);
    assert_int_equal(config->initialization.weights, WEIGHT_INIT_NORMAL);
    assert_true(config->initialization.scale == 0.01);
    assert_int_equal(config->initialization.recurrent, RECURRENT_INIT_SAME);
    assert_int_equal(config->training.epochs, 10);
    assert_int_equal(config->training.batch_size, 64);
    assert_int_equal(config->training.batch_unit, BATCH_UNIT_SENTENCES);
    assert_int_equal(config->training.pool, 20);
    assert_true(config->training.shuffle);
    assert_int_equal(config->training.loss_normalization, LOSS_PER_TOKEN);
    assert_int_equal(config->training.optimizer, OPTIMIZER_ADAM);
    assert_true(config->training.learning_rate == 0.001);
    assert_int_equal(config->training.schedule, SCHEDULE_HALVING);
    assert_int_equal(config->training.warmup, 0);
    assert_int_equal(config->training.halve_every, 0);
    assert_int_equal(config->training.halve_from, 0);
    assert_true(config->training.plateau_factor == 0.5 && config->training.final_rate == 0);
    assert_int_equal(config->training.plateau_patience, 1);
    assert_int_equal(config->training.accumulate, 1);
    assert_true(config->training.teacher_forcing == 1 && config->training.forcing_decay == 0);
    assert_true(config->training.weight_decay == 0 && config->training.average_decay == 0);
    assert_true(config->training.beta1 == 0.9 && config->training.beta2 == 0.999 && config->training.epsilon == 1e-8);
    assert_true(config->training.rho == 0.95 && config->training.adadelta_epsilon == 1e-6);
    assert_true(config->training.momentum == 0 && config->training.clip_norm == 5);
    assert_true(config->training.label_smoothing == 0 && config->training.coverage == 0);
    assert_true(config->dropout.embedding == 0 && config->dropout.annotation == 0 && config->dropout.readout == 0);
    assert_false(config->model.layer_normalization);
    assert_true(config->model.encoder_layers == 1 && config->model.decoder_layers == 1 && config->model.residual);
    assert_true(config->dropout.attention_input == 0 && config->dropout.decoder_input == 0);
    assert_true(config->dropout.recurrent == 0 && config->dropout.source_word == 0 && config->dropout.target_word == 0);
    assert_int_equal(config->training.threads, 0);
    assert_int_equal(config->training.seed, 1);
    assert_int_equal(config->validation.every, 0);
    assert_false(config->validation.bleu);
    assert_int_equal(config->validation.metric, METRIC_LOSS);
    assert_int_equal(config->validation.patience, 0);
    assert_int_equal(config->validation.batch_size, 64);
    assert_string_equal(config->output.directory, "runs/model");
    assert_int_equal(config->output.average_best, 0);
    nmt_config_free(config);
}

static void values_reach_their_fields(void **state)
{
    (void)state;
    nmt_config *config =
        load_good("{" VALIDATED ", \"vocabulary\": {\"shared\": true, \"source_size\": 4, \"source_file\": null},"
                  "\"model\": {\"gru\": \"reset_before\", \"initial_state\": \"zero\", \"readout\": \"maxout\", "
                  "\"readout_size\": "
                  "65536, \"readout_embedding\": false, \"readout_state\": \"previous\"},"
                  "\"training\": {\"seed\": 9007199254740991, \"momentum\": 0.25, \"optimizer\": \"sgd\", "
                  "\"loss_normalization\": "
                  "\"sentence\", \"batch_unit\": \"tokens\", \"epochs\": 3.0},"
                  "\"validation\": {\"metric\": \"bleu\", \"bleu\": true}}",
                  NULL);
    assert_true(config->vocabulary.shared);
    assert_int_equal(config->vocabulary.source_size, 4);
    assert_int_equal(config->model.gru, GRU_RESET_BEFORE);
    assert_int_equal(config->model.initial_state, INITIAL_STATE_ZERO);
    assert_int_equal(config->model.readout, READOUT_MAXOUT);
    assert_int_equal(config->model.readout_size, 65536);
    assert_false(config->model.readout_embedding);
    assert_int_equal(config->model.readout_state, READOUT_STATE_PREVIOUS);
    assert_true(config->training.seed == UINT64_C(9007199254740991));
    assert_true(config->training.momentum == 0.25);
    assert_int_equal(config->training.optimizer, OPTIMIZER_SGD);
    assert_int_equal(config->training.loss_normalization, LOSS_PER_SENTENCE);
    assert_int_equal(config->training.batch_unit, BATCH_UNIT_TOKENS);
    assert_int_equal(config->training.epochs, 3);
    assert_int_equal(config->validation.metric, METRIC_BLEU);
    assert_string_equal(config->data.validation_target, "d");
    nmt_config_free(config);
}

static void faults_of_a_file_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\n  \"data\": {\n    \"lowercase\": yes\n  }\n}", "c.json:3:18: expected a value, found \"y\""},
        {"{\"data\": {\"nfc\": true, \"nfc\": true}}",
         "c.json:1:24: expected each key once, found \"data.nfc\" again; it stands on line 1 already"},
        {"[1]", "c.json: expected an object, found an array"},
        {"{\"training\": {\"batchsize\": 2}}",
         "c.json: unknown key \"training.batchsize\"; the nearest known key is \"training.batch_size\""},
        {"{\"training\": {\"Epochs\": 2}}",
         "c.json: unknown key \"training.Epochs\"; the nearest known key is \"training.epochs\""},
        {"{\"model\": {\"epochs\": 2}}",
         "c.json: unknown key \"model.epochs\"; the nearest known key is \"training.epochs\""},
        {"{\"trainning\": {}}", "c.json: unknown key \"trainning\"; the nearest known key is \"training\""},
        {"{\"epochs\": 2}", "c.json: unknown key \"epochs\"; the nearest known key is \"training.epochs\""},
        {"{\"training\": {\"a\\u001b[31m\": 2}}",
         "c.json: unknown key \"training.a\\x1B[31m\"; the nearest known key is \"training.beta1\""},
        {"{\"training\": 3}", "c.json: training: expected an object, found 3"},
        {"{\"training\": {\"epochs\": \"ten\"}}",
         "c.json: training.epochs: expected an integer from 1 to 1000000000, found the text \"ten\""},
        {"{\"training\": {\"epochs\": 2.5}}",
         "c.json: training.epochs: expected an integer from 1 to 1000000000, found 2.5"},
        {"{\"training\": {\"epochs\": 0}}",
         "c.json: training.epochs: expected an integer from 1 to 1000000000, found 0"},
        {"{\"training\": {\"epochs\": null}}",
         "c.json: training.epochs: expected an integer from 1 to 1000000000, found null"},
        {"{\"training\": {\"threads\": 1025}}",
         "c.json: training.threads: expected an integer from 0 to 1024, found 1025"},
        {"{\"training\": {\"seed\": -1}}",
         "c.json: training.seed: expected an integer from 0 to 9007199254740991, found -1"},
        {"{\"training\": {\"seed\": 9007199254740993}}",
         "c.json: training.seed: expected an integer from 0 to 9007199254740991, found 9007199254740992"},
        {"{\"training\": {\"learning_rate\": 0}}",
         "c.json: training.learning_rate: expected a number above 0 and up to 1000, found 0"},
        {"{\"dropout\": {\"readout\": 1}}", "c.json: dropout.readout: expected a number from 0 to below 1, found 1"},
        {"{\"training\": {\"clip_norm\": -0.5}}",
         "c.json: training.clip_norm: expected a number from 0 to 1000000000, found -0.5"},
        {"{\"training\": {\"shuffle\": 1}}", "c.json: training.shuffle: expected true or false, found 1"},
        {"{\"training\": {\"shuffle\": [true]}}", "c.json: training.shuffle: expected true or false, found an array"},
        {"{\"training\": {\"optimizer\": \"Adam\"}}",
         "c.json: training.optimizer: expected \"adam\", \"adadelta\" or \"sgd\", found the text \"Adam\""},
        {"{\"training\": {\"optimizer\": false}}",
         "c.json: training.optimizer: expected \"adam\", \"adadelta\" or \"sgd\", found false"},
        {"{\"model\": {\"attention_score\": \"dott\"}}",
         "c.json: model.attention_score: expected \"additive\", \"dot\", \"general\", \"concat\", \"scaled_dot\", "
         "\"gaussian\" or \"fixed\", found the text \"dott\""},
        {"{\"model\": {\"order\": \"Luong\"}}",
         "c.json: model.order: expected \"bahdanau\", \"luong\" or \"conditional\", found the text \"Luong\""},
        {"{\"model\": {\"attention_extent\": \"local\"}}",
         "c.json: model.attention_extent: expected \"global\", \"local_m\" or \"local_p\", found the text \"local\""},
        {"{\"model\": {\"attention_heads\": 33}}",
         "c.json: model.attention_heads: expected an integer from 1 to 32, found 33"},
        {"{\"training\": {\"coverage\": -1}}", "c.json: training.coverage: expected a number from 0 to 1000, found -1"},
        {"{\"data\": {\"train_source\": 7}}", "c.json: data.train_source: expected a path or null, found 7"},
        {"{\"data\": {\"train_source\": \"\"}}",
         "c.json: data.train_source: expected a path or null, found the text \"\""},
        {"{\"output\": {\"directory\": null}}", "c.json: output.directory: expected a path, found null"},
        {"{}", "c.json: data.train_source: expected a path, required for training, found nothing"},
        {"{\"data\": {\"train_source\": \"a\"}}",
         "c.json: data.train_target: expected a path, required for training, found nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i].text, NULL, cases[i].message);
    }
}

static void requirements_between_keys_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"data\": {\"validation_target\": \"a\"}}",
         "c.json: data.validation_source and data.validation_target: expected both or neither, found only "
         "data.validation_target"},
        {"{\"data\": {\"validation_source\": \"a\"}}",
         "c.json: data.validation_source and data.validation_target: expected both or neither, found only "
         "data.validation_source"},
        {"{" VALIDATED ", \"validation\": {\"metric\": \"bleu\"}}",
         "c.json: validation.bleu: expected true, because validation.metric is \"bleu\", found false"},
        {"{" FILES ", \"validation\": {\"bleu\": true}}",
         "c.json: data.validation_source: expected a path, because validation.bleu is true, found null"},
        {"{" FILES ", \"validation\": {\"patience\": 2}}",
         "c.json: data.validation_source: expected a path, because validation.patience is over 0, found null"},
        {"{" FILES ", \"training\": {\"schedule\": \"plateau\"}}",
         "c.json: data.validation_source: expected a path, because training.schedule is \"plateau\", found null"},
        {"{" FILES ", \"output\": {\"average_best\": 3}}",
         "c.json: data.validation_source: expected a path, because output.average_best is over 0, found null"},
        {"{" FILES ", \"training\": {\"schedule\": \"linear\", \"halve_every\": 2}}",
         "c.json: training.halve_every: expected 0, because training.schedule is not \"halving\", found 2"},
        {"{" FILES ", \"training\": {\"halve_from\": 4}}",
         "c.json: training.halve_from: expected 0, because training.halve_every is 0, found 4"},
        {"{" FILES ", \"training\": {\"schedule\": \"inverse_sqrt\"}}",
         "c.json: training.warmup: expected at least 1, because training.schedule is \"inverse_sqrt\", found 0"},
        {"{" FILES ", \"vocabulary\": {\"target_size\": 3}}",
         "c.json: vocabulary.target_size: expected 0 or at least 4 (three special entries and a word), found 3"},
        {"{" FILES ", \"vocabulary\": {\"source_size\": 1}}",
         "c.json: vocabulary.source_size: expected 0 or at least 4 (three special entries and a word), found 1"},
        {"{" FILES ", \"vocabulary\": {\"shared\": true, \"source_file\": \"a\", \"target_file\": \"b\"}}",
         "c.json: vocabulary.target_file: expected null or the same as vocabulary.source_file, because "
         "vocabulary.shared is true, found \"b\""},
        {"{" FILES ", \"vocabulary\": {\"shared\": true, \"source_size\": 10, \"target_size\": 20}}",
         "c.json: vocabulary.target_size: expected 0 or the same as vocabulary.source_size, because vocabulary.shared "
         "is true, found 20"},
        {"{" FILES ", \"model\": {\"decoder_layers\": 2, \"readout_state\": \"previous\"}}",
         "c.json: model.readout_state: expected \"current\", because model.decoder_layers is 2, found \"previous\""},
        {"{" FILES ", \"training\": {\"freeze_target\": true}}",
         "c.json: data.target_embeddings: expected a path, because training.freeze_target is true, found null"},
        {"{" FILES ", \"model\": {\"tied_embeddings\": \"both\"}}",
         "c.json: model.tied_embeddings: expected \"none\", \"target\" or \"all\", found the text \"both\""},
        {"{" FILES ", \"model\": {\"tied_embeddings\": \"all\", \"readout\": \"tanh\", \"readout_size\": 256}}",
         "c.json: vocabulary.shared: expected true, because model.tied_embeddings is \"all\", found false"},
        {"{" FILES ", \"vocabulary\": {\"shared\": true}, \"model\": {\"tied_embeddings\": \"all\", \"readout\": "
         "\"tanh\", \"readout_size\": 256, \"source_embedding\": 128}}",
         "c.json: model.source_embedding: expected 256 as model.target_embedding, because model.tied_embeddings is "
         "\"all\", found 128"},
        {"{" FILES ", \"model\": {\"tied_embeddings\": true}}",
         "c.json: model.readout: expected tanh or maxout, because model.tied_embeddings is \"target\", found linear"},
        {"{" FILES ", \"model\": {\"tied_embeddings\": true, \"readout\": \"tanh\"}}",
         "c.json: model.readout_size: expected 256 as model.target_embedding, because model.tied_embeddings is "
         "\"target\", "
         "found 512"},
        {"{" FILES ", \"model\": {\"attention_score\": \"dot\"}}",
         "c.json: model.decoder_hidden: expected 1024, twice model.encoder_hidden, because model.attention_score is "
         "\"dot\" with one head, found 512"},
        {"{" FILES ", \"model\": {\"attention_score\": \"scaled_dot\"}}",
         "c.json: model.decoder_hidden: expected 1024, twice model.encoder_hidden, because model.attention_score is "
         "\"scaled_dot\" with one head, found 512"},
        {"{" FILES ", \"model\": {\"attention_heads\": 3}}",
         "c.json: model.attention_size: expected a multiple of model.attention_heads, 3, found 512"},
        {"{" FILES ", \"model\": {\"attention_score\": \"fixed\", \"attention_heads\": 2}}",
         "c.json: model.attention_heads: expected 1, because model.attention_score is \"fixed\", found 2"},
        {"{" FILES ", \"model\": {\"attention_score\": \"fixed\", \"attention_extent\": \"local_m\"}}",
         "c.json: model.attention_extent: expected \"global\", because model.attention_score is \"fixed\", found a "
         "local one"},
        {"{" FILES ", \"model\": {\"attention_score\": \"fixed\"}, \"training\": {\"coverage\": 1}}",
         "c.json: training.coverage: expected 0, because model.attention_score is \"fixed\", found more"},
        {"{" FILES ", \"model\": {\"order\": \"luong\", \"readout_state\": \"previous\"}}",
         "c.json: model.readout_state: expected \"current\", because model.order is \"luong\", found \"previous\""},
        {"{" FILES ", \"model\": {\"order\": \"conditional\", \"readout_state\": \"previous\"}}",
         "c.json: model.readout_state: expected \"current\", because model.order is \"conditional\", found "
         "\"previous\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i].text, NULL, cases[i].message);
    }
    nmt_config_free(load_good("{" FILES ", \"vocabulary\": {\"shared\": true, \"source_file\": \"a\", \"target_file\": "
                              "\"a\", \"source_size\": 10, \"target_size\": 10}}",
                              NULL));
    nmt_config_free(load_good("{" FILES ", \"vocabulary\": {\"source_file\": \"a\", \"target_size\": 20}}", NULL));
}

static void overrides_replace_values(void **state)
{
    (void)state;
    static const char text[] = "{" FILES ", \"training\": {\"epochs\": 7, \"seed\": 5}}";
    static const char *const overrides[] = {
        "training.epochs=2",          "training.epochs=3",           "training.optimizer=adadelta",
        "validation.metric=\"loss\"", "output.directory=2024",       "data.train_source=a=b c.en",
        "vocabulary.shared=true",     "training.learning_rate=1e-4", "vocabulary.source_file=null"};
    nmt_config_free(load_good(text, NULL));
    nmt_config *config = NULL;
    nmt_error error = {0};
    assert_int_equal(nmt_config_load(&config, "c.json", overrides, sizeof overrides / sizeof *overrides, &error),
                     NMT_OK);
    assert_int_equal(config->training.epochs, 3);
    assert_int_equal(config->training.seed, 5);
    assert_int_equal(config->training.optimizer, OPTIMIZER_ADADELTA);
    assert_string_equal(config->output.directory, "2024");
    assert_string_equal(config->data.train_source, "a=b c.en");
    assert_string_equal(config->data.train_target, "a.zh");
    assert_true(config->vocabulary.shared);
    assert_true(config->training.learning_rate == 1e-4);
    assert_null(config->vocabulary.source_file);
    nmt_config_free(config);
}

static void faults_of_overrides_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *override, *message;
    } cases[] = {
        {"training.epoch=3", "--set: unknown key \"training.epoch\"; the nearest known key is \"training.epochs\""},
        {"epochs=3", "--set: unknown key \"epochs\"; the nearest known key is \"training.epochs\""},
        {"training={}", "--set: unknown key \"training\"; the nearest known key is \"training.rho\""},
        {"training.epochs", "--set: expected KEY=VALUE in UTF-8, found \"training.epochs\""},
        {"output.directory=\xFF", "--set: expected KEY=VALUE in UTF-8, found \"output.directory=\\xFF\""},
        {"training.epochs=three",
         "--set: training.epochs: expected an integer from 1 to 1000000000, found the text \"three\""},
        {"training.epochs=3 4",
         "--set: training.epochs: expected an integer from 1 to 1000000000, found the text \"3 4\""},
        {"dropout.readout=2", "--set: dropout.readout: expected a number from 0 to below 1, found 2"},
        {"output.directory=", "--set: output.directory: expected a path, found the text \"\""},
        {"training.optimizer=1",
         "--set: training.optimizer: expected \"adam\", \"adadelta\" or \"sgd\", found the text \"1\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused("{" FILES "}", cases[i].override, cases[i].message);
    }
    assert_refused("{" FILES ", \"training\": 3}", "training.epochs=3",
                   "c.json: training: expected an object, found 3");
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    nmt_config *config = NULL;
    nmt_error error = {0};
    assert_int_equal(nmt_config_load(&config, "none.json", NULL, 0, &error), NMT_IO);
    assert_non_null(strstr(error.message, "none.json"));
    assert_null(config);
}

/* Another value than the default, one that the key allows. */
static json *another_value(const char *section, const json *value)
{
    const char *key = json_key(value);
    const bool share = strcmp(section, "dropout") == 0 || strcmp(key, "momentum") == 0 ||
                       strcmp(key, "label_smoothing") == 0 || strcmp(key, "final_rate") == 0 ||
                       strcmp(key, "average_decay") == 0 || strcmp(key, "teacher_forcing") == 0 ||
                       (strcmp(section, "segmentation") == 0 && strcmp(key, "coverage") == 0);
    const double number = json_type_of(value) == JSON_NUMBER ? json_number(value) : 0;
    switch (json_type_of(value)) {
    case JSON_BOOLEAN:
        return json_new_boolean(!json_boolean(value));
    case JSON_NUMBER:
        return json_new_number(share ? 0.1 : number != floor(number) ? number / 3 : number + 7);
    case JSON_NULL:
        return json_new_string("a \"path\" \xC3\xA9");
    default:
        return strcmp(key, "directory") == 0 ? json_new_string("elsewhere") : json_copy(value);
    }
}

static json *unlike_default(const json *defaults)
{
    json *root = json_new_object();
    for (const json *section = json_first(defaults); section != NULL; section = json_next(section)) {
        json *changed = json_new_object();
        for (const json *value = json_first(section); value != NULL; value = json_next(value)) {
            assert_true(json_add(changed, json_key(value), another_value(json_key(section), value)));
        }
        if (strcmp(json_key(section), "model") == 0) { /* what tied embeddings require */
            assert_true(json_add(changed, "tied_embeddings", json_new_string("target")));
            assert_true(json_add(changed, "readout", json_new_string("tanh")));
            assert_true(json_add(changed, "readout_size", json_copy(json_get(changed, "target_embedding"))));
            assert_true(json_add(changed, "attention_size", /* what several heads require */
                                 json_new_number(3 * json_number(json_get(changed, "attention_heads")))));
        }
        assert_true(json_add(root, json_key(section), changed));
    }
    return root;
}

static void assert_round_trip(const json *object)
{
    nmt_config *config = NULL, *copy = NULL;
    nmt_error error = {0};
    if (config_from_json(&config, object, "x", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(config_copy(&copy, config, &error), NMT_OK);
    nmt_config_free(config);
    char *text = nmt_config_json(copy), *expected = json_print(object, true);
    assert_string_equal(text, expected);
    nmt_free(text);
    free(expected);
    nmt_config_free(copy);
}

static json *default_object(void)
{
    nmt_config *config = NULL;
    json *empty = json_new_object();
    assert_int_equal(config_from_json(&config, empty, "x", NULL), NMT_OK);
    json *object = config_to_json(config);
    nmt_config_free(config);
    json_free(empty);
    return object;
}

static void the_resolved_configuration_reads_back(void **state)
{
    (void)state;
    json *defaults = default_object(), *other = unlike_default(defaults);
    assert_true(json_count(defaults) >= 7);
    assert_round_trip(defaults);
    assert_round_trip(other);
    json_free(defaults);
    json_free(other);
}

/* What the key was before it had three choices. */
static void tied_embeddings_may_be_a_boolean(void **state)
{
    (void)state;
    static const struct {
        const char *file, *override;
        tied_embeddings expected;
    } cases[] = {
        {"true", NULL, TIED_TARGET},
        {"false", NULL, TIED_NONE},
        {"\"all\"", "model.tied_embeddings=true", TIED_TARGET},
        {"\"all\"", "model.tied_embeddings=false", TIED_NONE},
        {"false", "model.tied_embeddings=all", TIED_ALL},
        {"true", "model.tied_embeddings=\"none\"", TIED_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{" FILES ", \"vocabulary\": {\"shared\": true}, \"model\": {\"readout\": \"tanh\", "
                 "\"readout_size\": 256, \"tied_embeddings\": %s}}",
                 cases[i].file);
        nmt_config *config = load_good(text, cases[i].override);
        assert_int_equal(config->model.tied_embeddings, cases[i].expected);
        nmt_config_free(config);
    }
}

static void every_choice_reads_back(void **state)
{
    (void)state;
    static const char *const choices[][2] = {
        {"model", "{\"gru\": \"reset_before\", \"initial_state\": \"mean\", \"readout\": \"tanh\", \"readout_state\": "
                  "\"previous\"}"},
        {"model", "{\"initial_state\": \"zero\", \"readout\": \"maxout\"}"},
        {"model", "{\"attention_score\": \"fixed\", \"order\": \"luong\"}"},
        {"model", "{\"order\": \"conditional\"}"},
        {"model", "{\"attention_score\": \"dot\", \"attention_heads\": 8, \"attention_extent\": \"local_m\"}"},
        {"model", "{\"attention_extent\": \"local_p\"}"},
        {"initialization", "{\"weights\": \"glorot\", \"recurrent\": \"orthogonal\"}"},
        {"training", "{\"batch_unit\": \"tokens\", \"loss_normalization\": \"sentence\", \"optimizer\": \"sgd\"}"},
        {"training", "{\"optimizer\": \"adadelta\"}"},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        json *object = default_object(), *changes = NULL;
        json *section = json_copy(json_get(object, choices[i][0]));
        assert_int_equal(json_parse(&changes, choices[i][1], strlen(choices[i][1]), "x", NULL), NMT_OK);
        for (const json *each = json_first(changes); each != NULL; each = json_next(each)) {
            assert_true(json_add(section, json_key(each), json_copy(each)));
        }
        assert_true(json_add(object, choices[i][0], section));
        assert_round_trip(object);
        json_free(object);
        json_free(changes);
    }
}

/* The help of one key, whose lines after the first are indented further, as one line with single spaces. */
static void unwrapped(char *line, size_t room, const char *help)
{
    size_t length = 0;
    for (; *help != '\0' && (*help != '\n' || strspn(help + 1, " ") > 2) && length + 1 < room; help++) {
        const bool space = *help == ' ' || *help == '\n';
        if (!space || (length > 0 && line[length - 1] != ' ')) {
            line[length++] = space ? ' ' : *help;
        }
    }
    line[length] = '\0';
}

static void help_explains_every_key(void **state)
{
    (void)state;
    char *help = nmt_config_help(), needle[128];
    json *defaults = default_object();
    size_t count = 0;
    for (const json *section = json_first(defaults); section != NULL; section = json_next(section)) {
        snprintf(needle, sizeof needle, "%s: ", json_key(section));
        assert_non_null(strstr(help, needle));
        for (const json *value = json_first(section); value != NULL; value = json_next(value)) {
            snprintf(needle, sizeof needle, "\n  %s.%s ", json_key(section), json_key(value));
            const char *found = strstr(help, needle);
            assert_non_null(found);
            char text[1024];
            unwrapped(text, sizeof text, found + 1);
            char *fallback = json_print(value, false);
            snprintf(needle, sizeof needle, "; default %s ", fallback);
            assert_true(strstr(text, needle) != NULL || strstr(text, "; required for training ") != NULL);
            assert_int_equal(strspn(strchr(found + 1, '\n') + 1, " "), 31);
            free(fallback);
            count++;
        }
    }
    assert_true(count > 50);
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 100);
    }
    json_free(defaults);
    nmt_free(help);
}

static void nothing_follows_the_locale(void **state)
{
    (void)state;
    char *before = nmt_config_help();
    if (!comma_locale_set(".")) {
        nmt_free(before);
        skip();
    }
    char *after = nmt_config_help();
    nmt_config *config = load_good("{" FILES ", \"dropout\": {\"readout\": 0.25}}", "training.clip_norm=1.5");
    char *text = nmt_config_json(config);
    assert_true(config->dropout.readout == 0.25 && config->training.clip_norm == 1.5);
    assert_non_null(strstr(text, "\"readout\": 0.25,"));
    assert_string_equal(before, after);
    setlocale(LC_ALL, "C");
    assert_int_equal(system("rm -rf de_DE.UTF-8"), 0);
    nmt_free(text);
    nmt_free(before);
    nmt_free(after);
    nmt_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_as_documented),       cmocka_unit_test(values_reach_their_fields),
        cmocka_unit_test(faults_of_a_file_are_named),       cmocka_unit_test(requirements_between_keys_are_checked),
        cmocka_unit_test(overrides_replace_values),         cmocka_unit_test(faults_of_overrides_are_named),
        cmocka_unit_test(a_missing_file_is_named),          cmocka_unit_test(the_resolved_configuration_reads_back),
        cmocka_unit_test(tied_embeddings_may_be_a_boolean), cmocka_unit_test(every_choice_reads_back),
        cmocka_unit_test(help_explains_every_key),          cmocka_unit_test(nothing_follows_the_locale),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
