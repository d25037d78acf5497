/* Lines of text as the model reads them, and the order in which they are worked on. */
#ifndef DECODE_SENTENCE_H
#define DECODE_SENTENCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "model/model.h"

typedef struct sentence {
    const char *text; /* the line as it stood in the text, borrowed from the caller */
    const char *line; /* the same; or `cut` */
    char *cut;        /* the line in pieces or characters; NULL: its tokens are words */
    size_t text_length, line_length;
    int32_t *ids;  /* [length + 1] after the configured normalisation and segmentation, `</s>` last */
    size_t length; /* tokens without `</s>` */
} sentence;

/*
 * Encodes `count` lines as text of one side of the model; `*list` is the caller's: sentences_free. The lines must
 * outlive it. Errors: NMT_INVALID for a line that is not UTF-8, "<what> 3: ..." with its number from 1.
 */
typedef enum sentence_side { SENTENCE_SOURCE, SENTENCE_TARGET } sentence_side;
nmt_status sentences_create(sentence **list, const char *const *lines, size_t count, const nmt_model *model,
                            sentence_side side, const char *what, nmt_error *error);
void sentences_free(sentence *list, size_t count);

/* Token `index` < length as it stood in the text, in its `*size` bytes; borrowed from the sentence. */
const char *sentence_token(const sentence *from, size_t index, size_t *size);

/* The word of the text that holds token `index`, as sentence_token where tokens are words. */
const char *sentence_word(const sentence *from, size_t index, size_t *size);

/* tokens[length + 1]: copies of the tokens as they stood in the text, then `</s>`; each the caller's: free(). On
 * failure those not yet made are as they were. */
nmt_status sentence_tokens(const sentence *from, char **tokens, nmt_error *error);

/*
 * Indices of the sentences that have tokens, the longest first, so that neighbours make batches of similar length;
 * equal lengths keep their order. With `targets`, of the pairs that have tokens on both sides, by source length and
 * then by target length. `*order` [*order_count] is the caller's: free().
 */
nmt_status sentences_by_length(size_t **order, size_t *order_count, const sentence *sources, const sentence *targets,
                               size_t count, nmt_error *error);

#endif
