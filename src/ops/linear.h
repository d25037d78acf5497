/*
 * y = x W^T + b and its backward, over `rows` rows; W is [out, in]. Leading dimensions let x, y and W be columns of
 * wider matrices. Forward overwrites, backward adds.
 */
#ifndef OPS_LINEAR_H
#define OPS_LINEAR_H

#include <stddef.h>

#include "core/real.h"

/* y[rows,out] = x[rows,in] W^T + b[out]; b may be NULL. */
void linear_forward(real *y, size_t ldy, const real *x, size_t ldx, const real *W, size_t ldw, const real *b,
                    size_t rows, size_t out, size_t in);

/* y += x W^T. */
void linear_forward_add(real *y, size_t ldy, const real *x, size_t ldx, const real *W, size_t ldw, size_t rows,
                        size_t out, size_t in);

/* dx[rows,in] += dy[rows,out] W. */
void linear_backward_input(real *dx, size_t lddx, const real *dy, size_t lddy, const real *W, size_t ldw, size_t rows,
                           size_t out, size_t in);

/* dW[out,in] += dy^T x. */
void linear_backward_weight(real *dW, size_t lddw, const real *dy, size_t lddy, const real *x, size_t ldx, size_t rows,
                            size_t out, size_t in);

/* db[out] += sum over rows of dy. */
void linear_backward_bias(real *db, const real *dy, size_t lddy, size_t rows, size_t out);

#endif
