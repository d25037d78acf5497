/*
 * JSON values: the one place that knows cJSON. Names are compared with their case; duplicate keys, text behind the
 * value, numbers that are not JSON's, and nesting and length beyond bounds are errors with line and column.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

typedef struct json json; /* one value, with what it holds */

typedef enum json_type { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_type;

/* Parses `length` bytes; `path` is named in messages. The root is the caller's: json_free. */
nmt_status json_parse(json **value, const char *text, size_t length, const char *path, nmt_error *error);
void json_free(json *value);

/* An array of strings, and nothing else, as strings: a long list (a vocabulary) without an object for each of them. */
typedef struct json_strings {
    const char **list; /* [count], into `bytes` */
    size_t count;
    char *bytes;
} json_strings;

/* The caller's: json_strings_free. Errors as json_parse. */
nmt_status json_parse_strings(json_strings *strings, const char *text, size_t length, const char *path,
                              nmt_error *error);
void json_strings_free(json_strings *strings);

json_type json_type_of(const json *value);
const char *json_type_name(json_type type); /* "an object", "a number", ... for messages */

/* Values; the caller has looked at the type. Strings are borrowed. Numbers are doubles: 64-bit integers travel as
 * strings. */
bool json_boolean(const json *value);
double json_number(const json *value);
const char *json_string(const json *value);

/* Members of an object and elements of an array, in order; NULL at the end. json_key is NULL for elements. */
const json *json_first(const json *container);
const json *json_next(const json *value);
const char *json_key(const json *value);
size_t json_count(const json *container);

/* Member by its exact name, or NULL. */
const json *json_get(const json *object, const char *key);

/* Writing. New values are the caller's until added to a container; adding takes ownership, also on failure.
 * All return NULL or false when out of memory. */
json *json_new_object(void);
json *json_new_array(void);
json *json_new_string(const char *text);
json *json_new_number(double number); /* written with as many digits as reading it back needs */
json *json_new_boolean(bool truth);
json *json_new_null(void);
json *json_copy(const json *value);
bool json_add(json *object, const char *key, json *value); /* replaces a member of that name */
bool json_append(json *array, json *value);
void json_drop_first(json *array); /* its first element, if it has one */

/* Text of the value, indented by two spaces or on one line. The caller's: free(). NULL when out of memory. */
char *json_print(const json *value, bool indented);

#endif
