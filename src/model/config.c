#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "model/config_messages.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool number_in_range(const config_key *key, double number)
{
    const bool over = key->flags & KEY_OVER_MINIMUM ? number > key->minimum : number >= key->minimum;
    const bool below = key->flags & KEY_BELOW_MAXIMUM ? number < key->maximum : number <= key->maximum;
    return over && below;
}

static bool text_allowed(const config_key *key, const char *text)
{
    if (key->choices == NULL) {
        return *text != '\0';
    }
    for (const choice *each = key->choices; each->name != NULL; each++) {
        if (strcmp(each->name, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool value_allowed(const config_key *key, const json *value)
{
    const json_type type = json_type_of(value);
    switch (key->type) {
    case KEY_BOOLEAN:
        return type == JSON_BOOLEAN;
    case KEY_INTEGER:
        return type == JSON_NUMBER && number_in_range(key, json_number(value)) &&
               floor(json_number(value)) == json_number(value);
    case KEY_NUMBER:
        return type == JSON_NUMBER && number_in_range(key, json_number(value));
    case KEY_TEXT:
    case KEY_CHOICE:
        break;
    }
    if (type == JSON_BOOLEAN) {
        return key->flags & KEY_WAS_BOOLEAN;
    }
    if (type == JSON_NULL) {
        return key->flags & KEY_NULLABLE;
    }
    return type == JSON_STRING && text_allowed(key, json_string(value));
}

static nmt_status read_value(nmt_config *config, const config_key *key, const json *value, const char *origin,
                             nmt_error *error)
{
    if (!value_allowed(key, value)) {
        return config_value_error(key, value, origin, error);
    }
    switch (key->type) {
    case KEY_BOOLEAN:
        *config_boolean(config, key) = json_boolean(value);
        break;
    case KEY_INTEGER:
    case KEY_NUMBER:
        config_set_number(config, key, json_number(value));
        break;
    case KEY_TEXT:
        return config_set_text(config, key, json_type_of(value) == JSON_NULL ? NULL : json_string(value), error);
    case KEY_CHOICE:
        config_set_choice(config, key,
                          json_type_of(value) == JSON_BOOLEAN ? key->choices[json_boolean(value)].name
                                                              : json_string(value));
        break;
    }
    return NMT_OK;
}

static nmt_status set_defaults(nmt_config *config, nmt_error *error)
{
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        switch (key->type) {
        case KEY_BOOLEAN:
            *config_boolean(config, key) = key->number != 0;
            break;
        case KEY_INTEGER:
        case KEY_NUMBER:
            config_set_number(config, key, key->number);
            break;
        case KEY_TEXT:
            TRY(config_set_text(config, key, key->text, error));
            break;
        case KEY_CHOICE:
            config_set_choice(config, key, key->text);
            break;
        }
    }
    return NMT_OK;
}

static nmt_status read_section(nmt_config *config, const json *section, const char *origin, nmt_error *error)
{
    const char *name = json_key(section);
    if (json_type_of(section) != JSON_OBJECT) {
        phrase found = {{0}, 0};
        phrase_add_found(&found, section);
        return config_complain(error, origin, "%s: expected an object, found %s", name, found.text);
    }
    for (const json *value = json_first(section); value != NULL; value = json_next(value)) {
        phrase path = {{0}, 0};
        phrase_add(&path, "%s.%s", name, json_key(value));
        const config_key *key = config_key_find(path.text);
        if (key == NULL) {
            return config_unknown_key(path.text, origin, error);
        }
        TRY(read_value(config, key, value, origin, error));
    }
    return NMT_OK;
}

static bool is_section(const char *name)
{
    for (size_t i = 0; i < config_section_count; i++) {
        if (strcmp(config_sections[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static nmt_status read_object(nmt_config *config, const json *object, const char *origin, nmt_error *error)
{
    if (json_type_of(object) != JSON_OBJECT) {
        return config_complain(error, origin, "expected an object, found %s", json_type_name(json_type_of(object)));
    }
    for (const json *section = json_first(object); section != NULL; section = json_next(section)) {
        if (!is_section(json_key(section))) {
            return config_unknown_section(json_key(section), origin, error);
        }
        TRY(read_section(config, section, origin, error));
    }
    return NMT_OK;
}

static nmt_status fill(nmt_config *config, const json *object, const char *origin, nmt_error *error)
{
    TRY(set_defaults(config, error));
    TRY(read_object(config, object, origin, error));
    return config_check(config, origin, error);
}

nmt_status config_from_json(nmt_config **config, const json *object, const char *path, nmt_error *error)
{
    *config = NULL;
    nmt_config *made;
    TRY(memory_new(&made, 1, sizeof *made, "the configuration", error));
    const nmt_status status = fill(made, object, path, error);
    if (status != NMT_OK) {
        nmt_config_free(made);
        return status;
    }
    *config = made;
    return NMT_OK;
}

nmt_status config_check_training(const nmt_config *config, const char *path, nmt_error *error)
{
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        if (key->flags & KEY_FOR_TRAINING && *config_text(config, key) == NULL) {
            return config_complain(error, path, "%s: expected a path, required for training, found nothing", key->path);
        }
    }
    return NMT_OK;
}

nmt_status config_copy(nmt_config **copy, const nmt_config *config, nmt_error *error)
{
    *copy = NULL;
    nmt_config *made;
    TRY(memory_new(&made, 1, sizeof *made, "the configuration", error));
    *made = *config;
    nmt_status status = NMT_OK;
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        if (key->type == KEY_TEXT) {
            *config_text(made, key) = NULL;
            if (status == NMT_OK) {
                status = config_set_text(made, key, *config_text(config, key), error);
            }
        }
    }
    if (status != NMT_OK) {
        nmt_config_free(made);
        return status;
    }
    *copy = made;
    return NMT_OK;
}

void nmt_config_free(nmt_config *config)
{
    if (config == NULL) {
        return;
    }
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        if (key->type == KEY_TEXT) {
            free(*config_text(config, key));
        }
    }
    free(config);
}

/* ---- overrides --------------------------------------------------------------------------------------------------- */

static const char override_origin[] = "--set";

/* The value of an override: JSON, or else the bare word; where a key wants text, only a JSON string or null is read as
 * JSON, so that a directory may be called 2024. NULL when out of memory. */
static json *override_value(const config_key *key, const char *text)
{
    json *value = NULL;
    const nmt_status status = json_parse(&value, text, strlen(text), override_origin, NULL);
    if (status == NMT_NO_MEMORY) {
        return NULL;
    }
    if (status == NMT_OK) {
        const json_type type = json_type_of(value);
        const bool wants_text = key->type == KEY_TEXT || key->type == KEY_CHOICE;
        const bool is_switch = type == JSON_BOOLEAN && key->flags & KEY_WAS_BOOLEAN;
        if (!wants_text || type == JSON_STRING || type == JSON_NULL || is_switch) {
            return value;
        }
        json_free(value);
    }
    return json_new_string(text);
}

/* Replaces the value of `key` in the tree. A section that is no object stays: reading the tree reports it. */
static nmt_status replace(json *root, const config_key *key, json *value, nmt_error *error)
{
    phrase section = {{0}, 0};
    phrase_add(&section, "%.*s", (int)(config_key_name(key->path) - key->path - 1), key->path);
    const json *old = json_get(root, section.text);
    if (old != NULL && json_type_of(old) != JSON_OBJECT) {
        json_free(value);
        return NMT_OK;
    }
    json *fresh = old != NULL ? json_copy(old) : json_new_object();
    const bool added = json_add(fresh, config_key_name(key->path), value);
    if (!added) {
        json_free(fresh);
    }
    if (!added || !json_add(root, section.text, fresh)) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %s %s", override_origin, key->path);
    }
    return NMT_OK;
}

static nmt_status apply_override(json *root, const char *text, nmt_error *error)
{
    quotation shown;
    const char *equals = strchr(text, '=');
    if (equals == NULL || utf8_error(text, strlen(text)) < strlen(text)) {
        return config_complain(error, override_origin, "expected KEY=VALUE in UTF-8, found %s",
                               quote(&shown, text, strlen(text)));
    }
    phrase path = {{0}, 0};
    phrase_add(&path, "%.*s", equals - text < 256 ? (int)(equals - text) : 256, text);
    const config_key *key = config_key_find(path.text);
    if (key == NULL) {
        return config_unknown_key(path.text, override_origin, error);
    }
    json *value = override_value(key, equals + 1);
    if (value == NULL) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %s %s", override_origin, key->path);
    }
    if (!value_allowed(key, value)) {
        const nmt_status status = config_value_error(key, value, override_origin, error);
        json_free(value);
        return status;
    }
    return replace(root, key, value, error);
}

static nmt_status load(nmt_config **config, json *root, const char *path, const char *const *overrides,
                       size_t override_count, nmt_error *error)
{
    if (json_type_of(root) == JSON_OBJECT) {
        for (size_t i = 0; i < override_count; i++) {
            TRY(apply_override(root, overrides[i], error));
        }
    }
    TRY(config_from_json(config, root, path, error));
    const nmt_status status = config_check_training(*config, path, error);
    if (status != NMT_OK) {
        nmt_config_free(*config);
        *config = NULL;
    }
    return status;
}

nmt_status nmt_config_load(nmt_config **config, const char *path, const char *const *overrides, size_t override_count,
                           nmt_error *error)
{
    const size_t limit = (size_t)1 << 24;
    char *text;
    size_t length;
    json *root;
    *config = NULL;
    TRY(io_read_file(&text, &length, path, limit, error));
    nmt_status status = json_parse(&root, text, length, path, error);
    free(text);
    if (status == NMT_OK) {
        status = load(config, root, path, overrides, override_count, error);
    }
    json_free(root);
    return status;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static json *value_to_json(const nmt_config *config, const config_key *key)
{
    switch (key->type) {
    case KEY_BOOLEAN:
        return json_new_boolean(*config_boolean(config, key));
    case KEY_INTEGER:
    case KEY_NUMBER:
        return json_new_number(config_number(config, key));
    case KEY_TEXT:
        return *config_text(config, key) != NULL ? json_new_string(*config_text(config, key)) : json_new_null();
    case KEY_CHOICE:
        return json_new_string(config_choice(config, key));
    }
    return NULL;
}

static json *section_to_json(const nmt_config *config, const char *name)
{
    json *object = json_new_object();
    for (const config_key *key = config_keys; key < config_keys + config_key_count && object != NULL; key++) {
        if (config_key_is_in(key, name, strlen(name)) &&
            !json_add(object, config_key_name(key->path), value_to_json(config, key))) {
            json_free(object);
            object = NULL;
        }
    }
    return object;
}

json *config_to_json(const nmt_config *config)
{
    json *root = json_new_object();
    for (size_t i = 0; i < config_section_count; i++) {
        if (!json_add(root, config_sections[i].name, section_to_json(config, config_sections[i].name))) {
            json_free(root);
            return NULL;
        }
    }
    return root;
}

char *nmt_config_json(const nmt_config *config)
{
    json *value = config_to_json(config);
    char *text = json_print(value, true);
    json_free(value);
    return text;
}

void nmt_free(void *text)
{
    free(text);
}
