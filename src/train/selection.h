/* Which model of a run is kept: validation, the best by the metric, the average of the best, and the saving of both
 * model and state. */
#ifndef TRAIN_SELECTION_H
#define TRAIN_SELECTION_H

#include "train/trainer.h"

nmt_status selection_save_state(trainer *run, nmt_error *error);

/* The update itself may leave the range of numbers, and nothing but numbers may reach the files. */
nmt_status selection_check_parameters(const trainer *run, nmt_error *error);

/* Measures the model, tells, keeps it where it is the best so far, and sees whether the run is over by patience. */
nmt_status selection_validate(trainer *run, nmt_error *error);

/* Behind the last update: the average of the best models, which becomes the run's model where it is better than each.
 * Changes no state, so that a run with more epochs goes on as if it had not ended. */
nmt_status selection_finish(trainer *run, nmt_error *error);

#endif
