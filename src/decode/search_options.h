/*
 * What a search is asked for, and what follows from it alone: how long a translation may be, what a hypothesis is
 * worth, and what it can still become.
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
#ifndef DECODE_SEARCH_OPTIONS_H
#define DECODE_SEARCH_OPTIONS_H

#include <nmt/translate.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct search_options {
    double max_length_ratio; /* target words per source word at the most, >= 0 */
    size_t max_length_extra; /* added to that bound, >= 1 */
    size_t width;            /* sentences that are extended together, >= 1 */
    size_t beam;             /* hypotheses of a sentence extended together, >= 1 */
    size_t nbest;            /* translations wanted, 1 to beam */
    nmt_length_penalty penalty;
    double penalty_alpha;   /* >= 0 */
    double bonus;           /* nats a token; finite */
    size_t min_length;      /* words before `</s>` may come */
    size_t no_repeat_ngram; /* no n-gram of this order comes twice; 0: any may */
    bool ban_unknown;       /* `<unk>` is never chosen */
    bool alpha;             /* keep the attention of each hypothesis */
} search_options;

/* Limits where none is asked for: three times what the training text has of target tokens a source token, or three
 * where that is less; and ten more, or room for `min_length` words and `</s>`. */
double search_length_ratio(double of_training_text);
size_t search_length_extra(size_t min_length);

/* Words that a translation of `source_words` words (both without `</s>`) may have:
 * floor(max_length_ratio * source_words) + max_length_extra. */
size_t search_length_limit(const search_options *options, size_t source_words);

/* Of a whole hypothesis of `length` >= 1 tokens. */
double search_score(const search_options *options, double log_probability, size_t length);

/* No whole hypothesis that goes on from one of `length` tokens and has at most `limit` > `length` scores more. */
double search_bound(const search_options *options, double log_probability, size_t length, size_t limit);

#endif
