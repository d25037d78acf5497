#include "layers/parameters.h"

#include <assert.h>
#include <stdio.h>

size_t tensor_size(const tensor *entry)
{
    return entry->rows * (entry->columns > 0 ? entry->columns : 1);
}

size_t parameters_add(parameter_table *table, const char *name, size_t rows, size_t columns, tensor_init init)
{
    assert(table->count < PARAMETERS_CAPACITY);
    tensor *entry = &table->tensors[table->count++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->rows = rows;
    entry->columns = columns;
    entry->offset = table->size;
    entry->init = init;
    entry->use = columns > 0 && init != INIT_EMBEDDING ? USE_MATRIX : USE_ROWS;
    entry->frozen = false;
    table->size += tensor_size(entry);
    return entry->offset;
}

void parameters_use(parameter_table *table, size_t offset, tensor_use use)
{
    size_t i = table->count - 1;
    while (table->tensors[i].offset > offset) {
        i--;
    }
    if (use > table->tensors[i].use) {
        table->tensors[i].use = use;
    }
}
