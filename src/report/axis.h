/* The axis of a chart, with ticks at round numbers. */
#ifndef REPORT_AXIS_H
#define REPORT_AXIS_H

/* From the first to the last of its ticks, which are whole multiples of a step. */
typedef struct axis {
    double step;
    double first, last; /* in steps */
} axis;

/* About four steps, each 1, 2 or 5 times a power of ten. */
axis axis_over(double least, double most);

/* Where a number stands between the ends of its axis, 0 to 1. */
double axis_place(const axis *on, double number);

#endif
