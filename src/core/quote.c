#include "core/quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

enum { SHOWN_CAPACITY = 8 }; /* one character, or its escape, with a NUL */

static unsigned code_point(const unsigned char *byte, size_t count)
{
    static const unsigned first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned code = byte[0] & first_bits[count];
    for (size_t i = 1; i < count; i++) {
        code = code << 6 | (byte[i] & 0x3f);
    }
    return code;
}

/* Controls, line and paragraph separator, and the marks that reorder what stands beside them. */
static bool is_obeyed(unsigned code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Writes the character at `text` as it should be seen and returns how many bytes of text it was. */
static size_t show(char shown[SHOWN_CAPACITY], const char *text, size_t length, bool quoted)
{
    const size_t count = utf8_character(text, length);
    const unsigned char *byte = (const unsigned char *)text;
    if (count == 0) {
        snprintf(shown, SHOWN_CAPACITY, "\\x%02X", byte[0]);
        return 1;
    }
    const unsigned code = code_point(byte, count);
    if (is_obeyed(code)) {
        snprintf(shown, SHOWN_CAPACITY, code < 0x80 ? "\\x%02X" : "\\u%04X", code);
    } else if (quoted && (code == '"' || code == '\\')) {
        snprintf(shown, SHOWN_CAPACITY, "\\%c", (char)code);
    } else {
        memcpy(shown, text, count);
        shown[count] = '\0';
    }
    return count;
}

static void escape(char *buffer, size_t capacity, const char *text, size_t length, bool quoted)
{
    const char *mark = quoted ? "\"" : "";
    const size_t tail = strlen("...") + strlen(mark) + 1;
    size_t used = strlen(mark);
    size_t cut = used; /* the last place where a cut and its dots fit */
    memcpy(buffer, mark, used);
    for (size_t at = 0; at < length;) {
        char shown[SHOWN_CAPACITY];
        at += show(shown, text + at, length - at, quoted);
        const size_t width = strlen(shown);
        if (used + width + strlen(mark) + 1 > capacity) {
            snprintf(buffer + cut, capacity - cut, "...%s", mark);
            return;
        }
        memcpy(buffer + used, shown, width);
        used += width;
        if (used + tail <= capacity) {
            cut = used;
        }
    }
    snprintf(buffer + used, capacity - used, "%s", mark);
}

const char *quote(quotation *buffer, const char *text, size_t length)
{
    escape(buffer->text, sizeof buffer->text, text, length, true);
    return buffer->text;
}

const char *quote_path(path_quotation *buffer, const char *path)
{
    escape(buffer->text, sizeof buffer->text, path, strlen(path), false);
    return buffer->text;
}
