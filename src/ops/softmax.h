/* Masked softmax over one row: positions from `length` on are masked. */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H

#include <stddef.h>

#include "core/real.h"

/* alpha_i = exp(e_i - max) / sum for i < length; exactly 0 for length <= i < count. `alpha` may be `e`. */
void softmax_forward(real *alpha, const real *e, size_t length, size_t count);

/* de_i += alpha_i (dalpha_i - sum_j alpha_j dalpha_j) for i < length. */
void softmax_backward(real *de, const real *dalpha, const real *alpha, size_t length);

#endif
