/* Functions of one number each, and maxout. In place where there is one array. */
#ifndef OPS_ACTIVATION_H
#define OPS_ACTIVATION_H

#include <stddef.h>

#include "core/real.h"

/* y = tanh(y), [count]. */
void tanh_forward(real *y, size_t count);

/* dx += dy (1 - y^2), y = tanh(x). */
void tanh_backward(real *dx, const real *dy, const real *y, size_t count);

/* y[rows,units] = max(x[rows,2 units] by neighbouring pairs) (Goodfellow et al. 2013; Bahdanau et al. 2015, A.2.2). */
void maxout_forward(real *y, const real *x, size_t rows, size_t units);

/* dx += dy at the larger of each pair; at a tie, at the first. */
void maxout_backward(real *dx, const real *dy, const real *x, size_t rows, size_t units);

#endif
