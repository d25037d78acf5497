/*
 * y = W x + b, or y = x where there is no W: how attention makes queries of states, keys and values of annotations. W
 * may be columns of a wider matrix.
 */
#ifndef LAYERS_PROJECTION_H
#define LAYERS_PROJECTION_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"
#include "layers/parameters.h"
#include "layers/weights.h"

#define PROJECTION_NONE WEIGHTS_NO_BIAS

typedef struct projection {
    size_t in, out;
    size_t weight; /* offset of W [out,in], or PROJECTION_NONE */
    size_t stride; /* of W's rows */
    size_t bias;   /* offset of b [out], or PROJECTION_NONE */
} projection;

/* y = x, of `size` numbers. */
projection projection_identity(size_t size);

/* W of its own, started as attention parameters are; no b. */
projection projection_declare(parameter_table *table, const char *name, size_t in, size_t out);

/* Where there is a W, it is multiplied with the rows of one step after the other. */
void projection_use_steps(const projection *map, parameter_table *table);

void projection_forward(const projection *map, const weights_view *theta, real *y, size_t ldy, const real *x,
                        size_t ldx, size_t rows);

/* dx += W^T dy */
void projection_backward_input(const projection *map, const weights_view *theta, real *dx, size_t lddx, const real *dy,
                               size_t lddy, size_t rows);

/* dW += dy x^T, db += dy */
void projection_backward_weights(const projection *map, real *dtheta, const real *dy, size_t lddy, const real *x,
                                 size_t ldx, size_t rows);

#endif
