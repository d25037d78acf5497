/* How parameters start, every draw from one seed. */
#ifndef LAYERS_INIT_H
#define LAYERS_INIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "layers/parameters.h"

typedef struct init_options {
    bool glorot;     /* weights uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010), embeddings N(0, 1/E) */
    double scale;    /* else N(0, scale^2); attention parameters always */
    bool orthogonal; /* recurrent matrices orthogonal, gate by gate (Saxe et al. 2014) */
    uint64_t seed;
} init_options;

/* Fills the block. Each tensor draws from a stream of its own name, so that adding one moves no other. */
nmt_status init_parameters(real *block, const parameter_table *table, const init_options *options, nmt_error *error);

#endif
