#include "ops/dropout.h"

#include "core/parallel.h"
#include "core/rng.h"
#include "core/simd.h"

/* Elements that draw from one stream. */
enum { CHUNK = 8192 };

typedef struct mask_pass {
    real *mask;
    size_t count;
    uint64_t key, threshold; /* an element is dropped when its 32 bits are under the threshold */
    real kept;
} mask_pass;

static void fill_chunks(void *context, size_t begin, size_t end)
{
    const mask_pass *pass = context;
    for (size_t chunk = begin; chunk < end; chunk++) {
        rng generator = rng_stream(pass->key, "dropout", chunk);
        const size_t last = (chunk + 1) * CHUNK < pass->count ? (chunk + 1) * CHUNK : pass->count;
        for (size_t i = chunk * CHUNK; i < last; i += 2) {
            const uint64_t bits = rng_next(&generator);
            pass->mask[i] = (bits & 0xffffffffu) < pass->threshold ? 0 : pass->kept;
            if (i + 1 < last) {
                pass->mask[i + 1] = bits >> 32 < pass->threshold ? 0 : pass->kept;
            }
        }
    }
}

static uint64_t threshold_of(double rate)
{
    return (uint64_t)(rate * 0x1.0p32);
}

void dropout_mask(real *mask, size_t count, double rate, uint64_t key)
{
    mask_pass pass = {mask, count, key, threshold_of(rate), (real)(1 / (1 - rate))};
    parallel_for((count + CHUNK - 1) / CHUNK, 1, fill_chunks, &pass);
}

static SIMD_CLONES void multiply(real *restrict y, const real *restrict mask, size_t width)
{
    SIMD_LOOP
    for (size_t i = 0; i < width; i++) {
        y[i] *= mask[i];
    }
}

void dropout_apply(real *y, size_t stride, const real *mask, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++) {
        multiply(y + row * stride, mask + row * width, width);
    }
}

void dropout_mask_rows(real *mask, size_t rows, size_t width, double rate, uint64_t key)
{
    rng generator = rng_stream(key, "dropout", 0);
    const real kept = (real)(1 / (1 - rate));
    for (size_t row = 0; row < rows; row++) {
        const real factor = rng_next(&generator) >> 32 < threshold_of(rate) ? 0 : kept;
        for (size_t i = 0; i < width; i++) {
            mask[row * width + i] *= factor;
        }
    }
}
