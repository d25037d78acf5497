#include "cli/message.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { MESSAGE_CAPACITY = 4096 };

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes of the character at `text`, or 0 for a control character and for what no UTF-8 text has. */
static size_t printable_length(const unsigned char *text)
{
    if (text[0] < 0x80) {
        return text[0] >= 0x20 && text[0] != 0x7f ? 1 : 0;
    }
    const size_t length = text[0] >= 0xf5 ? 0 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(text[i])) {
            return 0;
        }
    }
    return text[0] == 0xc2 && text[1] < 0xa0 ? 0 : length;
}

void message(const char *command, const char *format, ...)
{
    char text[MESSAGE_CAPACITY];
    char line[4 * MESSAGE_CAPACITY + 2]; /* an escape is four bytes long */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    size_t used = 0;
    for (const unsigned char *cursor = (const unsigned char *)text; *cursor != '\0';) {
        const size_t length = printable_length(cursor);
        if (length == 0) {
            used += (size_t)snprintf(line + used, 5, "\\x%02x", *cursor++);
        }
        for (size_t i = 0; i < length; i++) {
            line[used++] = (char)*cursor++;
        }
    }
    line[used] = '\0';
    fprintf(stderr, "nmt%s%s: %s\n", command != NULL ? " " : "", command != NULL ? command : "", line);
}
