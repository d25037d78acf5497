/*
 * Search for the most probable translation: the one entry that translating knows. A search sees the model only through
 * model/model.h.
 */
#ifndef DECODE_SEARCH_H
#define DECODE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "data/batch.h"
#include "decode/hypothesis.h"
#include "model/model.h"

typedef struct search_options {
    double max_length_ratio; /* target words per source word at the most, >= 0 */
    size_t max_length_extra; /* added to that bound, >= 1 */
    bool alpha;              /* keep the attention of each hypothesis */
} search_options;

/*
 * The best translation found for each of `sources` (each ends with `</s>`), in the order in which they were given to
 * sequences_set; so is line[sources->count], the number by which messages name each. `best` [sources->count] is
 * overwritten; on success the caller owns what it holds: hypothesis_free for each. On failure nothing is owned.
 *
 * `<s>` is never chosen. A hypothesis that reaches its length limit stops without `</s>`: it has neither that token's
 * probability nor its attention.
 * Errors: NMT_NOT_FINITE when the model gives NaN or infinity, naming the line.
 */
nmt_status search_best(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                       hypothesis *best, nmt_error *error);

/* Words that a translation of `source_words` words (both without `</s>`) may have:
 * floor(max_length_ratio * source_words) + max_length_extra. */
size_t search_length_limit(const search_options *options, size_t source_words);

#endif
