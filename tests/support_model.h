/* Small models and batches for tests: models from the text of a configuration, batches from lines of numbers. */
#ifndef SUPPORT_MODEL_H
#define SUPPORT_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "data/batch.h"
#include "data/vocabulary.h"
#include "model/model.h"
#include "support_reals.h"

static inline void support_ok(nmt_status status, const nmt_error *error)
{
    if (status != NMT_OK) {
        fail_msg("%s", error->message);
    }
}

/* `<unk> <s> </s> w3 w4 ...`, `size` in all. */
static inline vocabulary *support_vocabulary(size_t size)
{
    char(*text)[24] = calloc(size, sizeof *text);
    const char **list = calloc(size, sizeof *list);
    vocabulary *words;
    nmt_error error;
    for (size_t i = 0; i < size; i++) {
        snprintf(text[i], sizeof text[i], "w%zu", i);
        list[i] = i == TOKEN_UNKNOWN ? "<unk>" : i == TOKEN_START ? "<s>" : i == TOKEN_END ? "</s>" : text[i];
    }
    support_ok(vocabulary_from_words(&words, list, size, "the test", &error), &error);
    free(text);
    free(list);
    return words;
}

/* A model with parameters from N(0, scale^2); the caller's: nmt_model_free. Takes ownership of the configuration. */
static inline nmt_model *support_model_of(nmt_config *config, size_t source_size, size_t target_size, double scale)
{
    nmt_model *model;
    nmt_error error;
    support_ok(model_create(&model, config, support_vocabulary(source_size), support_vocabulary(target_size), &error),
               &error);
    real *values = normal_reals(model->parameters.size, scale, 1);
    memcpy(model->block, values, model->parameters.size * sizeof *values);
    free(values);
    return model;
}

/* The caller's: nmt_config_free. */
static inline nmt_config *support_config(const char *text)
{
    json *object;
    nmt_config *config;
    nmt_error error;
    support_ok(json_parse(&object, text, strlen(text), "the test", &error), &error);
    support_ok(config_from_json(&config, object, "the test", &error), &error);
    json_free(object);
    return config;
}

static inline nmt_model *support_model(const char *config_text, size_t source_size, size_t target_size, double scale)
{
    return support_model_of(support_config(config_text), source_size, target_size, scale);
}

/* The numbers of a text up to `end` or its end; returns how many, and at `*text` where it stopped. */
static inline size_t support_numbers(int32_t *numbers, const char **text, char end)
{
    size_t count = 0;
    while (**text != '\0' && **text != end) {
        char *behind;
        const long number = strtol(*text, &behind, 10);
        if (behind == *text) { /* spaces only */
            (*text)++;
            continue;
        }
        numbers[count++] = (int32_t)number;
        *text = behind;
    }
    return count;
}

enum { SUPPORT_PAIRS = 16, SUPPORT_LENGTH = 128 };

/* Sentence pairs from lines like "3 4 3 | 5 6", source and target; zero-initialise `pairs` before, batch_free after. */
static inline void support_batch(batch *pairs, const char *const *lines, size_t count)
{
    static int32_t numbers[2][SUPPORT_PAIRS][SUPPORT_LENGTH];
    const int32_t *side[2][SUPPORT_PAIRS];
    size_t length[2][SUPPORT_PAIRS];
    nmt_error error;
    assert_true(count <= SUPPORT_PAIRS);
    for (size_t i = 0; i < count; i++) {
        const char *text = lines[i];
        assert_true(strlen(text) < SUPPORT_LENGTH && strchr(text, '|') != NULL);
        length[0][i] = support_numbers(numbers[0][i], &text, '|');
        text++;
        length[1][i] = support_numbers(numbers[1][i], &text, '\0');
        side[0][i] = numbers[0][i];
        side[1][i] = numbers[1][i];
    }
    support_ok(batch_set(pairs, side[0], length[0], side[1], length[1], count, &error), &error);
}

#endif
