/* Input text in messages: one line, bounded, and with nothing in it that a terminal would obey. */
#ifndef CORE_QUOTE_H
#define CORE_QUOTE_H

#include <stddef.h>

enum { QUOTE_CAPACITY = 160, QUOTE_PATH_CAPACITY = 400 };

typedef struct quotation {
    char text[QUOTE_CAPACITY];
} quotation;

typedef struct path_quotation {
    char text[QUOTE_PATH_CAPACITY];
} path_quotation;

/* `length` bytes in double quotes, in `buffer`, which is also returned. Control characters, line separators, marks of
 * writing direction and bytes that are not UTF-8 become escapes; a long text is cut between characters and ends in
 * "...". */
const char *quote(quotation *buffer, const char *text, size_t length);

/* A path likewise, without the quotes: it starts messages. */
const char *quote_path(path_quotation *buffer, const char *path);

#endif
