/* What nmt_evaluation is inside. */
#ifndef METRICS_EVALUATION_H
#define METRICS_EVALUATION_H

#include "metrics/metric.h"

struct nmt_evaluation {
    const metric *by;
    nmt_metric_options options;
    size_t line_count;
    uint64_t *lines; /* [line_count][by->counts] */
    uint64_t sums[METRIC_COUNTS];
    char signature[SIGNATURE_CAPACITY];
};

#endif
