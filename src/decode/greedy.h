/* Greedy search: each step takes the most probable token, the one of the smaller number among equals. */
#ifndef DECODE_GREEDY_H
#define DECODE_GREEDY_H

#include "core/error.h"
#include "data/batch.h"
#include "decode/hypothesis.h"
#include "decode/search_options.h"
#include "model/model.h"

/* As search_best with a beam of 1, for options that ban nothing. */
nmt_status greedy_search(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                         hypothesis *best, nmt_error *error);

#endif
