/*
 * Word vectors in the text format of word2vec, fastText and GloVe: a line is a word and its numbers, between spaces or
 * tabs. word2vec and fastText put a line in front, how many vectors there are and of how many numbers; GloVe does not.
 */
#ifndef DATA_WORD_VECTORS_H
#define DATA_WORD_VECTORS_H

#include <stddef.h>

#include "core/error.h"
#include "core/real.h"
#include "data/vocabulary.h"

/*
 * Copies the vectors of the vocabulary's words, of `size` numbers each, into their rows of table[words, size]; the
 * other rows stay. Of several vectors of a word the first counts. `*found` is how many words have one, the three
 * special entries not counted, though a vector that is spelled `</s>`, `<s>` or `<unk>` is theirs. Words with spaces in
 * them, as GloVe has, are no tokens and are passed over.
 *
 * A first line of two whole numbers is taken for the line in front. Errors: NMT_IO; NMT_INVALID naming path and line
 * for a line that is not a word and `size` finite numbers, and for a file that does not keep what its first line says.
 */
nmt_status word_vectors_read(real *table, size_t *found, const vocabulary *words, size_t size, const char *path,
                             nmt_error *error);

#endif
