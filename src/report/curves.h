/* A training run as a drawing: losses, BLEU and learning rate over its updates, one panel below the other. */
#ifndef REPORT_CURVES_H
#define REPORT_CURVES_H

#include <stddef.h>
#include <stdio.h>

/* One validation; NAN where there is no such number. A panel without numbers is left out. */
typedef struct curve_point {
    double update;
    double training_loss, validation_loss; /* nats per target token */
    double bleu;                           /* 0 to 100 */
    double learning_rate;
} curve_point;

/* SVG of points in the order of their updates. Faults of the file are left for the caller to find by ferror. */
void curves_write(FILE *file, const curve_point *points, size_t count);

#endif
