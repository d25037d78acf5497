#include "data/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <utf8proc.h>

#include "core/memory.h"
#include "core/utf8.h"

static bool is_ascii(const char *text, size_t length)
{
    unsigned char all = 0;
    for (size_t i = 0; i < length; i++) {
        all |= (unsigned char)text[i];
    }
    return all < 0x80;
}

static nmt_status lowercase_ascii(text_buffer *buffer, const char *line, size_t length, nmt_error *error)
{
    TRY(memory_grow(&buffer->bytes, &buffer->capacity, length + 1, 1, "a line of text", error));
    for (size_t i = 0; i < length; i++) {
        const char c = line[i];
        buffer->bytes[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    buffer->bytes[length] = '\0';
    buffer->length = length;
    return NMT_OK;
}

/* Decomposes the line into code points, over the bytes of the buffer, which grows as needed; `*count` is
 * how many there are, or utf8proc's error. Canonical decomposition rarely makes more code points than there were bytes.
 */
static nmt_status decompose(text_buffer *buffer, const char *line, size_t length, utf8proc_option_t form,
                            utf8proc_ssize_t *count, nmt_error *error)
{
    size_t room = length;
    for (;;) {
        const size_t needed = (room + 1) * sizeof(utf8proc_int32_t); /* one more: utf8proc adds a NUL */
        TRY(memory_grow(&buffer->bytes, &buffer->capacity, needed, 1, "a line of text", error));
        *count = utf8proc_decompose((const utf8proc_uint8_t *)line, (utf8proc_ssize_t)length,
                                    (utf8proc_int32_t *)(void *)buffer->bytes, (utf8proc_ssize_t)room, form);
        if (*count <= (utf8proc_ssize_t)room) {
            return NMT_OK;
        }
        room = (size_t)*count;
    }
}

/* The buffer holds the line as code points first and then, over the same bytes, as UTF-8. */
static nmt_status map_unicode(text_buffer *buffer, const char *line, size_t length, text_options options,
                              nmt_error *error)
{
    const utf8proc_option_t form = options.nfc ? UTF8PROC_STABLE | UTF8PROC_COMPOSE : 0;
    utf8proc_ssize_t count;
    TRY(decompose(buffer, line, length, form, &count, error));
    utf8proc_int32_t *code = (utf8proc_int32_t *)(void *)buffer->bytes;
    count = count >= 0 ? utf8proc_normalize_utf32(code, count, form) : count;
    for (utf8proc_ssize_t i = 0; options.lowercase && i < count; i++) {
        code[i] = utf8proc_tolower(code[i]);
    }
    count = count >= 0 ? utf8proc_reencode(code, count, 0) : count;
    if (count < 0) {
        return error_set(error, NMT_INVALID, "a line of %zu bytes cannot be normalised: %s", length,
                         utf8proc_errmsg(count));
    }
    buffer->length = (size_t)count;
    return NMT_OK;
}

nmt_status text_prepare(const char **prepared, size_t *prepared_length, const char *line, size_t length,
                        text_options options, text_buffer *buffer, nmt_error *error)
{
    *prepared = line;
    *prepared_length = length;
    const bool ascii = is_ascii(line, length);
    if (!options.lowercase && (!options.nfc || ascii)) {
        return NMT_OK;
    }
    if (ascii) {
        TRY(lowercase_ascii(buffer, line, length, error));
    } else {
        TRY(map_unicode(buffer, line, length, options, error));
    }
    *prepared = buffer->bytes;
    *prepared_length = buffer->length;
    return NMT_OK;
}

bool text_next_token(const char **cursor, const char *end, const char **token, size_t *length)
{
    const char *c = *cursor;
    while (c < end && (*c == ' ' || *c == '\t')) {
        c++;
    }
    *token = c;
    while (c < end && *c != ' ' && *c != '\t') {
        c++;
    }
    *length = (size_t)(c - *token);
    *cursor = c;
    return *length > 0;
}

size_t text_count_tokens(const char *line, size_t length)
{
    const char *cursor = line, *token;
    size_t size, count = 0;
    while (text_next_token(&cursor, line + length, &token, &size)) {
        count++;
    }
    return count;
}

bool text_next_character(const char **cursor, const char *end, const char **character, size_t *length)
{
    const char *c = *cursor;
    utf8proc_int32_t before = 0, state = 0;
    *character = c;
    while (c < end) {
        utf8proc_int32_t code;
        const utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)c, end - c, &code);
        if (c > *character && (size <= 0 || utf8proc_grapheme_break_stateful(before, code, &state))) {
            break;
        }
        before = code;
        c += size > 0 ? size : 1; /* a byte that is not UTF-8 stands alone */
    }
    *length = (size_t)(c - *character);
    *cursor = c;
    return *length > 0;
}

size_t text_utf8_error(const char *text, size_t length)
{
    return utf8_error(text, length);
}

size_t text_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t code;
        const utf8proc_ssize_t count =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &code);
        /* A terminal shows a byte that is not UTF-8 as one replacement character. */
        width += count > 0 ? (size_t)utf8proc_charwidth(code) : 1;
        at += count > 0 ? (size_t)count : 1;
    }
    return width;
}
