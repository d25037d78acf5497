/*
 * Text cut smaller than words: into the pieces of a SentencePiece model, or into characters. A line goes in after
 * text_prepare and comes out as tokens with single spaces between them, so that whatever reads tokens reads these as
 * well. The space between words is U+2581 in the tokens; a line that holds that character already is an error, because
 * joining could not tell them apart. Joining gives the words of the line back, with single spaces between them.
 */
#ifndef DATA_SEGMENTER_H
#define DATA_SEGMENTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "data/text.h"
#include "data/vocabulary.h"

typedef struct segmenter segmenter;

/* One for each side of the text; NULL: its tokens are its words. */
typedef struct segmenters {
    segmenter *source, *target;
} segmenters;

/* Whether this build has SentencePiece. */
bool segmenter_has_pieces(void);

/* The caller's: segmenter_free. */
nmt_status segmenter_of_characters(segmenter **made, nmt_error *error);

/* The same for the sides that are asked for; the other one is NULL. The caller's, on failure as well: segmenters_free.
 */
nmt_status segmenters_of_characters(segmenters *both, bool source, bool target, nmt_error *error);

/*
 * From the bytes of a SentencePiece model, which are copied; `path` says in messages where they come from. Errors:
 * NMT_INVALID for what is no such model, or one that does not leave text as it is (see piece_model.h);
 * NMT_UNSUPPORTED where the library is missing.
 */
nmt_status segmenter_of_pieces(segmenter **made, const char *model, size_t size, const char *path, nmt_error *error);

nmt_status segmenter_copy(segmenter **copy, const segmenter *from, nmt_error *error); /* NULL of NULL; unrestricted */
void segmenter_free(segmenter *by);
void segmenters_free(segmenters *both);

/* The bytes of the model, borrowed; NULL of characters and of NULL. */
const char *segmenter_model(const segmenter *by, size_t *size);

/* Whether both make the same of every line, before restriction. */
bool segmenter_equal(const segmenter *a, const segmenter *b);

/* Pieces outside the vocabulary are cut into smaller ones that are in it, where that can be done. Nothing for
 * characters. */
nmt_status segmenter_restrict(segmenter *by, const vocabulary *words, nmt_error *error);

/* NMT_INVALID when a line holds U+2581; the message says where in the line, and not in which. */
nmt_status segmenter_check(const char *line, size_t length, nmt_error *error);

/* Cuts a line, into `tokens`, NUL-terminated. Errors: those of segmenter_check. */
nmt_status segmenter_cut(const segmenter *by, const char *line, size_t length, text_buffer *tokens, nmt_error *error);

/* How many spaces between words the token of `size` bytes holds, at its start or within. */
size_t segmenter_spaces(const char *token, size_t size);

/* What stands for the space between words, NUL-terminated: U+2581. */
const char *segmenter_space(void);

/* Joins tokens in place. `text` is NUL-terminated and stays so. */
void segmenter_join(char *text);

/* Joins words that were cut elsewhere, in place: a token that ends in `marker` goes on in the next one ("@@"). */
void segmenter_join_marked(char *text, const char *marker);

/* Learns a model from lines; see data/piece_library.h. `*model` is the caller's: free(). Errors: NMT_INVALID with the
 * words of SentencePiece; NMT_UNSUPPORTED where the library is missing. */
typedef struct segmenter_training {
    bool unigram; /* else byte-pair encoding */
    size_t size;
    double coverage;
} segmenter_training;

/* Sets `*line` to the next line, prepared and checked, or to NULL at the end. */
typedef nmt_status (*segmenter_lines)(void *context, const char **line, size_t *length, nmt_error *error);

nmt_status segmenter_train(char **model, size_t *size, const segmenter_training *how, segmenter_lines next,
                           void *context, nmt_error *error);

#endif
