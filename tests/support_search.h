/* What a search should find, from the definition; and whether two found the same. */
#ifndef SUPPORT_SEARCH_H
#define SUPPORT_SEARCH_H

#include <math.h>

#include "decode/hypothesis.h"
#include "decode/search_options.h"

enum { SEARCH_SCORES = 12 };

/* Each number below SEARCH_SCORES is another way to rank translations. */
static inline void set_score(search_options *options, size_t number)
{
    static const struct {
        nmt_length_penalty penalty;
        double alpha;
    } penalties[] = {{NMT_LENGTH_NONE, 0}, {NMT_LENGTH_AVERAGE, 0}, {NMT_LENGTH_WU, 0.6}, {NMT_LENGTH_WU, 3}};
    static const double bonuses[] = {0, 0.7, -0.7};
    options->penalty = penalties[number / 3].penalty;
    options->penalty_alpha = penalties[number / 3].alpha;
    options->bonus = bonuses[number % 3];
}

static inline double expected_score(const search_options *options, double log_probability, size_t length)
{
    const double T = (double)length;
    const double divisor = options->penalty == NMT_LENGTH_AVERAGE ? T
                           : options->penalty == NMT_LENGTH_WU
                               ? pow(5 + T, options->penalty_alpha) / pow(6, options->penalty_alpha)
                               : 1;
    return log_probability / divisor + options->bonus * T;
}

/* To the last bit. */
static inline void assert_same_hypothesis(const hypothesis *found, const hypothesis *expected)
{
    const size_t length = expected->length, S = expected->source_length;
    assert_int_equal(found->length, length);
    if (length > 0) {
        assert_int_equal(found->source_length, S);
        assert_memory_equal(found->ids, expected->ids, length * sizeof *found->ids);
        assert_memory_equal(found->log_probabilities, expected->log_probabilities,
                            length * sizeof *found->log_probabilities);
        assert_memory_equal(found->alpha, expected->alpha, length * S * sizeof *found->alpha);
    }
    assert_true(found->log_probability == expected->log_probability);
    assert_true(found->score == expected->score);
}

static inline void free_hypotheses(hypothesis *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hypothesis_free(&list[i]);
    }
}

#endif
