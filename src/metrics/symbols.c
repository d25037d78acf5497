#include "metrics/symbols.h"

#include <stdbool.h>
#include <string.h>

#include "core/memory.h"
#include "core/utf8.h"

enum { LAST_CODE_POINT = 0x10ffff };

typedef struct character {
    uint32_t code;
    size_t length; /* bytes; 0 at the end of the text */
} character;

static character decode(const char *text, size_t available)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* bits of the first byte, by length */
    if (available == 0) {
        return (character){0, 0};
    }
    const size_t length = utf8_character(text, available);
    if (length == 0) {
        return (character){LAST_CODE_POINT + 1 + (uint32_t)(unsigned char)*text, 1};
    }
    uint32_t code = (unsigned char)*text & lead[length];
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | ((unsigned char)text[i] & 0x3fU);
    }
    return (character){code, length};
}

static bool is_ascii_space(uint32_t code)
{
    return code == ' ' || (code >= '\t' && code <= '\r') || (code >= 0x1c && code <= 0x1f);
}

/* What Python's str.isspace() is true for. */
static bool is_space(uint32_t code)
{
    return is_ascii_space(code) || code == 0x85 || code == 0xa0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
           code == 0x3000;
}

static bool is_mark(char byte)
{
    return strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", byte) != NULL && byte != '\0';
}

static nmt_status add(symbols *line, uint32_t symbol, nmt_error *error)
{
    TRY(memory_grow(&line->items, &line->capacity, line->count + 1, sizeof *line->items, "the symbols of a line",
                    error));
    line->items[line->count++] = symbol;
    return NMT_OK;
}

static nmt_status add_word(symbols *line, const char *text, size_t length, word_table *words, nmt_error *error)
{
    int32_t number;
    TRY(word_table_add(words, text, length, &number, error));
    return add(line, (uint32_t)number, error);
}

/* A word, and the mark at its end or else at its beginning, which no byte of another character is taken for. */
static nmt_status add_word_and_mark(symbols *line, const char *text, size_t length, word_table *words, nmt_error *error)
{
    const size_t cut = length == 1 ? 0 : is_mark(text[length - 1]) ? length - 1 : is_mark(text[0]) ? 1 : 0;
    if (cut > 0) {
        TRY(add_word(line, text, cut, words, error));
    }
    return add_word(line, text + cut, length - cut, words, error);
}

/* Steps over the next word; false at the end of the text. */
static bool next_word(const char **cursor, const char *end, bool (*separates)(uint32_t code), const char **word,
                      size_t *length)
{
    character here = decode(*cursor, (size_t)(end - *cursor));
    while (here.length > 0 && separates(here.code)) {
        *cursor += here.length;
        here = decode(*cursor, (size_t)(end - *cursor));
    }
    *word = *cursor;
    while (here.length > 0 && !separates(here.code)) {
        *cursor += here.length;
        here = decode(*cursor, (size_t)(end - *cursor));
    }
    *length = (size_t)(*cursor - *word);
    return *length > 0;
}

nmt_status symbols_set_words(symbols *line, const char *text, word_table *words, nmt_error *error)
{
    const char *end = text + strlen(text);
    const char *word;
    size_t length;
    line->count = 0;
    while (next_word(&text, end, is_ascii_space, &word, &length)) {
        TRY(add_word(line, word, length, words, error));
    }
    return NMT_OK;
}

nmt_status symbols_set_words_and_marks(symbols *line, const char *text, word_table *words, nmt_error *error)
{
    const char *end = text + strlen(text);
    const char *word;
    size_t length;
    line->count = 0;
    while (next_word(&text, end, is_space, &word, &length)) {
        TRY(add_word_and_mark(line, word, length, words, error));
    }
    return NMT_OK;
}

nmt_status symbols_set_characters(symbols *line, const char *text, nmt_error *error)
{
    size_t left = strlen(text);
    line->count = 0;
    for (character here = decode(text, left); here.length > 0; here = decode(text, left)) {
        if (!is_space(here.code)) {
            TRY(add(line, here.code, error));
        }
        text += here.length;
        left -= here.length;
    }
    return NMT_OK;
}
