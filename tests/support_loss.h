/* The loss of a whole model, as it is trained with it. */
#ifndef SUPPORT_LOSS_H
#define SUPPORT_LOSS_H

#include <stdbool.h>
#include <string.h>

#include "model/config_keys.h"
#include "support_model.h"

/* [parameters.size], zero; the caller's: free(). */
static inline real *new_gradient(const nmt_model *model)
{
    return normal_reals(model->parameters.size, 0, 1);
}

static inline batch_loss loss_of_update(nmt_model *model, const batch *pairs, real *gradient, real scale,
                                        uint64_t update)
{
    batch_loss loss;
    nmt_error error;
    support_ok(model_loss_and_gradient(model, pairs, gradient, scale, update, &loss, &error), &error);
    return loss;
}

static inline batch_loss loss_and_gradient(nmt_model *model, const batch *pairs, real *gradient, real scale)
{
    return loss_of_update(model, pairs, gradient, scale, 1);
}

/* A number of the parameters, for gradcheck: what an update minimises, times `scale`. */
typedef struct training_loss {
    nmt_model *model;
    batch pairs;
    uint64_t update;
    real scale;
    real *scratch; /* a gradient to throw away; NULL where training's loss is the plain one */
} training_loss;

static inline bool is_dropout(const config_key *key)
{
    return config_key_is_in(key, "dropout", strlen("dropout"));
}

/* Whether training minimises what validation measures. */
static inline bool trains_plainly(const nmt_config *config)
{
    double dropout = 0;
    for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
        dropout += is_dropout(key) ? config_number(config, key) : 0;
    }
    return config->training.label_smoothing + config->training.coverage + dropout == 0 &&
           config->training.teacher_forcing == 1;
}

/* Of a model that stays the caller's, over pairs that are the loss's from now on: training_loss_free. */
static inline training_loss training_loss_of(nmt_model *model, batch pairs, uint64_t update, real scale)
{
    real *scratch = trains_plainly(model->config) ? NULL : new_gradient(model);
    return (training_loss){model, pairs, update, scale, scratch};
}

static inline void training_loss_free(training_loss *loss)
{
    batch_free(&loss->pairs);
    free(loss->scratch);
}

static inline double objective(void *context)
{
    training_loss *loss = context;
    return loss->scale * loss_of_update(loss->model, &loss->pairs, loss->scratch, 0, loss->update).objective;
}

#endif
