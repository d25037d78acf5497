/* The learning rate over a run. */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stdint.h>

/* `base` halved after every `halve_every` epochs (0: never); epochs count from 1. */
double learning_rate(double base, uint64_t halve_every, uint64_t epoch);

#endif
