/* Words and their numbers. Numbers 0, 1, 2 are `<unk>`, `<s>`, `</s>`; the words follow, most frequent first, equal
 * counts in the order of their bytes. A word of the text that is spelled like one of the three is an unknown word. */
#ifndef DATA_VOCABULARY_H
#define DATA_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum { TOKEN_UNKNOWN = 0, TOKEN_START = 1, TOKEN_END = 2, TOKEN_FIRST_WORD = 3 };

typedef struct vocabulary vocabulary;

/* Counting words. */
typedef struct word_counts word_counts;
nmt_status word_counts_create(word_counts **counts, nmt_error *error);
nmt_status word_counts_add(word_counts *counts, const char *word, size_t length, nmt_error *error);
void word_counts_free(word_counts *counts);

/* The `size_limit` (with the three special entries) most frequent words seen at least `minimum_count` times; a limit
 * of 0 is none. The caller's: vocabulary_free. */
nmt_status vocabulary_from_counts(vocabulary **words, const word_counts *counts, size_t size_limit,
                                  uint64_t minimum_count, nmt_error *error);

/* A file of one word a line, in the order of their numbers from 3; lines 1 to 3 may be the special entries
 * themselves. A duplicate, an empty line or a word with a space is an error with its line. */
nmt_status vocabulary_from_file(vocabulary **words, const char *path, nmt_error *error);

/* From `count` words, the three special entries first (the form that a model file holds). */
nmt_status vocabulary_from_words(vocabulary **words, const char *const *list, size_t count, const char *path,
                                 nmt_error *error);
nmt_status vocabulary_copy(vocabulary **copy, const vocabulary *words, nmt_error *error);
void vocabulary_free(vocabulary *words);

size_t vocabulary_size(const vocabulary *words);                          /* with the three special entries */
int32_t vocabulary_find(const vocabulary *words, const char *word, size_t length); /* TOKEN_UNKNOWN if absent */
const char *vocabulary_word(const vocabulary *words, int32_t number);     /* borrowed */

#endif
