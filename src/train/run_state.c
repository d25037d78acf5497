#include "train/run_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/quote.h"
#include "model/checkpoint.h"

/* Keys that may differ between a run and its continuation; the second list where the schedule does not depend on the
 * run's length. */
static const char *const free_keys[] = {"training.threads", "output.directory"};
static const char *const length_keys[] = {"training.epochs", "training.max_updates"};

typedef struct block_list {
    state_block blocks[2 + OPTIMIZER_SLOTS + BEST_MODELS_MAX + 2]; /* two piece models last */
    char best_names[BEST_MODELS_MAX][32];
    size_t count;
} block_list;

static void list_blocks(block_list *list, const run_parts *parts)
{
    static const char *const names[OPTIMIZER_SLOTS] = {"optimizer.first", "optimizer.second"};
    list->count = 0;
    list->blocks[list->count++] = (state_block){.name = "parameters", .values = parts->model->block};
    for (size_t i = 0; i < optimizer_slot_count(parts->rule); i++) {
        list->blocks[list->count++] = (state_block){.name = names[i], .values = parts->rule->slots[i]};
    }
    if (parts->average != NULL) {
        list->blocks[list->count++] = (state_block){.name = "average", .values = parts->average};
    }
    for (size_t i = 0; i < parts->kept->count; i++) {
        snprintf(list->best_names[i], sizeof list->best_names[i], "best.%zu", i + 1);
        list->blocks[list->count++] = (state_block){.name = list->best_names[i], .values = parts->kept->list[i].block};
    }
    list->count += checkpoint_piece_blocks(list->blocks + list->count, parts->model);
}

static bool add_integer(json *fields, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_add(fields, key, json_new_string(text));
}

/* Of both vocabularies: where they come from files, the training text does not tell them. */
static uint64_t words_fingerprint(const nmt_model *model)
{
    const vocabulary *const sides[] = {model->source_words, model->target_words};
    uint64_t hash = 0;
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < vocabulary_size(sides[side]); i++) {
            const char *word = vocabulary_word(sides[side], (int32_t)i);
            hash = hash_join(hash, hash_bytes(word, strlen(word)));
        }
        hash = hash_join(hash, vocabulary_size(sides[side]));
    }
    return hash;
}

/* One object a model that is kept, best first. */
static json *best_of(const best_models *kept)
{
    json *list = json_new_array();
    for (size_t i = 0; i < kept->count && list != NULL; i++) {
        json *entry = json_new_object();
        const bool complete = entry != NULL && add_integer(entry, "update", kept->list[i].update) &&
                              json_add(entry, "metric", json_new_number(kept->list[i].metric));
        if (!complete) {
            json_free(entry);
        }
        if (!complete || !json_append(list, entry)) {
            json_free(list);
            list = NULL;
        }
    }
    return list;
}

static json *fields_of(const run_state *state, const run_parts *parts)
{
    const nmt_model *model = parts->model;
    json *fields = json_new_object();
    const bool complete =
        fields != NULL && add_integer(fields, "epoch", state->epoch) && add_integer(fields, "batch", state->batch) &&
        add_integer(fields, "update", state->update) && add_integer(fields, "optimizer_step", parts->rule->step) &&
        add_integer(fields, "without_better", state->without_better) &&
        add_integer(fields, "skipped", state->skipped) &&
        add_integer(fields, "skipped_in_a_row", state->skipped_in_a_row) &&
        add_integer(fields, "text", parts->training_fingerprint) &&
        add_integer(fields, "validation_text", parts->validation_fingerprint) &&
        add_integer(fields, "words", words_fingerprint(model)) &&
        json_add(fields, "nats", json_new_number(state->nats)) &&
        json_add(fields, "tokens", json_new_number(state->tokens)) &&
        json_add(fields, "has_best", json_new_boolean(state->has_best)) &&
        json_add(fields, "best", json_new_number(state->best)) &&
        json_add(fields, "finished", json_new_boolean(state->finished)) &&
        add_integer(fields, "reductions", state->reductions) && add_integer(fields, "on_plateau", state->on_plateau) &&
        json_add(fields, "learning_rate", json_new_number(state->learning_rate)) &&
        json_add(fields, "best_models", best_of(parts->kept)) &&
        json_add(fields, "history", json_copy(state->history)) &&
        json_add(fields, "config", config_to_json(model->config));
    if (!complete) {
        json_free(fields);
        return NULL;
    }
    return fields;
}

static nmt_status out_of_memory(const char *path, const char *what, nmt_error *error)
{
    return error_set(error, NMT_NO_MEMORY, "%s: out of memory: %s", quote_path(&(path_quotation){{0}}, path), what);
}

nmt_status run_state_save(const run_state *state, const run_parts *parts, const char *path, nmt_error *error)
{
    block_list list;
    list_blocks(&list, parts);
    json *fields = fields_of(state, parts);
    if (fields == NULL) {
        return out_of_memory(path, "the state of the run", error);
    }
    const nmt_status status =
        checkpoint_save_state(path, fields, list.blocks, list.count, parts->model->parameters.size, error);
    json_free(fields);
    return status;
}

/* ---- loading ---------------------------------------------------------------------------------------------------- */

static bool is_listed(const char *key, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(key, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_free(const char *key, bool length_is_free)
{
    return is_listed(key, free_keys, sizeof free_keys / sizeof *free_keys) ||
           (length_is_free && is_listed(key, length_keys, sizeof length_keys / sizeof *length_keys));
}

/* Appends "key (was A, is B)" for each key of one section that differs; false when out of memory. */
static bool list_differences(char *list, size_t capacity, const char *section, const json *was, const json *is,
                             bool length_is_free)
{
    bool complete = true;
    for (const json *value = json_first(is); value != NULL && complete; value = json_next(value)) {
        char key[128];
        snprintf(key, sizeof key, "%s.%s", section, json_key(value));
        char *before = json_print(json_get(was, json_key(value)), false), *now = json_print(value, false);
        complete = before != NULL && now != NULL;
        if (complete && strcmp(before, now) != 0 && !is_free(key, length_is_free)) {
            const size_t used = strlen(list);
            snprintf(list + used, capacity - used, "%s%s (was %.60s, is %.60s)", used > 0 ? ", " : "", key, before,
                     now);
        }
        free(before);
        free(now);
    }
    return complete;
}

/* Keys that the program which wrote the state did not have yet were at their defaults. */
static json *resolved(const json *object, const char *path, nmt_error *error)
{
    nmt_config *config;
    if (config_from_json(&config, object, path, error) != NMT_OK) {
        return NULL;
    }
    json *whole = config_to_json(config);
    nmt_config_free(config);
    if (whole == NULL) {
        out_of_memory(path, "the configuration", error);
    }
    return whole;
}

static nmt_status compare_configs(const json *was, const json *is, bool length_is_free, const char *path,
                                  nmt_error *error)
{
    char list[700] = "";
    bool complete = is != NULL;
    for (const json *section = complete ? json_first(is) : NULL; section != NULL && complete;
         section = json_next(section)) {
        complete = list_differences(list, sizeof list, json_key(section), json_get(was, json_key(section)), section,
                                    length_is_free);
    }
    if (!complete) {
        return out_of_memory(path, "the configuration", error);
    }
    return list[0] == '\0'
               ? NMT_OK
               : error_set(error, NMT_INVALID,
                           "%s: expected the configuration that the run was started with, found other values: %s",
                           quote_path(&(path_quotation){{0}}, path), list);
}

static nmt_status check_config(const json *object, const nmt_config *config, const char *path, nmt_error *error)
{
    nmt_error own;
    json *was = resolved(object, path, &own);
    if (was == NULL) {
        return error_set(error, own.status, "%s", own.message);
    }
    json *is = config_to_json(config);
    const nmt_status status = compare_configs(was, is, config->training.schedule != SCHEDULE_LINEAR, path, error);
    json_free(is);
    json_free(was);
    return status;
}

/* Fields of the state by name; a missing one is remembered. */
typedef struct field_reader {
    const json *fields;
    const char *missing;
} field_reader;

static const json *take(field_reader *reader, const char *key, json_type type)
{
    const json *value = json_get(reader->fields, key);
    if (value == NULL || json_type_of(value) != type) {
        reader->missing = key;
        return NULL;
    }
    return value;
}

static uint64_t take_integer(field_reader *reader, const char *key)
{
    const json *value = take(reader, key, JSON_STRING);
    if (value == NULL) {
        return 0;
    }
    const char *text = json_string(value);
    errno = 0;
    const uint64_t number = strtoull(text, NULL, 10);
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0' || errno != 0) {
        reader->missing = key;
    }
    return number;
}

static double take_number(field_reader *reader, const char *key)
{
    const json *value = take(reader, key, JSON_NUMBER);
    return value != NULL ? json_number(value) : 0;
}

static bool take_boolean(field_reader *reader, const char *key)
{
    const json *value = take(reader, key, JSON_BOOLEAN);
    return value != NULL && json_boolean(value);
}

/* What older programs did not write: 0 where it is missing. */
static uint64_t take_newer_integer(field_reader *reader, const char *key)
{
    return json_get(reader->fields, key) != NULL ? take_integer(reader, key) : 0;
}

static double take_newer_number(field_reader *reader, const char *key)
{
    return json_get(reader->fields, key) != NULL ? take_number(reader, key) : 0;
}

static nmt_status unusable(const char *path, const char *key, nmt_error *error)
{
    return error_set(error, NMT_INVALID, "%s: expected the state of a run, found no usable \"%s\"",
                     quote_path(&(path_quotation){{0}}, path), key);
}

/* What selection reads of it. */
static void check_history(field_reader *reader, const json *history)
{
    for (const json *entry = json_first(history); entry != NULL; entry = json_next(entry)) {
        const json *update = json_type_of(entry) == JSON_OBJECT ? json_get(entry, "update") : NULL;
        if (update == NULL || json_type_of(update) != JSON_NUMBER) {
            reader->missing = "history";
        }
    }
}

static nmt_status check_texts(const run_parts *parts, uint64_t training, const uint64_t *validation, const char *path,
                              nmt_error *error)
{
    const nmt_config *config = parts->model->config;
    const bool same_training = training == parts->training_fingerprint;
    if (same_training && (validation == NULL || *validation == parts->validation_fingerprint)) {
        return NMT_OK;
    }
    path_quotation from, source, target;
    return error_set(error, NMT_INVALID,
                     "%s: expected the %s text that the run was started with, found other text in %s or %s",
                     quote_path(&from, path), same_training ? "validation" : "training",
                     quote_path(&source, same_training ? config->data.validation_source : config->data.train_source),
                     quote_path(&target, same_training ? config->data.validation_target : config->data.train_target));
}

/* Room for the best models, whose blocks follow. */
static nmt_status take_best(field_reader *reader, best_models *kept, nmt_error *error)
{
    const json *list = json_get(reader->fields, "best_models");
    if (list == NULL) {
        return NMT_OK;
    }
    if (json_type_of(list) != JSON_ARRAY || json_count(list) > kept->capacity) {
        reader->missing = "best_models";
        return NMT_OK;
    }
    for (const json *entry = json_first(list); entry != NULL; entry = json_next(entry)) {
        field_reader one = {entry, NULL};
        TRY(best_models_extend(kept, error));
        best_model *added = &kept->list[kept->count - 1];
        added->update = take_integer(&one, "update");
        added->metric = take_number(&one, "metric");
        if (one.missing != NULL) {
            reader->missing = "best_models";
        }
    }
    return NMT_OK;
}

static nmt_status fill(run_state *state, const run_parts *parts, const json *fields, const char *path, nmt_error *error)
{
    const nmt_model *model = parts->model;
    field_reader reader = {fields, NULL};
    const json *config = take(&reader, "config", JSON_OBJECT);
    const json *history = take(&reader, "history", JSON_ARRAY);
    const uint64_t text = take_integer(&reader, "text"), words = take_integer(&reader, "words");
    const uint64_t validation_text = take_newer_integer(&reader, "validation_text");
    const bool has_validation_text = json_get(fields, "validation_text") != NULL;
    *state = (run_state){.epoch = take_integer(&reader, "epoch"),
                         .batch = take_integer(&reader, "batch"),
                         .update = take_integer(&reader, "update"),
                         .nats = take_number(&reader, "nats"),
                         .tokens = take_number(&reader, "tokens"),
                         .has_best = take_boolean(&reader, "has_best"),
                         .best = take_number(&reader, "best"),
                         .without_better = take_integer(&reader, "without_better"),
                         .skipped = take_integer(&reader, "skipped"),
                         .skipped_in_a_row = take_integer(&reader, "skipped_in_a_row"),
                         .finished = take_boolean(&reader, "finished"),
                         .reductions = take_newer_integer(&reader, "reductions"),
                         .on_plateau = take_newer_integer(&reader, "on_plateau"),
                         .learning_rate = take_newer_number(&reader, "learning_rate")};
    parts->rule->step = take_integer(&reader, "optimizer_step");
    if (history != NULL) {
        check_history(&reader, history);
    }
    if (state->epoch == 0) {
        reader.missing = "epoch";
    }
    if (reader.missing != NULL) {
        return unusable(path, reader.missing, error);
    }
    TRY(check_config(config, model->config, path, error));
    TRY(check_texts(parts, text, has_validation_text ? &validation_text : NULL, path, error));
    if (words != words_fingerprint(model)) {
        return error_set(error, NMT_INVALID,
                         "%s: expected the vocabularies that the run was started with, found other words",
                         quote_path(&(path_quotation){{0}}, path));
    }
    TRY(take_best(&reader, parts->kept, error));
    if (reader.missing != NULL) {
        return unusable(path, reader.missing, error);
    }
    state->history = json_copy(history);
    return state->history != NULL ? NMT_OK : out_of_memory(path, "the history", error);
}

nmt_status run_state_load(run_state *state, const run_parts *parts, const char *path, nmt_error *error)
{
    json *fields;
    TRY(checkpoint_load_fields(path, &fields, error));
    const nmt_status status = fill(state, parts, fields, path, error);
    json_free(fields);
    TRY(status);
    block_list list;
    list_blocks(&list, parts);
    TRY(checkpoint_load_state(path, &fields, list.blocks, list.count, parts->model->parameters.size, error));
    json_free(fields);
    return NMT_OK;
}

nmt_status run_state_load_segmenters(segmenters *both, const nmt_config *config, const char *path, nmt_error *error)
{
    json *fields;
    TRY(checkpoint_load_fields(path, &fields, error));
    const json *object = json_get(fields, "config");
    nmt_status status = NMT_OK;
    if (object != NULL && json_type_of(object) == JSON_OBJECT) {
        status = check_config(object, config, path, error); /* rather than what follows from a difference */
    }
    json_free(fields);
    return status == NMT_OK ? checkpoint_load_segmenters(both, config, path, error) : status;
}
