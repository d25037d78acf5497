/*
 * One block of numbers holds every parameter; a table gives each tensor its name, shape and place in the block.
 * Gradients and optimizer slots are blocks of the same layout, so clipping, update, checkpoint and gradient check are
 * each one loop.
 */
#ifndef LAYERS_PARAMETERS_H
#define LAYERS_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/real.h"

/* How a tensor starts; see layers/init.h. */
typedef enum tensor_init {
    INIT_ZERO,
    INIT_ONE,
    INIT_WEIGHT,    /* as the configuration says for weights */
    INIT_EMBEDDING, /* as it says for rows of an embedding */
    INIT_RECURRENT, /* as it says for recurrent matrices: square blocks of `columns` rows */
    INIT_ATTENTION  /* N(0, scale^2) always */
} tensor_init;

/* The products that a tensor is a factor of: whether it pays to pack it (layers/weights.h). */
typedef enum tensor_use {
    USE_ROWS,   /* none: a vector, or rows that are looked up */
    USE_MATRIX, /* with all rows of a batch at once */
    USE_STEPS   /* with the rows of one time step after the other, in training as well */
} tensor_use;

typedef struct tensor {
    char name[64];        /* "decoder.gru.weight_ih" */
    size_t rows, columns; /* weights [out, in]; a vector has columns 0 */
    size_t offset;        /* of its first element, in elements of the block */
    tensor_init init;
    tensor_use use;
    bool frozen; /* training leaves it as it is */
} tensor;

enum { PARAMETERS_CAPACITY = 512 };

typedef struct parameter_table {
    tensor tensors[PARAMETERS_CAPACITY];
    size_t count;
    size_t size; /* elements of the block */
} parameter_table;

/* Adds a tensor and returns the offset of its first element. Offsets follow each other without gaps. */
size_t parameters_add(parameter_table *table, const char *name, size_t rows, size_t columns, tensor_init init);

/* The tensor that `offset` lies in is used in this way too. Matrices are USE_MATRIX to begin with, embeddings USE_ROWS.
 */
void parameters_use(parameter_table *table, size_t offset, tensor_use use);

size_t tensor_size(const tensor *entry);

#endif
