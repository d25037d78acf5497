/* The number type of the model: float, or double in the build that checks gradients (-DNMT_DOUBLE). */
#ifndef CORE_REAL_H
#define CORE_REAL_H

#include <math.h>

#ifdef NMT_DOUBLE
typedef double real;
#define REAL(name) name
#else
typedef float real;
/* REAL(exp) is expf here and exp in double. */
#define REAL(name) name##f
#endif

#endif
