/* How much of a gradient arrives through attention's Value path and how much through its Score path. */
#ifndef TRAIN_GRADIENT_PATHS_H
#define TRAIN_GRADIENT_PATHS_H

#include <nmt/gradcheck.h>

#include "core/error.h"
#include "data/batch.h"
#include "model/model.h"

/* Fills the part of the report that is about paths: norms at the annotations, the rooms, and the positions, which are
 * the caller's: nmt_gradcheck_clear, also after a failure. */
nmt_status gradient_paths_measure(nmt_gradcheck_report *report, nmt_model *model, const batch *pairs, nmt_error *error);

#endif
