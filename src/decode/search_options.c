#include "decode/search_options.h"

#include <math.h>
#include <stdint.h>

double search_length_ratio(double of_training_text)
{
    return 3 * fmax(of_training_text, 1);
}

size_t search_length_extra(size_t min_length)
{
    const size_t room = min_length < SIZE_MAX ? min_length + 1 : SIZE_MAX;
    return room > 10 ? room : 10;
}

size_t search_length_limit(const search_options *options, size_t source_words)
{
    const double words = floor(options->max_length_ratio * (double)source_words);
    const size_t extra = options->max_length_extra;
    /* 2^53: the doubles below it are exact integers, and no machine will ever write as many words. */
    const size_t bound = words < 0x1p53 ? (size_t)words : (size_t)1 << 53;
    return bound < SIZE_MAX - extra ? bound + extra : SIZE_MAX;
}

/* At least 1, and never falls as the length grows: search_bound rests on both. */
static double penalty(const search_options *options, size_t length)
{
    switch (options->penalty) {
    case NMT_LENGTH_AVERAGE:
        return (double)length;
    case NMT_LENGTH_WU:
        return pow((5 + (double)length) / 6, options->penalty_alpha);
    case NMT_LENGTH_NONE:
        break;
    }
    return 1;
}

double search_score(const search_options *options, double log_probability, size_t length)
{
    return log_probability / penalty(options, length) + options->bonus * (double)length;
}

/*
 * What follows adds log probabilities of at most 0, so log p can only fall. It is at most 0 itself, and no penalty
 * falls with length, so log p / penalty(T) is at most what it would be at the limit. The bonus is largest at the limit
 * where it is over 0, and else at the next token. The two are bounded one by one: exact for every penalty without bonus
 * and with one over 0, and a bound all the same with one under 0.
 */
double search_bound(const search_options *options, double log_probability, size_t length, size_t limit)
{
    const double longest = (double)limit, next = (double)length + 1;
    return log_probability / penalty(options, limit) + options->bonus * (options->bonus > 0 ? longest : next);
}
