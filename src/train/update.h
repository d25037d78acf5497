/* One update: loss and gradient of a batch, or of several, clip, move. */
#ifndef TRAIN_UPDATE_H
#define TRAIN_UPDATE_H

#include "data/epoch.h"
#include "train/trainer.h"

/* The next update of the epoch, which has batches left. A batch that is not finite ends the run, or is left out and
 * counted. */
nmt_status update_make(trainer *run, const epoch_plan *plan, nmt_error *error);

#endif
