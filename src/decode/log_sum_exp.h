/* The normaliser of a softmax over the vocabulary: log p(token) = logits[token] - log_sum_exp(logits, V). */
#ifndef DECODE_LOG_SUM_EXP_H
#define DECODE_LOG_SUM_EXP_H

#include <stddef.h>

#include "core/real.h"

/* Not finite where a logit is NaN or positive infinity, or all are negative infinity. `count` >= 1. */
double log_sum_exp(const real *logits, size_t count);

#endif
