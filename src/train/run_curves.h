/* curves.svg of a run: what its history says, drawn. */
#ifndef TRAIN_RUN_CURVES_H
#define TRAIN_RUN_CURVES_H

#include "core/error.h"
#include "core/json.h"
#include "model/config.h"

/* Writes it into the output directory; nothing of it depends on how often the run was stopped and resumed. */
nmt_status run_curves_save(const json *history, const nmt_config *config, nmt_error *error);

#endif
