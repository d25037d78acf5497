#include "model/config_messages.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/quote.h"

/* ---- what is expected and what was found ------------------------------------------------------------------------- */

void phrase_add(phrase *line, const char *format, ...)
{
    const size_t room = sizeof line->text - line->length;
    va_list arguments;
    va_start(arguments, format);
    const int wanted = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    line->length += wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room - 1;
}

void phrase_add_number(phrase *line, double number)
{
    json *value = json_new_number(number);
    char *text = json_print(value, false);
    phrase_add(line, "%s", text != NULL ? text : "?");
    free(text);
    json_free(value);
}

static void say_range(phrase *line, const config_key *key)
{
    phrase_add(line, key->flags & KEY_OVER_MINIMUM ? " above " : " from ");
    phrase_add_number(line, key->minimum);
    phrase_add(line, key->flags & KEY_BELOW_MAXIMUM  ? " to below "
                     : key->flags & KEY_OVER_MINIMUM ? " and up to "
                                                     : " to ");
    phrase_add_number(line, key->maximum);
}

static void say_choices(phrase *line, const choice *choices)
{
    for (const choice *each = choices; each->name != NULL; each++) {
        const char *before = each == choices ? "" : each[1].name == NULL ? " or " : ", ";
        phrase_add(line, "%s\"%s\"", before, each->name);
    }
}

void phrase_add_expected(phrase *line, const config_key *key)
{
    switch (key->type) {
    case KEY_BOOLEAN:
        phrase_add(line, "true or false");
        break;
    case KEY_INTEGER:
        phrase_add(line, "an integer");
        say_range(line, key);
        break;
    case KEY_NUMBER:
        phrase_add(line, "a number");
        say_range(line, key);
        break;
    case KEY_TEXT:
    case KEY_CHOICE:
        if (key->choices != NULL) {
            say_choices(line, key->choices);
        } else {
            phrase_add(line, "%s%s", key->flags & KEY_PATH ? "a path" : "text",
                       key->flags & KEY_NULLABLE ? " or null" : "");
        }
        break;
    }
}

void phrase_add_found(phrase *line, const json *value)
{
    const json_type type = json_type_of(value);
    if (type == JSON_BOOLEAN) {
        phrase_add(line, json_boolean(value) ? "true" : "false");
    } else if (type == JSON_NUMBER) {
        phrase_add_number(line, json_number(value));
    } else if (type == JSON_STRING) {
        phrase_add(line, "the text %s", quote(&(quotation){{0}}, json_string(value), strlen(json_string(value))));
    } else {
        phrase_add(line, "%s", json_type_name(type));
    }
}

nmt_status config_complain(nmt_error *error, const char *origin, const char *format, ...)
{
    char message[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(error, NMT_INVALID, "%s: %s", quote_path(&(path_quotation){{0}}, origin), message);
}

nmt_status config_value_error(const config_key *key, const json *value, const char *origin, nmt_error *error)
{
    phrase expected = {{0}, 0}, found = {{0}, 0};
    phrase_add_expected(&expected, key);
    phrase_add_found(&found, value);
    return config_complain(error, origin, "%s: expected %s, found %s", key->path, expected.text, found.text);
}

/* ---- the nearest known key --------------------------------------------------------------------------------------- */

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions and substitutions of bytes from one to the other (Levenshtein 1966). */
static size_t edit_distance(const char *from, const char *to)
{
    enum { LONGEST = 96 };
    size_t row[LONGEST + 1];
    const size_t from_length = strlen(from), to_length = strlen(to);
    if (from_length > LONGEST || to_length > LONGEST) {
        return from_length + to_length;
    }
    for (size_t j = 0; j <= to_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= from_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= to_length; j++) {
            const size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (from[i - 1] != to[j - 1]));
            diagonal = above;
        }
    }
    return row[to_length];
}

/* A right name in a wrong section is near as well: one step for the section. */
static const char *nearest_key(const char *path)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < config_key_count; i++) {
        const size_t whole = edit_distance(path, config_keys[i].path);
        const size_t part = 1 + edit_distance(config_key_name(path), config_key_name(config_keys[i].path));
        const size_t distance = whole < part ? whole : part;
        if (distance < least) {
            least = distance;
            nearest = config_keys[i].path;
        }
    }
    return nearest;
}

nmt_status config_unknown_key(const char *path, const char *origin, nmt_error *error)
{
    return config_complain(error, origin, "unknown key %s; the nearest known key is \"%s\"",
                           quote(&(quotation){{0}}, path, strlen(path)), nearest_key(path));
}

nmt_status config_unknown_section(const char *name, const char *origin, nmt_error *error)
{
    const char *nearest = nearest_key(name);
    size_t least = edit_distance(name, config_key_name(nearest)) + 1;
    for (size_t i = 0; i < config_section_count; i++) {
        const size_t distance = edit_distance(name, config_sections[i].name);
        if (distance < least) {
            least = distance;
            nearest = config_sections[i].name;
        }
    }
    return config_complain(error, origin, "unknown key %s; the nearest known key is \"%s\"",
                           quote(&(quotation){{0}}, name, strlen(name)), nearest);
}
