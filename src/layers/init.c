#include "layers/init.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/rng.h"
#include "core/simd.h"

static void fill_normal(real *values, size_t count, double scale, rng *generator)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)(scale * rng_normal(generator));
    }
}

static void fill_uniform(real *values, size_t count, double bound, rng *generator)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = (real)(bound * (2 * rng_uniform(generator) - 1));
    }
}

static SIMD_CLONES double dot(const double *restrict u, const double *restrict v, size_t n)
{
    double sum = 0;
    _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < n; i++)
    {
        sum += u[i] * v[i];
    }
    return sum;
}

/* v += factor u */
static SIMD_CLONES void add_multiple(double *restrict v, const double *restrict u, double factor, size_t n)
{
    SIMD_LOOP
    for (size_t i = 0; i < n; i++) {
        v[i] += factor * u[i];
    }
}

/* Rows of normal numbers made orthonormal one after the other (Gram and Schmidt, twice for accuracy). */
static void fill_orthogonal(double *square, size_t n, rng *generator)
{
    for (size_t row = 0; row < n; row++) {
        double *v = square + row * n;
        for (size_t i = 0; i < n; i++) {
            v[i] = rng_normal(generator);
        }
        for (size_t other = 0; other < 2 * row; other++) {
            const double *u = square + other % row * n;
            add_multiple(v, u, -dot(u, v, n), n);
        }
        const double norm = sqrt(dot(v, v, n));
        for (size_t i = 0; i < n; i++) {
            v[i] /= norm;
        }
    }
}

static nmt_status init_orthogonal(real *values, const tensor *entry, rng *generator, nmt_error *error)
{
    const size_t n = entry->columns;
    double *square;
    TRY(memory_new(&square, n * n, sizeof *square, "an orthogonal matrix", error));
    for (size_t block = 0; block < entry->rows / n; block++) {
        fill_orthogonal(square, n, generator);
        for (size_t i = 0; i < n * n; i++) {
            values[block * n * n + i] = (real)square[i];
        }
    }
    free(square);
    return NMT_OK;
}

static void init_weight(real *values, const tensor *entry, const init_options *options, rng *generator)
{
    const size_t count = tensor_size(entry);
    if (!options->glorot || entry->init == INIT_ATTENTION) {
        fill_normal(values, count, options->scale, generator);
    } else if (entry->init == INIT_EMBEDDING) {
        fill_normal(values, count, 1 / sqrt((double)entry->columns), generator);
    } else {
        /* The gates of a recurrent matrix are matrices of their own. */
        const size_t out = entry->init == INIT_RECURRENT ? entry->columns : entry->rows;
        fill_uniform(values, count, sqrt(6.0 / (double)(out + entry->columns)), generator);
    }
}

nmt_status init_parameters(real *block, const parameter_table *table, const init_options *options, nmt_error *error)
{
    for (size_t t = 0; t < table->count; t++) {
        const tensor *entry = &table->tensors[t];
        real *values = block + entry->offset;
        rng generator = rng_stream(options->seed, entry->name, 0);
        if (entry->init == INIT_ZERO || entry->init == INIT_ONE) {
            for (size_t i = 0; i < tensor_size(entry); i++) {
                values[i] = entry->init == INIT_ONE;
            }
        } else if (entry->init == INIT_RECURRENT && options->orthogonal) {
            TRY(init_orthogonal(values, entry, &generator, error));
        } else {
            init_weight(values, entry, options, &generator);
        }
    }
    return NMT_OK;
}
