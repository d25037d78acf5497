/*
 * The grammar of RFC 8259, read from left to right over the bytes. A check keeps only what later bytes are held
 * against, the keys of the objects that are open; a list of strings keeps its strings.
 */
#include "core/json_grammar.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"

enum {
    DEPTH_LIMIT = 64,
    VALUE_LIMIT = 1 << 20, /* a hundred bytes each once parsed, of two of text: a stranger's file shall not decide */
    NUMBER_LIMIT = 63      /* characters; cJSON reads no more of a number */
};

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

nmt_status json_check(const char *text, size_t length, const char *path, nmt_error *error)
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
