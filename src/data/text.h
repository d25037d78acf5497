/*
 * Text as tokens: the one place that knows utf8proc. A token is what stands between ASCII spaces and tabs; every other
 * character, NBSP, U+2028 and U+0085 among them, belongs to its token.
 */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/text_buffer.h"

typedef struct text_options {
    bool nfc;       /* Unicode normalisation form C */
    bool lowercase; /* Unicode simple case mapping, after normalisation */
} text_options;

/* `line` after the configured normalisation, NUL-terminated, in `buffer` (or `line` itself where nothing is asked
 * for: then `*prepared` == line). */
nmt_status text_prepare(const char **prepared, size_t *prepared_length, const char *line, size_t length,
                        text_options options, text_buffer *buffer, nmt_error *error);

/* Steps over the tokens of a line: false at its end. `*cursor` starts at the line. */
bool text_next_token(const char **cursor, const char *end, const char **token, size_t *length);

size_t text_count_tokens(const char *line, size_t length);

/* Steps over the characters of a token, as a reader counts them: grapheme clusters. */
bool text_next_character(const char **cursor, const char *end, const char **character, size_t *length);

/* Number of the first byte (from 0) that is not part of valid UTF-8, or `length`. */
size_t text_utf8_error(const char *text, size_t length);

/* Columns that the text takes on a terminal. */
size_t text_width(const char *text, size_t length);

#endif
