/* The learning rate over a run: a table of schedules, and the warm-up that any of them may begin with. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stdint.h>

#include "model/config.h"

/* Where the run stands before an update. */
typedef struct schedule_position {
    uint64_t update;     /* the number of that update, from 1 */
    uint64_t epoch;      /* from 1 */
    uint64_t reductions; /* how often a plateau has lowered the rate */
    double done;         /* share of the whole run, 0 to below 1 */
} schedule_position;

/* training.learning_rate times what schedule and warm-up leave of it. */
double learning_rate(const nmt_config *config, const schedule_position *at);

#endif
