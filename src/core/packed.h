/*
 * Weight matrices packed for products with few rows, such as the steps of a recurrent network have. A general product
 * reorders the matrix in every call, which then takes as long as the product itself; where the same matrix serves many
 * steps, it is reordered once:
 *
 *   W[out, in]  ->  ceil(out / PACKED_WIDTH) panels, each [in, PACKED_WIDTH], the last one filled up with zeros
 *
 * Every number of a product is one sum over `in`, in order: neither the other rows, nor the cutting over threads, nor
 * what part of the panels is asked for changes a bit of it.
 */
#ifndef CORE_PACKED_H
#define CORE_PACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/real.h"

/* Outputs of one panel: three vectors of AVX-512, six of AVX2. */
enum { PACKED_WIDTH = 48 };

/* Whether packing pays on this processor. Where there is no kernel for its vectors, BLAS is the faster; in double it
 * always does, so that the gradient check goes the ways of training. */
bool packed_pays(void);

/* Kernels that this processor can run, at least 1; number 0 is the best and in use, the last one plain C. Another is
 * chosen for comparison only, while no product is being computed. */
size_t packed_kernels(void);
void packed_choose(size_t kernel);

/* Numbers that the panels of W[out,in] take. */
size_t packed_size(size_t out, size_t in);

/* The panels of W[out,in], and those of its transpose: of a matrix [in,out]. */
void packed_fill(real *panels, const real *W, size_t out, size_t in);
void packed_fill_transposed(real *panels, const real *W, size_t out, size_t in);

/* A part of a packed matrix, from an output and an input on. */
typedef struct packed_matrix {
    const real *panels;
    size_t width; /* `in` of the whole */
    size_t row, column;
} packed_matrix;

/* y[rows,out] += x[rows,in] W^T. */
void packed_product(real *y, size_t ldy, const real *x, size_t ldx, const packed_matrix *W, size_t rows, size_t out,
                    size_t in);

#endif
