/* Lines as numbers. */
#ifndef METRICS_SYMBOLS_H
#define METRICS_SYMBOLS_H

#include "data/word_table.h"
#include "metrics/ngrams.h"

/* The words between ASCII whitespace, as Python's str.split() cuts ASCII text: what BLEU calls tokenisation "none". */
nmt_status symbols_set_words(symbols *line, const char *text, word_table *words, nmt_error *error);

/* The words between Unicode whitespace; an ASCII punctuation mark that ends a longer word, or else begins it, is a word
 * of its own (chrF++). */
nmt_status symbols_set_words_and_marks(symbols *line, const char *text, word_table *words, nmt_error *error);

/* The code points that are not Unicode whitespace; a byte that is not UTF-8 is a character of its own. */
nmt_status symbols_set_characters(symbols *line, const char *text, nmt_error *error);

#endif
