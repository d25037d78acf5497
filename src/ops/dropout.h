/*
 * Dropout (Srivastava et al. 2014), inverted: what is kept is scaled by 1 / (1 - rate), so that nothing changes where
 * nothing is dropped. A mask follows from its key alone, whatever the number of threads.
 */
#ifndef OPS_DROPOUT_H
#define OPS_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

/* mask[count] of 0 and 1 / (1 - rate). */
void dropout_mask(real *mask, size_t count, double rate, uint64_t key);

/* A mask of rows: each whole row of mask[rows,width] is multiplied by 0 or 1 / (1 - rate). */
void dropout_mask_rows(real *mask, size_t rows, size_t width, double rate, uint64_t key);

/* y[rows, stride] *= mask[rows,width]: forward on values, backward on gradients. */
void dropout_apply(real *y, size_t stride, const real *mask, size_t rows, size_t width);

#endif
