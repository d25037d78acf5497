/*
 * Search for the best translations: the one entry that translating knows. A search sees the model only through
 * model/model.h.
 *
 * A hypothesis of T tokens, `</s>` among them, is ranked by
 *
 *     score = log p / penalty(T) + bonus * T
 *
 *     penalty(T) = T                     average
 *                  ((5 + T) / 6)^alpha   Wu et al. (2016), equation 14
 *                  1                     none
 *
 * One that its length limit cut off has not paid for `</s>` and never comes before one that ended.
 */
#ifndef DECODE_SEARCH_H
#define DECODE_SEARCH_H

#include <nmt/translate.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "data/batch.h"
#include "decode/hypothesis.h"
#include "model/model.h"

typedef struct search_options {
    double max_length_ratio; /* target words per source word at the most, >= 0 */
    size_t max_length_extra; /* added to that bound, >= 1 */
    size_t beam;             /* hypotheses extended together, >= 1 */
    size_t nbest;            /* translations wanted, 1 to beam */
    nmt_length_penalty penalty;
    double penalty_alpha;   /* >= 0 */
    double bonus;           /* nats a token; finite */
    size_t min_length;      /* words before `</s>` may come */
    size_t no_repeat_ngram; /* no n-gram of this order comes twice; 0: any may */
    bool ban_unknown;       /* `<unk>` is never chosen */
    bool alpha;             /* keep the attention of each hypothesis */
} search_options;

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

/* Words that a translation of `source_words` words (both without `</s>`) may have:
 * floor(max_length_ratio * source_words) + max_length_extra. */
size_t search_length_limit(const search_options *options, size_t source_words);

/* Of a whole hypothesis of `length` >= 1 tokens. */
double search_score(const search_options *options, double log_probability, size_t length);

/* No whole hypothesis that goes on from one of `length` tokens and has at most `limit` > `length` scores more. */
double search_bound(const search_options *options, double log_probability, size_t length, size_t limit);

#endif
