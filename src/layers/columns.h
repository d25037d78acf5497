/*
 * A column range of a matrix, so that parts of a wider matrix are computed in place; and such a range as it is read
 * through dropout.
 */
#ifndef LAYERS_COLUMNS_H
#define LAYERS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/real.h"

/* Row i starts at data + i * stride. */
typedef struct columns {
    real *data;
    size_t stride;
} columns;

/* Columns from `offset` on of a matrix [rows, stride]; and a matrix of their own. */
columns columns_of(real *data, size_t offset, size_t stride);
columns columns_own(arena *space, size_t rows, size_t width);
/* Row `row` and what follows it. */
real *columns_row(const columns *matrix, size_t row);
void columns_clear(const columns *matrix, size_t rows, size_t width);

/* What one reader sees of columns that others see whole. */
typedef struct dropped {
    columns whole, seen; /* [N,width]; the same where nothing is dropped */
    size_t width;
    double rate;
    real *mask, *gradient; /* [N,width] of dropout, and the gradient at `seen`; or NULL */
    uint64_t key;          /* of the mask, set between layout and draw */
} dropped;

/* `rate` 0: nothing is dropped. */
void dropped_layout(dropped *part, arena *space, const columns *whole, size_t rows, size_t width, double rate);

/* The mask of `rows` rows, where there is one. */
void dropped_draw(const dropped *part, size_t rows);

/* `seen` of rows first .. first+rows-1. */
void dropped_forward(const dropped *part, size_t first, size_t rows);

/*
 * Backward of the same rows between two calls: what begin returns is where the gradient at `seen` is to be added, from
 * the first of the rows on; end adds what comes of it to dwhole[rows, width], which starts at the first of them too.
 */
columns dropped_backward_begin(const dropped *part, const columns *dwhole, size_t first, size_t rows);
void dropped_backward_end(const dropped *part, const columns *dwhole, size_t first, size_t rows);

#endif
