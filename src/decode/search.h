/*
 * Search for the best translations: the one entry that translating knows. A search sees the model only through
 * model/model.h.
 */
#ifndef DECODE_SEARCH_H
#define DECODE_SEARCH_H

#include <stdbool.h>

#include "core/error.h"
#include "data/batch.h"
#include "decode/hypothesis.h"
#include "decode/search_options.h"
#include "model/model.h"

/*
 * The best translations found for each of `sources` (each ends with `</s>`), in the order in which they were given to
 * sequences_set; so is line[sources->count], the number by which messages name each. `best` [sources->count, nbest] is
 * overwritten, the best first; where fewer were found the rest have length 0. On success the caller owns what it holds:
 * hypothesis_free for each. On failure nothing is owned.
 *
 * `<s>` is never chosen. What is banned makes way for `</s>` where nothing else is left, however short the hypothesis.
 * A hypothesis that reaches its length limit stops without `</s>`: it has neither that token's probability nor its
 * attention.
 * Errors: NMT_NOT_FINITE when the model gives NaN or infinity, naming the line.
 */
nmt_status search_best(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                       hypothesis *best, nmt_error *error);

/* Whether it gives the place of a sentence that has ended to one that waits, so that more sentences than the width are
 * welcome. */
bool search_refills(const search_options *options);

#endif
