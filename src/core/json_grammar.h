/* Text held to the grammar of JSON (RFC 8259), before anything is made of it. */
#ifndef CORE_JSON_GRAMMAR_H
#define CORE_JSON_GRAMMAR_H

#include <stddef.h>

#include "core/error.h"

/*
 * One value and nothing behind it, no object with a key twice, nesting, numbers and values within bounds. Errors:
 * NMT_INVALID with path, line, column, what was expected and what was found. To be called under the C locale, by which
 * numbers are read.
 */
nmt_status json_check(const char *text, size_t length, const char *path, nmt_error *error);

#endif
