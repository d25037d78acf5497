/* What is wrong with a configuration, in words: what was expected, what was found, and which key is near. */
#ifndef MODEL_CONFIG_MESSAGES_H
#define MODEL_CONFIG_MESSAGES_H

#include <stddef.h>

#include "core/error.h"
#include "core/json.h"
#include "model/config_keys.h"

/* A line of a message or of the help text; what does not fit is cut. */
typedef struct phrase {
    char text[512];
    size_t length;
} phrase;

void phrase_add(phrase *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number as JSON writes it, whatever the locale. */
void phrase_add_number(phrase *line, double number);

/* "an integer from 1 to 64", the values of the key that are allowed. */
void phrase_add_expected(phrase *line, const config_key *key);

void phrase_add_found(phrase *line, const json *value);

/* NMT_INVALID with a message that begins with `origin`, the file or "--set". */
nmt_status config_complain(nmt_error *error, const char *origin, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

nmt_status config_value_error(const config_key *key, const json *value, const char *origin, nmt_error *error);

/* Both name the nearest known key. */
nmt_status config_unknown_key(const char *path, const char *origin, nmt_error *error);

/* A name at the first level that is no section: meant is a section, or a key that lost its section. */
nmt_status config_unknown_section(const char *name, const char *origin, nmt_error *error);

#endif
