/* The exponential moving average of the parameters (Polyak and Juditsky 1992, with a window that moves along). */
#ifndef TRAIN_AVERAGE_H
#define TRAIN_AVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

/* average = d average + (1 - d) block behind update number `update` (from 1), d = min(decay, (1 + update) / (10 +
 * update)): a short run's average does not keep its random start. */
void average_follow(real *average, const real *block, size_t size, double decay, uint64_t update);

#endif
