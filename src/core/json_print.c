/* JSON as text. cJSON's own printing rounds numbers to within an ulp and indents with tabs. */
#include "core/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/c_locale.h"
#include "core/text_buffer.h"

typedef struct printer {
    text_buffer text;
    bool indented;
    size_t depth;
} printer;

static void put(printer *out, const char *bytes, size_t count)
{
    text_buffer_add(&out->text, bytes, count);
}

static void put_text(printer *out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_number(printer *out, double number)
{
    char digits[40];
    if (!isfinite(number)) {
        put_text(out, "null"); /* JSON has no such number */
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number) {
            break;
        }
    }
    put_text(out, digits);
}

static void put_escape(printer *out, unsigned char byte)
{
    static const char special[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = strchr(special, byte);
    char escape[8];
    if (found != NULL) {
        snprintf(escape, sizeof escape, "\\%c", letters[found - special]);
    } else {
        snprintf(escape, sizeof escape, "\\u%04x", byte);
    }
    put_text(out, escape);
}

static void put_string(printer *out, const char *text)
{
    put(out, "\"", 1);
    while (*text != '\0') {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\') {
            plain++;
        }
        put(out, text, plain);
        text += plain;
        if (*text != '\0') {
            put_escape(out, (unsigned char)*text++);
        }
    }
    put(out, "\"", 1);
}

static void put_line_break(printer *out)
{
    if (out->indented) {
        put(out, "\n", 1);
        for (size_t i = 0; i < out->depth; i++) {
            put(out, "  ", 2);
        }
    }
}

static void put_value(printer *out, const json *value);

static void put_container(printer *out, const json *container, bool is_object)
{
    const json *value = json_first(container);
    put(out, is_object ? "{" : "[", 1);
    out->depth++;
    for (const json *each = value; each != NULL; each = json_next(each)) {
        put(out, ",", each != value);
        put_line_break(out);
        if (is_object) {
            put_string(out, json_key(each));
            put_text(out, out->indented ? ": " : ":");
        }
        put_value(out, each);
    }
    out->depth--;
    if (value != NULL) {
        put_line_break(out);
    }
    put(out, is_object ? "}" : "]", 1);
}

static void put_value(printer *out, const json *value)
{
    switch (json_type_of(value)) {
    case JSON_NULL:
        put_text(out, "null");
        break;
    case JSON_BOOLEAN:
        put_text(out, json_boolean(value) ? "true" : "false");
        break;
    case JSON_NUMBER:
        put_number(out, json_number(value));
        break;
    case JSON_STRING:
        put_string(out, json_string(value));
        break;
    case JSON_ARRAY:
        put_container(out, value, false);
        break;
    case JSON_OBJECT:
        put_container(out, value, true);
        break;
    }
}

char *json_print(const json *value, bool indented)
{
    c_locale scope;
    printer out = {.indented = indented};
    if (value == NULL || !c_locale_enter(&scope)) {
        return NULL;
    }
    put_value(&out, value);
    c_locale_leave(&scope);
    return text_buffer_end(&out.text);
}
