/*
 * cJSON reads more than JSON (numbers like 01, raw control characters, anything after the value), keeps the first of
 * two equal keys, and reads numbers by the locale. So a text is first held to the grammar, which finds every fault with
 * its line and column, and only a text without fault is handed to cJSON, under the C locale.
 */
#include "core/json.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "core/c_locale.h"
#include "core/json_grammar.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

static nmt_status parse_in_c_locale(json **value, const char *text, size_t length, const char *path, nmt_error *error)
{
    TRY(json_check(text, length, path, error));
    *value = (json *)cJSON_ParseWithLength(text, length);
    if (*value == NULL) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %zu bytes of JSON", length);
    }
    return NMT_OK;
}

nmt_status json_parse(json **value, const char *text, size_t length, const char *path, nmt_error *error)
{
    c_locale scope;
    *value = NULL;
    if (!c_locale_enter(&scope)) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: a locale");
    }
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* a byte-order mark */
        text += 3;
        length -= 3;
    }
    const nmt_status status = parse_in_c_locale(value, text, length, path, error);
    c_locale_leave(&scope);
    return status;
}

void json_free(json *value)
{
    cJSON_Delete((cJSON *)value);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const cJSON *node(const json *value)
{
    return (const cJSON *)value;
}

json_type json_type_of(const json *value)
{
    switch (node(value)->type & 0xFF) {
    case cJSON_False:
    case cJSON_True:
        return JSON_BOOLEAN;
    case cJSON_Number:
        return JSON_NUMBER;
    case cJSON_String:
        return JSON_STRING;
    case cJSON_Array:
        return JSON_ARRAY;
    case cJSON_Object:
        return JSON_OBJECT;
    default:
        return JSON_NULL;
    }
}

const char *json_type_name(json_type type)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",       [JSON_BOOLEAN] = "a boolean", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",    [JSON_OBJECT] = "an object"};
    return names[type];
}

bool json_boolean(const json *value)
{
    return cJSON_IsTrue(node(value));
}

double json_number(const json *value)
{
    return node(value)->valuedouble;
}

const char *json_string(const json *value)
{
    return node(value)->valuestring;
}

const json *json_first(const json *container)
{
    return (const json *)node(container)->child;
}

const json *json_next(const json *value)
{
    return (const json *)node(value)->next;
}

const char *json_key(const json *value)
{
    return node(value)->string;
}

size_t json_count(const json *container)
{
    size_t count = 0;
    for (const json *value = json_first(container); value != NULL; value = json_next(value)) {
        count++;
    }
    return count;
}

const json *json_get(const json *object, const char *key)
{
    return (const json *)cJSON_GetObjectItemCaseSensitive(node(object), key);
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

json *json_new_object(void)
{
    return (json *)cJSON_CreateObject();
}

json *json_new_array(void)
{
    return (json *)cJSON_CreateArray();
}

json *json_new_string(const char *text)
{
    return (json *)cJSON_CreateString(text);
}

json *json_new_number(double number)
{
    return (json *)cJSON_CreateNumber(number);
}

json *json_new_boolean(bool truth)
{
    return (json *)cJSON_CreateBool(truth);
}

json *json_new_null(void)
{
    return (json *)cJSON_CreateNull();
}

json *json_copy(const json *value)
{
    return (json *)cJSON_Duplicate(node(value), true);
}

bool json_add(json *object, const char *key, json *value)
{
    cJSON *container = (cJSON *)object, *item = (cJSON *)value;
    if (container == NULL || item == NULL) {
        cJSON_Delete(item);
        return false;
    }
    if (cJSON_GetObjectItemCaseSensitive(container, key) == NULL) {
        const bool added = cJSON_AddItemToObject(container, key, item);
        if (!added) {
            cJSON_Delete(item);
        }
        return added;
    }
    const bool replaced = cJSON_ReplaceItemInObjectCaseSensitive(container, key, item);
    if (!replaced) {
        cJSON_Delete(item);
    } else if (item->string == NULL) { /* some versions do not look whether they have copied the key */
        cJSON_Delete(cJSON_DetachItemViaPointer(container, item));
        return false;
    }
    return replaced;
}

void json_drop_first(json *array)
{
    cJSON_DeleteItemFromArray((cJSON *)array, 0);
}

bool json_append(json *array, json *value)
{
    if (array == NULL || value == NULL || !cJSON_AddItemToArray((cJSON *)array, (cJSON *)value)) {
        cJSON_Delete((cJSON *)value);
        return false;
    }
    return true;
}
