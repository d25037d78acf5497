#include "train/weight_decay.h"

#include "core/parallel.h"
#include "core/simd.h"

enum { GRAIN = 8192 };

typedef struct decay_pass {
    real *values;
    real rest;
} decay_pass;

static SIMD_CLONES void shrink(void *context, size_t begin, size_t end)
{
    const decay_pass *pass = context;
    real *restrict values = pass->values;
    const real rest = pass->rest;
    SIMD_LOOP
    for (size_t i = begin; i < end; i++) {
        values[i] *= rest;
    }
}

void weight_decay(real *block, const parameter_table *table, double share)
{
    for (size_t t = 0; t < table->count && share > 0; t++) {
        const tensor *entry = &table->tensors[t];
        if (entry->columns > 0 && !entry->frozen) {
            decay_pass pass = {block + entry->offset, (real)(1 - share)};
            parallel_for(tensor_size(entry), GRAIN, shrink, &pass);
        }
    }
}
