/* The state of a run, read into a model and an optimizer that it may or may not fit. */
#include <math.h>

#include "fuzz.h"
#include "train/run_state.h"

static nmt_model *make_model(void)
{
    static const char *const words[] = {"<unk>", "<s>", "</s>", "a"};
    static const char text[] = "{\"data\":{\"train_source\":\"source.txt\",\"train_target\":\"target.txt\"},"
                               "\"model\":{\"source_embedding\":1,\"target_embedding\":1,\"encoder_hidden\":1,"
                               "\"decoder_hidden\":1,\"attention_size\":1}}";
    json *object;
    nmt_config *config;
    vocabulary *source, *target;
    nmt_model *model;
    REQUIRE(json_parse(&object, text, strlen(text), "text", NULL) == NMT_OK);
    REQUIRE(config_from_json(&config, object, "text", NULL) == NMT_OK);
    json_free(object);
    REQUIRE(vocabulary_from_words(&source, words, 4, "words", NULL) == NMT_OK);
    REQUIRE(vocabulary_copy(&target, source, NULL) == NMT_OK);
    REQUIRE(model_create(&model, config, source, target, NULL) == NMT_OK);
    return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nmt_model *model;
    static optimizer rule;
    const optimizer_options options = {.kind = OPTIMIZE_ADAM};
    run_state state = {0};
    nmt_error error;
    if (model == NULL) {
        model = make_model();
        REQUIRE(optimizer_create(&rule, &options, model->parameters.size, &error) == NMT_OK);
    }
    best_models kept = {.capacity = 2, .size = model->parameters.size};
    const run_parts parts = {.model = model, .rule = &rule, .kept = &kept, .training_fingerprint = 1};
    if (run_state_load(&state, &parts, fuzz_safetensors(0, data, size), &error) == NMT_OK) {
        for (size_t i = 0; i < model->parameters.size; i++) {
            REQUIRE(isfinite(model->block[i]) && isfinite(rule.slots[0][i]) && isfinite(rule.slots[1][i]));
        }
        REQUIRE(json_type_of(state.history) == JSON_ARRAY && state.epoch > 0);
        for (const json *entry = json_first(state.history); entry != NULL; entry = json_next(entry)) {
            REQUIRE(json_type_of(json_get(entry, "update")) == JSON_NUMBER);
        }
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    best_models_free(&kept);
    json_free(state.history);
    return 0;
}
