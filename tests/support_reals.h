/* Arrays of numbers for tests. */
#ifndef SUPPORT_REALS_H
#define SUPPORT_REALS_H

#include <math.h>
#include <stdlib.h>

#include "core/real.h"
#include "core/rng.h"

/* `count` numbers from N(0, scale^2), other ones for every seed; the caller's: free(). */
static inline real *normal_reals(size_t count, double scale, uint64_t seed)
{
    rng generator = rng_stream(seed, "test", 0);
    real *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)(scale * rng_normal(&generator));
    }
    return values;
}

/* `count` times NaN: what is read before it is written shows. */
static inline real *nan_reals(size_t count)
{
    real *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)NAN;
    }
    return values;
}

/* NaN is near nothing. */
static inline void assert_near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance)) {
        fail_msg("%.17g is not within %g of %.17g", found, tolerance, expected);
    }
}

static inline void assert_all_near(const real *found, const real *expected, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)found[i] - (double)expected[i]) <= tolerance)) {
            fail_msg("element %zu: %.17g is not within %g of %.17g", i, (double)found[i], tolerance,
                     (double)expected[i]);
        }
    }
}

#endif
