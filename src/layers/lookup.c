#include "layers/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/simd.h"

/* Numbers that one thread moves at least. */
enum { GRAIN = 16384 };

void lookup_layout(lookup *words, arena *space, size_t rows, size_t width, bool once)
{
    *words = (lookup){0};
    if (once) {
        words->place = arena_take(space, rows, sizeof *words->place);
        words->words = arena_take(space, rows, sizeof *words->words);
        words->sorted = arena_take(space, rows, sizeof *words->sorted);
        words->product = arena_reals(space, rows * width);
    }
}

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

void lookup_find(lookup *words, const int32_t *id, size_t rows)
{
    words->rows = words->distinct = rows;
    words->id = id;
    if (words->place == NULL || rows == 0) {
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        words->sorted[row] = (uint64_t)id[row] << 32 | row;
    }
    qsort(words->sorted, rows, sizeof *words->sorted, compare);
    words->distinct = 0;
    for (size_t i = 0; i < rows; i++) {
        const int32_t word = (int32_t)(words->sorted[i] >> 32);
        if (i == 0 || word != words->words[words->distinct - 1]) {
            words->words[words->distinct++] = word;
        }
        words->place[(uint32_t)words->sorted[i]] = (uint32_t)words->distinct - 1;
    }
    words->id = words->words;
}

/* Rows of many, of which some share one row of a few. */
typedef struct spreading {
    const lookup *words;
    real *rows;
    size_t stride, width;
} spreading;

static void spread(void *context, size_t begin, size_t end)
{
    const spreading *of = context;
    for (size_t row = begin; row < end; row++) {
        memcpy(of->rows + row * of->stride, of->words->product + of->words->place[row] * of->width,
               of->width * sizeof *of->rows);
    }
}

void lookup_forward(const lookup *words, const weights_view *theta, real *y, size_t ldy, const real *x, size_t ldx,
                    size_t matrix, size_t ldw, size_t bias, size_t out, size_t in)
{
    if (words->place == NULL) {
        weights_forward(theta, y, ldy, x, ldx, matrix, ldw, bias, words->rows, out, in);
        return;
    }
    weights_forward(theta, words->product, out, x, ldx, matrix, ldw, bias, words->distinct, out, in);
    spreading of = {words, y, ldy, out};
    parallel_for(words->rows, GRAIN / out + 1, spread, &of);
}

/* Columns begin .. end-1, so that each sum is in the order of the rows, whatever the number of threads. */
static SIMD_CLONES void sum_columns(void *context, size_t begin, size_t end)
{
    const spreading *of = context;
    for (size_t word = 0; word < of->words->distinct; word++) {
        memset(of->words->product + word * of->width + begin, 0, (end - begin) * sizeof *of->rows);
    }
    for (size_t row = 0; row < of->words->rows; row++) {
        real *restrict sum = of->words->product + of->words->place[row] * of->width;
        const real *restrict from = of->rows + row * of->stride;
        SIMD_LOOP
        for (size_t i = begin; i < end; i++) {
            sum[i] += from[i];
        }
    }
}

columns lookup_sum(const lookup *words, real *dy, size_t lddy, size_t width)
{
    if (words->place == NULL) {
        return columns_of(dy, 0, lddy);
    }
    spreading of = {words, dy, lddy, width};
    parallel_for(width, words->rows * width < 2 * GRAIN ? width : 64, sum_columns, &of);
    return columns_of(words->product, 0, width);
}
