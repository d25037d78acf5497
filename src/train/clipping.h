/* Gradient clipping by global norm (Pascanu, Mikolov and Bengio 2013). */
#ifndef TRAIN_CLIPPING_H
#define TRAIN_CLIPPING_H

#include <stddef.h>

#include "core/real.h"

/* Euclidean norm over the whole block, summed in double in an order that does not depend on the threads. */
double gradient_norm(const real *gradient, size_t size);

/* What the gradient is to be multiplied by: limit / norm where the norm is over the limit, else 1. No limit: 0. */
double clipping_scale(double norm, double limit);

#endif
