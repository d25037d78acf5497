#include "decode/search.h"

#include <math.h>

#include "decode/greedy.h"

nmt_status search_best(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                       hypothesis *best, nmt_error *error)
{
    return greedy_search(model, sources, line, options, best, error);
}

size_t search_length_limit(const search_options *options, size_t source_words)
{
    const double words = floor(options->max_length_ratio * (double)source_words);
    const size_t extra = options->max_length_extra;
    /* 2^53: the doubles below it are exact integers, and no machine will ever write as many words. */
    const size_t bound = words < 0x1p53 ? (size_t)words : (size_t)1 << 53;
    return bound < SIZE_MAX - extra ? bound + extra : SIZE_MAX;
}
