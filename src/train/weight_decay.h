/* Weight decay apart from the gradient (Loshchilov and Hutter 2019: AdamW; with SGD, SGDW). */
#ifndef TRAIN_WEIGHT_DECAY_H
#define TRAIN_WEIGHT_DECAY_H

#include "core/real.h"
#include "layers/parameters.h"

/* Takes `share` off every number of every matrix: learning rate times training.weight_decay. Vectors (biases, gains,
 * attention vectors) stay: being near 0 makes none of them simpler. */
void weight_decay(real *block, const parameter_table *table, double share);

#endif
