/*
 * Gradients against central differences, in double. For every element x of a tensor
 *
 *     n = (L(x + h) - L(x - h)) / 2h      and      |a - n| <= 1e-8 + 1e-6 max(|a|, |n|),
 *
 * a being what the backward pass says. Signs count, and so does NaN.
 *
 * Where the output is an array y, fixed weights w make a number of it: L = sum_i w_i y_i (gradcheck_sum), so that
 * dL/dy = w is what backward starts from.
 *
 * Backward adds. So gradients start from a known number (gradcheck_prefill), which the check takes off again: a pass
 * that overwrites fails on every element.
 */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include <math.h>
#include <stdbool.h>

#include "layers/parameters.h"

static const double gradcheck_step = 1e-5;
static const double gradcheck_before = 0.75; /* what gradients start from */

/* The number whose gradient is checked, of whatever `context` holds. */
typedef double (*gradcheck_loss)(void *context);

static inline double gradcheck_sum(const double *w, const double *y, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += w[i] * y[i];
    }
    return sum;
}

static inline void gradcheck_prefill(double *gradient, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gradient[i] = gradcheck_before;
    }
}

static inline double gradcheck_quotient(double *x, double step, gradcheck_loss loss, void *context)
{
    const double here = *x;
    *x = here + step;
    const double above = loss(context);
    *x = here - step;
    const double below = loss(context);
    *x = here;
    return (above - below) / (2 * step);
}

static inline double gradcheck_difference(double *x, gradcheck_loss loss, void *context)
{
    return gradcheck_quotient(x, gradcheck_step, loss, context);
}

/* Where the loss bends within the step: a shorter one, and without the error of second order (Richardson 1911). */
static inline double gradcheck_closer(double *x, gradcheck_loss loss, void *context)
{
    const double step = gradcheck_step / 8;
    return (4 * gradcheck_quotient(x, step / 2, loss, context) - gradcheck_quotient(x, step, loss, context)) / 3;
}

static inline bool gradcheck_agrees(double a, double n)
{
    return fabs(a - n) <= 1e-8 + 1e-6 * fmax(fabs(a), fabs(n));
}

/* Holds the `count` gradients, prefilled and added to, against differences of the loss in each of `values`. */
static inline void gradcheck(const char *name, double *values, const double *gradient, size_t count,
                             gradcheck_loss loss, void *context)
{
    for (size_t i = 0; i < count; i++) {
        const double n = gradcheck_difference(&values[i], loss, context);
        const double a = gradient[i] - gradcheck_before;
        if (!gradcheck_agrees(a, n)) {
            fail_msg("%s[%zu]: the gradient is %.12g, the difference quotient %.12g", name, i, a, n);
        }
    }
}

/* The same for every tensor of a block of parameters. */
static inline void gradcheck_parameters(const parameter_table *table, double *theta, const double *dtheta,
                                        gradcheck_loss loss, void *context)
{
    for (size_t i = 0; i < table->count; i++) {
        const tensor *entry = &table->tensors[i];
        gradcheck(entry->name, theta + entry->offset, dtheta + entry->offset, tensor_size(entry), loss, context);
    }
}

#endif
