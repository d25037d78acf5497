/* What the log says at the start and at the end of a run. */
#ifndef TRAIN_RUN_NOTES_H
#define TRAIN_RUN_NOTES_H

#include "train/trainer.h"

nmt_status run_notes_start(const trainer *run, nmt_error *error);
void run_notes_end(const trainer *run);

#endif
