#include "train/schedule.h"

#include <math.h>

double learning_rate(double base, uint64_t halve_every, uint64_t epoch)
{
    return halve_every > 0 ? ldexp(base, -(int)((epoch - 1) / halve_every)) : base;
}
