/*
 * cJSON reads more than JSON (numbers like 01, raw control characters, anything after the value), keeps the first of
 * two equal keys, and reads and prints numbers by the locale. So a text is first scanned by the grammar of RFC 8259,
 * which finds every fault with its line and column, and only a text without fault is handed to cJSON, under the C
 * locale. Printing is done here: cJSON's own rounds numbers to within an ulp and indents with tabs.
 */
#include "core/json.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"
#include "core/text_buffer.h"
#include "core/utf8.h"

enum {
    DEPTH_LIMIT = 64,
    VALUE_LIMIT =
        1 << 20,      /* a hundred bytes each once parsed, out of two of text: a stranger's file shall not decide */
    NUMBER_LIMIT = 63 /* characters; cJSON reads no more of a number */
};

/* ---- the C locale for numbers, on this thread only ----------------------------------------------------------------
 */

typedef struct number_locale {
    locale_t c, before;
} number_locale;

static bool number_locale_enter(number_locale *scope)
{
    scope->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (scope->c == (locale_t)0) {
        return false;
    }
    scope->before = uselocale(scope->c);
    return true;
}

static void number_locale_leave(number_locale *scope)
{
    uselocale(scope->before);
    freelocale(scope->c);
}

/* ---- scanning ---------------------------------------------------------------------------------------------------- */

/* A key of an object that is still open. */
typedef struct scanned_key {
    size_t start, length; /* of its name, escapes resolved, in scanner.names */
    size_t offset;        /* of its opening quote in the text */
    const char *name;     /* set for sorting only: names may move while it grows */
} scanned_key;

typedef struct scanner {
    const char *text;
    size_t length, at;
    const char *path;
    nmt_error *error;
    scanned_key *keys;
    size_t key_count, key_capacity;
    char *names;
    size_t names_length, names_capacity;
    size_t values;
    size_t current[DEPTH_LIMIT]; /* for each open object the number of its current key, SIZE_MAX for an array */
    size_t depth;
} scanner;

static nmt_status scan_value(scanner *scan);

static size_t line_of(const scanner *scan, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset; i++) {
        line += scan->text[i] == '\n';
    }
    return line;
}

/* In characters, from 1. */
static size_t column_of(const scanner *scan, size_t offset)
{
    size_t column = 1;
    for (size_t i = offset; i > 0 && scan->text[i - 1] != '\n'; i--) {
        column += ((unsigned char)scan->text[i - 1] & 0xC0) != 0x80;
    }
    return column;
}

__attribute__((format(printf, 3, 4))) static nmt_status fault(const scanner *scan, size_t offset, const char *format,
                                                              ...)
{
    char message[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(scan->error, NMT_INVALID, "%s:%zu:%zu: %s", quote_path(&(path_quotation){{0}}, scan->path),
                     line_of(scan, offset), column_of(scan, offset), message);
}

/* Fault at the cursor: something else was expected. */
static nmt_status unexpected(const scanner *scan, const char *expected)
{
    if (scan->at == scan->length) {
        return fault(scan, scan->at, "expected %s, found the end of the text", expected);
    }
    size_t count = utf8_character(scan->text + scan->at, scan->length - scan->at);
    return fault(scan, scan->at, "expected %s, found %s", expected,
                 quote(&(quotation){{0}}, scan->text + scan->at, count > 0 ? count : 1));
}

static int peek(const scanner *scan)
{
    return scan->at < scan->length ? (unsigned char)scan->text[scan->at] : EOF;
}

static void skip_space(scanner *scan)
{
    int byte;
    while (byte = peek(scan), byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        scan->at++;
    }
}

static bool is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t skip_digits(scanner *scan)
{
    const size_t start = scan->at;
    while (is_digit(peek(scan))) {
        scan->at++;
    }
    return scan->at - start;
}

static nmt_status check_number(const scanner *scan, size_t start)
{
    const size_t length = scan->at - start;
    char digits[NUMBER_LIMIT + 1] = "";
    if (length > NUMBER_LIMIT) {
        return fault(scan, start, "expected a number of at most %d characters, found %zu", NUMBER_LIMIT, length);
    }
    memcpy(digits, scan->text + start, length);
    if (!isfinite(strtod(digits, NULL))) {
        return fault(scan, start, "expected a number below 1.8e308, found %s", digits);
    }
    return NMT_OK;
}

static nmt_status scan_number(scanner *scan)
{
    const size_t start = scan->at;
    scan->at += peek(scan) == '-';
    if (peek(scan) == '0') {
        scan->at++;
        if (is_digit(peek(scan))) {
            return fault(scan, start, "expected a number, found one with a leading zero");
        }
    } else if (skip_digits(scan) == 0) {
        return unexpected(scan, "a digit");
    }
    if (peek(scan) == '.') {
        scan->at++;
        if (skip_digits(scan) == 0) {
            return unexpected(scan, "a digit after the decimal point");
        }
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        scan->at++;
        scan->at += peek(scan) == '+' || peek(scan) == '-';
        if (skip_digits(scan) == 0) {
            return unexpected(scan, "a digit in the exponent");
        }
    }
    return check_number(scan, start);
}

static nmt_status scan_word(scanner *scan, const char *word)
{
    for (const char *letter = word; *letter != '\0'; letter++) {
        if (peek(scan) != *letter) {
            return unexpected(scan, word);
        }
        scan->at++;
    }
    return NMT_OK;
}

/* Appends to the names of the open keys. */
static nmt_status keep(scanner *scan, const char *bytes, size_t count)
{
    TRY(memory_grow(&scan->names, &scan->names_capacity, scan->names_length + count, 1, "the keys of a JSON text",
                    scan->error));
    memcpy(scan->names + scan->names_length, bytes, count);
    scan->names_length += count;
    return NMT_OK;
}

static nmt_status keep_code_point(scanner *scan, unsigned code)
{
    char bytes[4];
    size_t count = 0;
    if (code < 0x80) {
        bytes[count++] = (char)code;
    } else if (code < 0x800) {
        bytes[count++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[count++] = (char)(0xE0 | code >> 12);
        bytes[count++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[count++] = (char)(0xF0 | code >> 18);
        bytes[count++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[count++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80) {
        bytes[count++] = (char)(0x80 | (code & 0x3F));
    }
    return keep(scan, bytes, count);
}

/* The four hexadecimal digits behind \u. */
static nmt_status scan_hexadecimal(scanner *scan, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const int byte = peek(scan);
        const bool letter = (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
        if (!is_digit(byte) && !letter) {
            return unexpected(scan, "four hexadecimal digits after \\u");
        }
        *code = *code * 16 + (unsigned)(is_digit(byte) ? byte - '0' : (byte | 0x20) - 'a' + 10);
        scan->at++;
    }
    return NMT_OK;
}

/* Behind `\u`; characters over U+FFFF are written as two escapes, a high and a low surrogate. */
static nmt_status scan_unicode_escape(scanner *scan, size_t start, bool is_key)
{
    unsigned code;
    TRY(scan_hexadecimal(scan, &code));
    if (code == 0) {
        return fault(scan, start, "expected a character, found \\u0000, which no text here may hold");
    }
    if (code >= 0xD800 && code <= 0xDFFF) {
        unsigned low = 0;
        if (code < 0xDC00 && peek(scan) == '\\' && scan->at + 1 < scan->length && scan->text[scan->at + 1] == 'u') {
            scan->at += 2;
            TRY(scan_hexadecimal(scan, &low));
        }
        if (low < 0xDC00 || low > 0xDFFF) {
            return fault(scan, start, "expected a pair of surrogates, found \\u%04X alone", code);
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    return is_key ? keep_code_point(scan, code) : NMT_OK;
}

static nmt_status scan_escape(scanner *scan, bool is_key)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const size_t start = scan->at++;
    const int byte = peek(scan);
    if (byte == 'u') {
        scan->at++;
        return scan_unicode_escape(scan, start, is_key);
    }
    const char *found = byte > 0 ? strchr(letters, byte) : NULL;
    if (found == NULL) {
        return unexpected(scan, "one of \" \\ / b f n r t u after \\");
    }
    scan->at++;
    return is_key ? keep(scan, &meant[found - letters], 1) : NMT_OK;
}

/* A string; the name of a key is kept, escapes resolved. */
static nmt_status scan_string(scanner *scan, bool is_key)
{
    const size_t start = scan->at++;
    for (;;) {
        const int byte = peek(scan);
        if (byte == EOF) {
            return fault(scan, start, "expected the closing quote of this string, found the end of the text");
        }
        if (byte == '"') {
            scan->at++;
            return NMT_OK;
        }
        if (byte == '\\') {
            TRY(scan_escape(scan, is_key));
            continue;
        }
        if (byte < 0x20) {
            return fault(scan, scan->at, "expected control character 0x%02X of a string to be escaped", (unsigned)byte);
        }
        const size_t count = utf8_character(scan->text + scan->at, scan->length - scan->at);
        if (count == 0) {
            return fault(scan, scan->at, "expected UTF-8, found byte 0x%02X", (unsigned)byte);
        }
        if (is_key) {
            TRY(keep(scan, scan->text + scan->at, count));
        }
        scan->at += count;
    }
}

/* `separator` or the closing bracket behind an element; `*more` says which. */
static nmt_status scan_separator(scanner *scan, char closing, bool *more)
{
    skip_space(scan);
    const int byte = peek(scan);
    if (byte != ',' && byte != closing) {
        return unexpected(scan, closing == '}' ? "\",\" or \"}\"" : "\",\" or \"]\"");
    }
    scan->at++;
    *more = byte == ',';
    skip_space(scan);
    return NMT_OK;
}

static nmt_status open_container(scanner *scan, bool *empty, char closing)
{
    if (scan->depth == DEPTH_LIMIT) {
        return fault(scan, scan->at, "expected at most %d levels of nesting, found more", DEPTH_LIMIT);
    }
    scan->current[scan->depth++] = SIZE_MAX;
    scan->at++;
    skip_space(scan);
    *empty = peek(scan) == closing;
    scan->at += *empty;
    return NMT_OK;
}

static nmt_status scan_array(scanner *scan)
{
    bool empty = false;
    TRY(open_container(scan, &empty, ']'));
    bool more = !empty;
    while (more) {
        TRY(scan_value(scan));
        TRY(scan_separator(scan, ']', &more));
    }
    scan->depth--;
    return NMT_OK;
}

static nmt_status scan_key(scanner *scan)
{
    if (peek(scan) != '"') {
        return unexpected(scan, "a key in double quotes");
    }
    TRY(memory_grow(&scan->keys, &scan->key_capacity, scan->key_count + 1, sizeof *scan->keys,
                    "the keys of a JSON text", scan->error));
    scan->keys[scan->key_count] = (scanned_key){.start = scan->names_length, .offset = scan->at};
    scan->current[scan->depth - 1] = scan->key_count++;
    TRY(scan_string(scan, true));
    scanned_key *key = &scan->keys[scan->key_count - 1];
    key->length = scan->names_length - key->start;
    skip_space(scan);
    if (peek(scan) != ':') {
        return unexpected(scan, "\":\" after a key");
    }
    scan->at++;
    skip_space(scan);
    return NMT_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const scanned_key *left = a, *right = b;
    const size_t shorter = left->length < right->length ? left->length : right->length;
    const int order = memcmp(left->name, right->name, shorter);
    if (order != 0) {
        return order;
    }
    if (left->length != right->length) {
        return left->length < right->length ? -1 : 1;
    }
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static bool same_key(const scanned_key *a, const scanned_key *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* Bytes of a key; where no key had a byte yet there is no array to point into. */
static const char *name_of(const scanner *scan, const scanned_key *key)
{
    return key->length > 0 ? scan->names + key->start : "";
}

/* "training.epochs": the keys of the objects around this one, and `key`. */
static nmt_status duplicate_fault(const scanner *scan, const scanned_key *key, const scanned_key *first)
{
    char path[512];
    size_t used = 0;
    for (size_t i = 0; i + 1 < scan->depth; i++) {
        if (scan->current[i] != SIZE_MAX && used + 1 < sizeof path) {
            const scanned_key *outer = &scan->keys[scan->current[i]];
            const int length = outer->length < 128 ? (int)outer->length : 128;
            used += (size_t)snprintf(path + used, sizeof path - used, "%.*s.", length, name_of(scan, outer));
        }
    }
    if (used < sizeof path) {
        const int length = key->length < 128 ? (int)key->length : 128;
        snprintf(path + used, sizeof path - used, "%.*s", length, key->name);
    }
    return fault(scan, key->offset, "expected each key once, found %s again; it stands on line %zu already",
                 quote(&(quotation){{0}}, path, strlen(path)), line_of(scan, first->offset));
}

/* Closes an object whose keys start at `base`: the first key that repeats another is a fault. Sorting keeps this near
 * linear. */
static nmt_status close_object(scanner *scan, size_t base)
{
    const size_t count = scan->key_count - base;
    /* Before the first key of all there is no array to point into. */
    scanned_key *keys = count > 0 ? scan->keys + base : NULL;
    const scanned_key *worst = NULL, *first = NULL;
    for (size_t i = 0; i < count; i++) {
        keys[i].name = name_of(scan, &keys[i]);
    }
    if (count > 1) {
        qsort(keys, count, sizeof *keys, compare_keys);
    }
    for (size_t i = 1; i < count; i++) {
        if (same_key(&keys[i - 1], &keys[i]) && (worst == NULL || keys[i].offset < worst->offset)) {
            worst = &keys[i];
            first = &keys[i - 1];
        }
    }
    if (worst != NULL) {
        return duplicate_fault(scan, worst, first);
    }
    scan->key_count = base;
    scan->depth--;
    return NMT_OK;
}

static nmt_status scan_object(scanner *scan)
{
    const size_t base = scan->key_count, names = scan->names_length;
    bool empty = false;
    TRY(open_container(scan, &empty, '}'));
    bool more = !empty;
    while (more) {
        TRY(scan_key(scan));
        TRY(scan_value(scan));
        TRY(scan_separator(scan, '}', &more));
    }
    TRY(close_object(scan, base));
    scan->names_length = names;
    return NMT_OK;
}

static nmt_status scan_value(scanner *scan)
{
    if (++scan->values > VALUE_LIMIT) {
        return fault(scan, scan->at, "expected at most %d values, found more", VALUE_LIMIT);
    }
    switch (peek(scan)) {
    case '{':
        return scan_object(scan);
    case '[':
        return scan_array(scan);
    case '"':
        return scan_string(scan, false);
    case 't':
        return scan_word(scan, "true");
    case 'f':
        return scan_word(scan, "false");
    case 'n':
        return scan_word(scan, "null");
    default:
        if (peek(scan) == '-' || is_digit(peek(scan))) {
            return scan_number(scan);
        }
        return unexpected(scan, "a value");
    }
}

static nmt_status scan_end(scanner *scan)
{
    skip_space(scan);
    return scan->at < scan->length ? unexpected(scan, "the end of the text after the value") : NMT_OK;
}

static nmt_status scan_text(const char *text, size_t length, const char *path, nmt_error *error)
{
    scanner scan = {.text = text, .length = length, .path = path, .error = error};
    skip_space(&scan);
    nmt_status status = scan_value(&scan);
    if (status == NMT_OK) {
        status = scan_end(&scan);
    }
    free(scan.keys);
    free(scan.names);
    return status;
}

/* ---- a list of strings ------------------------------------------------------------------------------------------- */

/* Keeps them one behind the other, each with a NUL. */
static nmt_status scan_strings(scanner *scan, size_t *count)
{
    bool empty = false;
    skip_space(scan);
    if (peek(scan) != '[') {
        return unexpected(scan, "an array of strings");
    }
    TRY(open_container(scan, &empty, ']'));
    for (bool more = !empty; more; ++*count) {
        if (peek(scan) != '"') {
            return unexpected(scan, "a string");
        }
        TRY(scan_string(scan, true));
        TRY(keep(scan, "", 1));
        TRY(scan_separator(scan, ']', &more));
    }
    return scan_end(scan);
}

nmt_status json_parse_strings(json_strings *strings, const char *text, size_t length, const char *path,
                              nmt_error *error)
{
    scanner scan = {.text = text, .length = length, .path = path, .error = error};
    *strings = (json_strings){0};
    nmt_status status = scan_strings(&scan, &strings->count);
    strings->bytes = scan.names;
    if (status == NMT_OK) {
        status = memory_new(&strings->list, strings->count, sizeof *strings->list, "a list of strings", error);
    }
    if (status != NMT_OK) {
        json_strings_free(strings);
        return status;
    }
    const char *next = strings->bytes;
    for (size_t i = 0; i < strings->count; i++) {
        strings->list[i] = next;
        next += strlen(next) + 1;
    }
    return NMT_OK;
}

void json_strings_free(json_strings *strings)
{
    free(strings->list);
    free(strings->bytes);
    *strings = (json_strings){0};
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static nmt_status parse_in_c_locale(json **value, const char *text, size_t length, const char *path, nmt_error *error)
{
    TRY(scan_text(text, length, path, error));
    *value = (json *)cJSON_ParseWithLength(text, length);
    if (*value == NULL) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: %zu bytes of JSON", length);
    }
    return NMT_OK;
}

nmt_status json_parse(json **value, const char *text, size_t length, const char *path, nmt_error *error)
{
    number_locale scope;
    *value = NULL;
    if (!number_locale_enter(&scope)) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: a locale");
    }
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* a byte-order mark */
        text += 3;
        length -= 3;
    }
    const nmt_status status = parse_in_c_locale(value, text, length, path, error);
    number_locale_leave(&scope);
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

bool json_append(json *array, json *value)
{
    if (array == NULL || value == NULL || !cJSON_AddItemToArray((cJSON *)array, (cJSON *)value)) {
        cJSON_Delete((cJSON *)value);
        return false;
    }
    return true;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

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
    number_locale scope;
    printer out = {.indented = indented};
    if (value == NULL || !number_locale_enter(&scope)) {
        return NULL;
    }
    put_value(&out, value);
    number_locale_leave(&scope);
    return text_buffer_end(&out.text);
}
