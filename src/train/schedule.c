#include "train/schedule.h"

#include <math.h>

/* The share of the configured rate, from 0 to 1. */
typedef double (*schedule)(const nmt_config *config, const schedule_position *at);

static double constant(const nmt_config *config, const schedule_position *at)
{
    (void)config;
    (void)at;
    return 1;
}

/* Half at the start of epoch `halve_from`, and half again after every `halve_every` epochs more. */
static double halving(const nmt_config *config, const schedule_position *at)
{
    const uint64_t every = config->training.halve_every;
    const uint64_t first = config->training.halve_from > 0 ? config->training.halve_from : every + 1;
    return every > 0 && at->epoch >= first ? ldexp(1, -(int)((at->epoch - first) / every + 1)) : 1;
}

static double plateau(const nmt_config *config, const schedule_position *at)
{
    return pow(config->training.plateau_factor, (double)at->reductions);
}

/* Vaswani et al. 2017, section 5.3, scaled to be 1 where the warm-up ends. */
static double inverse_sqrt(const nmt_config *config, const schedule_position *at)
{
    const double warmup = (double)config->training.warmup;
    return sqrt(warmup / fmax(warmup, (double)at->update));
}

static double linear(const nmt_config *config, const schedule_position *at)
{
    return 1 - (1 - config->training.final_rate) * at->done;
}

static const schedule schedules[] = {[SCHEDULE_HALVING] = halving,
                                     [SCHEDULE_CONSTANT] = constant,
                                     [SCHEDULE_PLATEAU] = plateau,
                                     [SCHEDULE_INVERSE_SQRT] = inverse_sqrt,
                                     [SCHEDULE_LINEAR] = linear};

double learning_rate(const nmt_config *config, const schedule_position *at)
{
    const uint64_t warmup = config->training.warmup;
    const double warm = at->update < warmup ? (double)at->update / (double)warmup : 1;
    return config->training.learning_rate * warm * schedules[config->training.schedule](config, at);
}
