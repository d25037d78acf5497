/* A model file: what is accepted has finite parameters and translates. */
#include <math.h>
#include <nmt/translate.h>

#include "fuzz.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const line = "a b <s> a";
    nmt_model *model;
    nmt_translation translation;
    nmt_error error;
    if (nmt_model_load(&model, fuzz_safetensors(0, data, size), &error) != NMT_OK) {
        REQUIRE(model == NULL && error.message[0] != '\0');
        return 0;
    }
    REQUIRE(model->parameters.size * sizeof(float) < size);
    for (size_t i = 0; i < model->parameters.size; i++) {
        REQUIRE(isfinite(model->block[i]));
    }
    const nmt_translate_options options = {.max_length_ratio = 1, .max_length_extra = 1, .alignment = true};
    const nmt_status status = nmt_translate(model, &line, 1, &options, &translation, &error);
    REQUIRE(status == NMT_OK || status == NMT_NOT_FINITE);
    if (status == NMT_OK) {
        nmt_translation_clear(&translation);
    }
    nmt_model_free(model);
    return 0;
}
