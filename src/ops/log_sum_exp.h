/* The normaliser of a softmax over the vocabulary, log p(token) = logits[token] - log_sum_exp(logits, V), and its most
 * probable token: what decoding needs of it without the probabilities themselves. */
#ifndef OPS_LOG_SUM_EXP_H
#define OPS_LOG_SUM_EXP_H

#include <stddef.h>

#include "core/real.h"

/* Not finite where a logit is NaN or positive infinity, or all are negative infinity. `count` >= 1. Never under the
 * largest logit, so that no log probability is over 0. */
double log_sum_exp(const real *logits, size_t count);

/* Place of the largest of `count` >= 1 values, the first among equals; any place where one is NaN. */
size_t largest_place(const real *values, size_t count);

#endif
