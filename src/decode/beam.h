/*
 * Beam search. At each step the `beam` most probable extensions of a sentence's hypotheses are chosen; those that end
 * stand among the finished, the others go on. With a beam of 1 that is greedy search, whatever the score.
 *
 * Stopping is exact: a sentence is done when no hypothesis is left, or when `nbest` have ended and search_bound says of
 * every unfinished one that it cannot come before the last of them. Going on to the length limit would change nothing.
 */
#ifndef DECODE_BEAM_H
#define DECODE_BEAM_H

#include "core/error.h"
#include "data/batch.h"
#include "decode/hypothesis.h"
#include "decode/search_options.h"
#include "model/model.h"

/* As search_best. Among extensions equally probable, those of the better hypothesis come first, then the smaller
 * number. */
nmt_status beam_search(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                       hypothesis *best, nmt_error *error);

#endif
