/*
 * Optimizers over the whole parameter block: Adam (Kingma and Ba 2015), Adadelta (Zeiler 2012), SGD with momentum.
 * Clipping, update and the clearing of the gradient are one pass over memory.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/real.h"

typedef enum optimizer_kind { OPTIMIZE_ADAM, OPTIMIZE_ADADELTA, OPTIMIZE_SGD } optimizer_kind;

typedef struct optimizer_options {
    optimizer_kind kind;
    double beta1, beta2, epsilon;  /* Adam */
    double rho, adadelta_epsilon;  /* Adadelta */
    double momentum;               /* SGD */
} optimizer_options;

enum { OPTIMIZER_SLOTS = 2 };

typedef struct optimizer {
    optimizer_options options;
    size_t size;
    uint64_t step;               /* updates done */
    real *slots[OPTIMIZER_SLOTS]; /* [size] each: Adam m, v; Adadelta E[g^2], E[dx^2]; SGD velocity and nothing */
} optimizer;

nmt_status optimizer_create(optimizer *rule, const optimizer_options *options, size_t size, nmt_error *error);
void optimizer_free(optimizer *rule);

/* How many of the slots the rule uses. */
size_t optimizer_slot_count(const optimizer *rule);

/* Moves the block by the gradient times `scale` and sets the gradient to 0. Adadelta has its own step size, which the
 * learning rate multiplies (1 in the paper). */
void optimizer_update(optimizer *rule, real *block, real *gradient, double learning_rate, double scale);

#endif
