/* UTF-8 as the Unicode standard defines it (table 3-7): no overlong forms, no surrogates, nothing over U+10FFFF. */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stddef.h>

/* Bytes of the character at `text`, 1 to 4; 0 if the `length` bytes there do not start with a whole valid one. */
size_t utf8_character(const char *text, size_t length);

/* Offset of the first byte that is not part of valid UTF-8, or `length`. */
size_t utf8_error(const char *text, size_t length);

#endif
