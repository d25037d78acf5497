#include "decode/search.h"

#include "decode/beam.h"
#include "decode/greedy.h"

/* A beam of one extends what greedy search would, whatever the score: only bans make a difference. */
bool search_refills(const search_options *options)
{
    return options->beam == 1 && options->min_length == 0 && options->no_repeat_ngram == 0 && !options->ban_unknown;
}

nmt_status search_best(nmt_model *model, const sequences *sources, const size_t *line, const search_options *options,
                       hypothesis *best, nmt_error *error)
{
    return search_refills(options) ? greedy_search(model, sources, line, options, best, error)
                                   : beam_search(model, sources, line, options, best, error);
}
