/* The lexicon of include/nmt/translate.h. */
#ifndef DECODE_LEXICON_H
#define DECODE_LEXICON_H

#include <nmt/translate.h>
#include <stddef.h>

/* The translation of a source token, borrowed, or NULL. */
const char *lexicon_find(const nmt_lexicon *lexicon, const char *token, size_t length);

#endif
