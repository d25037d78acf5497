/*
 * Several models that translate as one: at every step the probability of a token is the mean of what the members give
 * it, and so is the attention. To search, scoring and aligning an ensemble is a model as any other; it cannot be
 * trained.
 */
#ifndef MODEL_ENSEMBLE_H
#define MODEL_ENSEMBLE_H

#include "model/model.h"

/*
 * Takes ownership of the `count` >= 1 members (not of the array), also on failure; `names` say who each is in messages.
 * The caller's: nmt_model_free. Errors: NMT_INVALID when a member prepares text in another way than the first or has
 * other vocabularies, naming the first word that differs.
 */
nmt_status ensemble_create(nmt_model **model, nmt_model *const *members, const char *const *names, size_t count,
                           nmt_error *error);

#endif
