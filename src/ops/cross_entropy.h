/*
 * Softmax and cross entropy over the vocabulary, with label smoothing (Szegedy et al. 2016): the target distribution
 * gives 1 - smoothing to the true token and spreads smoothing evenly over all V tokens.
 */
#ifndef OPS_CROSS_ENTROPY_H
#define OPS_CROSS_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

/* Replaces logits[rows,V] by probabilities. nats[row] = -log p(target); objective[row] is the smoothed loss, equal to
 * nats when smoothing is 0. */
void cross_entropy_forward(real *logits, double *nats, double *objective, const int32_t *target, double smoothing,
                           size_t rows, size_t V);

/* Replaces probabilities[rows,V] by the gradient of scale * objective with respect to the logits:
 * scale (p - (1 - smoothing) [target] - smoothing / V). */
void cross_entropy_backward(real *probabilities, const int32_t *target, double smoothing, real scale, size_t rows,
                            size_t V);

#endif
