#include "layers/columns.h"

#include <string.h>

#include "ops/dropout.h"

columns columns_of(real *data, size_t offset, size_t stride)
{
    return (columns){data != NULL ? data + offset : NULL, stride};
}

columns columns_own(arena *space, size_t rows, size_t width)
{
    return columns_of(arena_reals(space, rows * width), 0, width);
}

real *columns_row(const columns *matrix, size_t row)
{
    return matrix->data + row * matrix->stride;
}

void columns_clear(const columns *matrix, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++) {
        memset(columns_row(matrix, row), 0, width * sizeof *matrix->data);
    }
}

void dropped_layout(dropped *part, arena *space, const columns *whole, size_t rows, size_t width, double rate)
{
    *part = (dropped){.whole = *whole, .seen = *whole, .width = width, .rate = rate};
    if (rate > 0) {
        part->seen = columns_own(space, rows, width);
        part->mask = arena_reals(space, rows * width);
        part->gradient = arena_reals(space, rows * width);
    }
}

void dropped_draw(const dropped *part, size_t rows)
{
    if (part->mask != NULL) {
        dropout_mask(part->mask, rows * part->width, part->rate, part->key);
    }
}

void dropped_forward(const dropped *part, size_t first, size_t rows)
{
    const size_t width = part->width;
    if (part->mask == NULL) {
        return;
    }
    for (size_t row = first; row < first + rows; row++) {
        memcpy(columns_row(&part->seen, row), columns_row(&part->whole, row), width * sizeof(real));
    }
    dropout_apply(columns_row(&part->seen, first), part->seen.stride, part->mask + first * width, rows, width);
}

columns dropped_backward_begin(const dropped *part, const columns *dwhole, size_t first, size_t rows)
{
    if (part->mask == NULL) {
        return *dwhole;
    }
    const columns gradient = columns_of(part->gradient, first * part->width, part->width);
    columns_clear(&gradient, rows, part->width);
    return gradient;
}

void dropped_backward_end(const dropped *part, const columns *dwhole, size_t first, size_t rows)
{
    const size_t width = part->width;
    if (part->mask == NULL) {
        return;
    }
    real *gradient = part->gradient + first * width;
    dropout_apply(gradient, width, part->mask + first * width, rows, width);
    for (size_t row = 0; row < rows; row++) {
        real *to = columns_row(dwhole, row);
        for (size_t i = 0; i < width; i++) {
            to[i] += gradient[row * width + i];
        }
    }
}
