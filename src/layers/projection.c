#include "layers/projection.h"

#include <string.h>

#include "ops/linear.h"

projection projection_identity(size_t size)
{
    return (projection){.in = size, .out = size, .weight = PROJECTION_NONE, .bias = PROJECTION_NONE};
}

projection projection_declare(parameter_table *table, const char *name, size_t in, size_t out)
{
    return (projection){.in = in,
                        .out = out,
                        .weight = parameters_add(table, name, out, in, INIT_ATTENTION),
                        .stride = in,
                        .bias = PROJECTION_NONE};
}

void projection_use_steps(const projection *map, parameter_table *table)
{
    if (map->weight != PROJECTION_NONE) {
        parameters_use(table, map->weight, USE_STEPS);
    }
}

void projection_forward(const projection *map, const weights_view *theta, real *y, size_t ldy, const real *x,
                        size_t ldx, size_t rows)
{
    if (map->weight != PROJECTION_NONE) {
        weights_forward(theta, y, ldy, x, ldx, map->weight, map->stride, map->bias, rows, map->out, map->in);
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        memcpy(y + row * ldy, x + row * ldx, map->in * sizeof *y);
    }
}

void projection_backward_input(const projection *map, const weights_view *theta, real *dx, size_t lddx, const real *dy,
                               size_t lddy, size_t rows)
{
    if (map->weight != PROJECTION_NONE) {
        weights_backward_input(theta, dx, lddx, dy, lddy, map->weight, map->stride, rows, map->out, map->in);
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < map->in; i++) {
            dx[row * lddx + i] += dy[row * lddy + i];
        }
    }
}

void projection_backward_weights(const projection *map, real *dtheta, const real *dy, size_t lddy, const real *x,
                                 size_t ldx, size_t rows)
{
    if (map->weight != PROJECTION_NONE) {
        linear_backward_weight(dtheta + map->weight, map->stride, dy, lddy, x, ldx, rows, map->out, map->in);
    }
    if (map->bias != PROJECTION_NONE) {
        linear_backward_bias(dtheta + map->bias, dy, lddy, rows, map->out);
    }
}
