#include "layers/weights.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "ops/linear.h"

/* Numbers lie where the block has them; scales one after another, a matrix's rows from `scale` on. */
struct weights_quantized {
    int8_t *values; /* [block] */
    real *scales;
    struct quantized_tensor {
        size_t offset, columns, scale;
    } tensors[PARAMETERS_CAPACITY];
    size_t count;
    size_t widest; /* columns of any matrix */
};

static nmt_status allocate(weights_quantized *all, const parameter_table *table, nmt_error *error)
{
    size_t scales = 0;
    for (size_t i = 0; i < table->count; i++) {
        const tensor *entry = &table->tensors[i];
        if (entry->columns > 0) {
            all->tensors[all->count++] = (struct quantized_tensor){entry->offset, entry->columns, scales};
            all->widest = entry->columns > all->widest ? entry->columns : all->widest;
            scales += entry->rows;
        }
    }
    TRY(memory_new(&all->values, table->size, sizeof *all->values, "weights in 8 bits", error));
    return memory_new(&all->scales, scales, sizeof *all->scales, "scales of weights", error);
}

nmt_status weights_quantize(weights_quantized **quantized, const parameter_table *table, const real *block,
                            nmt_error *error)
{
    weights_quantized *all;
    TRY(memory_new(&all, 1, sizeof *all, "weights in 8 bits", error));
    const nmt_status status = allocate(all, table, error);
    if (status != NMT_OK) {
        weights_quantized_free(all);
        return status;
    }
    real *scale = all->scales;
    for (size_t i = 0; i < table->count; i++) {
        const tensor *entry = &table->tensors[i];
        for (size_t row = 0; entry->columns > 0 && row < entry->rows; row++) {
            const size_t first = entry->offset + row * entry->columns;
            quantize_row(all->values + first, scale++, block + first, entry->columns);
        }
    }
    *quantized = all;
    return NMT_OK;
}

void weights_quantized_free(weights_quantized *quantized)
{
    if (quantized != NULL) {
        free(quantized->values);
        free(quantized->scales);
        free(quantized);
    }
}

void weights_layout_packed(weights_packed *packed, arena *space, const parameter_table *table, tensor_use use,
                           bool with_gradient)
{
    packed->count = 0;
    for (size_t i = 0; i < table->count && packed_pays(); i++) {
        const tensor *entry = &table->tensors[i];
        const size_t rows = entry->rows, columns = entry->columns;
        if (entry->use >= use) {
            packed->tensors[packed->count++] = (struct packed_tensor){
                .offset = entry->offset,
                .rows = rows,
                .columns = columns,
                .panels = arena_reals(space, packed_size(rows, columns)),
                .transposed = with_gradient ? arena_reals(space, packed_size(columns, rows)) : NULL};
        }
    }
}

void weights_pack(weights_packed *packed, const real *block)
{
    for (size_t i = 0; i < packed->count; i++) {
        const struct packed_tensor *each = &packed->tensors[i];
        packed_fill(each->panels, block + each->offset, each->rows, each->columns);
        if (each->transposed != NULL) {
            packed_fill_transposed(each->transposed, block + each->offset, each->rows, each->columns);
        }
    }
}

void weights_layout(weights_view *theta, arena *space, size_t rows)
{
    if (theta->quantized != NULL) {
        theta->scratch.values = arena_take(space, rows * theta->quantized->widest, sizeof(int16_t));
        theta->scratch.step = arena_reals(space, rows);
    }
}

weights_view weights_beside(const weights_view *theta, size_t rows)
{
    weights_view beside = *theta;
    if (theta->quantized != NULL) {
        beside.scratch.values += rows * theta->quantized->widest;
        beside.scratch.step += rows;
    }
    return beside;
}

/* The matrix that `offset` lies in, from that element on. */
static quantized_matrix matrix_at(const weights_quantized *all, size_t offset, size_t ldw)
{
    size_t i = all->count - 1;
    while (all->tensors[i].offset > offset) {
        i--;
    }
    const struct quantized_tensor *found = &all->tensors[i];
    return (quantized_matrix){all->values + offset, ldw,
                              all->scales + found->scale + (offset - found->offset) / found->columns};
}

/* Where an element of the block lies: in a packed tensor, or in none (NULL). */
typedef struct packed_place {
    const struct packed_tensor *tensor;
    size_t row, column;
} packed_place;

static packed_place place_of(const weights_view *theta, size_t offset)
{
    for (size_t i = 0; theta->packed != NULL && i < theta->packed->count; i++) {
        const struct packed_tensor *each = &theta->packed->tensors[i];
        if (each->offset <= offset && offset < each->offset + each->rows * each->columns) {
            const size_t behind = offset - each->offset;
            return (packed_place){each, behind / each->columns, behind % each->columns};
        }
    }
    return (packed_place){0};
}

void weights_forward_add(const weights_view *theta, real *y, size_t ldy, const real *x, size_t ldx, size_t matrix,
                         size_t ldw, size_t rows, size_t out, size_t in)
{
    if (theta->quantized != NULL) {
        const quantized_matrix W = matrix_at(theta->quantized, matrix, ldw);
        quantized_product(y, ldy, x, ldx, &W, rows, out, in, &theta->scratch);
        return;
    }
    const packed_place at = place_of(theta, matrix);
    if (at.tensor == NULL) {
        linear_forward_add(y, ldy, x, ldx, theta->block + matrix, ldw, rows, out, in);
        return;
    }
    const packed_matrix W = {at.tensor->panels, at.tensor->columns, .row = at.row, .column = at.column};
    packed_product(y, ldy, x, ldx, &W, rows, out, in);
}

void weights_forward(const weights_view *theta, real *y, size_t ldy, const real *x, size_t ldx, size_t matrix,
                     size_t ldw, size_t bias, size_t rows, size_t out, size_t in)
{
    const real *b = bias != WEIGHTS_NO_BIAS ? theta->block + bias : NULL;
    if (theta->quantized == NULL && place_of(theta, matrix).tensor == NULL) {
        linear_forward(y, ldy, x, ldx, theta->block + matrix, ldw, b, rows, out, in);
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        if (b != NULL) {
            memcpy(y + row * ldy, b, out * sizeof *y);
        } else {
            memset(y + row * ldy, 0, out * sizeof *y);
        }
    }
    weights_forward_add(theta, y, ldy, x, ldx, matrix, ldw, rows, out, in);
}

void weights_backward_input(const weights_view *theta, real *dx, size_t lddx, const real *dy, size_t lddy,
                            size_t matrix, size_t ldw, size_t rows, size_t out, size_t in)
{
    const packed_place at = place_of(theta, matrix);
    if (at.tensor == NULL || at.tensor->transposed == NULL) {
        linear_backward_input(dx, lddx, dy, lddy, theta->block + matrix, ldw, rows, out, in);
        return;
    }
    const packed_matrix W = {at.tensor->transposed, at.tensor->rows, .row = at.column, .column = at.row};
    packed_product(dx, lddx, dy, lddy, &W, rows, in, out);
}
