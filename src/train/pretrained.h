/* Embeddings that start from word vectors, and such as stay as they were read. */
#ifndef TRAIN_PRETRAINED_H
#define TRAIN_PRETRAINED_H

#include "core/error.h"
#include "model/model.h"
#include "train/run_log.h"

/* Words of either side that have a vector, where the configuration names a file. */
typedef struct pretrained_coverage {
    size_t source, target;
} pretrained_coverage;

/* Fills the embeddings of a model that was initialised. */
nmt_status pretrained_read(nmt_model *model, pretrained_coverage *coverage, nmt_error *error);

void pretrained_log(const nmt_model *model, const pretrained_coverage *coverage, const run_log *log);

/* Marks the frozen tensors of the model's table. */
void pretrained_freeze(nmt_model *model);

/* Sets the gradient of frozen tensors to 0, so that it counts in no norm and moves nothing. */
void pretrained_clear_frozen(const parameter_table *table, real *gradient);

#endif
