/*
 * The kernels differ in their instructions alone; each computes the same integers. Four rows of W go through x
 * together, and the rows behind them are asked of memory meanwhile: the processor's own prefetching does not keep up
 * with rows this short.
 */
#include "core/quantized.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/cpu.h"
#include "core/parallel.h"
#include "core/simd.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(NMT_PORTABLE)
#define HAVE_X86_KERNELS 1
#include <immintrin.h>
#endif

enum { TILE = 4, CACHE_LINE = 64, GRAIN = 32 };

void quantize_row(int8_t *q, real *scale, const real *row, size_t count)
{
    real largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = REAL(fmax)(largest, REAL(fabs)(row[i]));
    }
    *scale = largest / 127;
    for (size_t i = 0; i < count; i++) {
        q[i] = largest > 0 ? (int8_t)REAL(nearbyint)(row[i] / *scale) : 0;
    }
}

/* The largest |p| that keeps `in` products with 127 inside 32 bits. */
static real input_range(size_t in)
{
    const size_t range = INT32_MAX / 127 / (in > 0 ? in : 1);
    return (real)(range < INT16_MAX ? range : INT16_MAX);
}

static SIMD_CLONES void quantize_input(int16_t *p, real *step, const real *x, size_t in)
{
    real largest = 0, sum = 0;
    for (size_t i = 0; i < in; i++) {
        const real size = REAL(fabs)(x[i]);
        largest = size > largest ? size : largest;
        sum += 0 * x[i];
    }
    if (sum != 0) { /* 0 times NaN or infinity */
        *step = NAN;
        memset(p, 0, in * sizeof *p);
        return;
    }
    const real range = input_range(in);
    *step = largest / range;
    for (size_t i = 0; i < in; i++) {
        p[i] = largest > 0 ? (int16_t)REAL(nearbyint)(x[i] / largest * range) : 0;
    }
}

/* sum[column][n] += row n of q times column p[column], for `rows` rows and `columns` columns. */
static void dots_plain(int32_t sum[][TILE], const int8_t *q, size_t stride, size_t rows, const int16_t *p, size_t ldp,
                       size_t columns, size_t in)
{
    for (size_t column = 0; column < columns; column++) {
        for (size_t n = 0; n < rows; n++) {
            for (size_t k = 0; k < in; k++) {
                sum[column][n] += q[n * stride + k] * p[column * ldp + k];
            }
        }
    }
}

/* The same of TILE rows, for a length that is a multiple of `width`, and of one column or of TILE. */
typedef struct kernel {
    size_t width;
    void (*add_dots)(int32_t sum[][TILE], const int8_t *q, size_t stride, const int16_t *p, size_t ldp, size_t columns,
                     size_t in);
} kernel;

static void dots_portable(int32_t sum[][TILE], const int8_t *q, size_t stride, const int16_t *p, size_t ldp,
                          size_t columns, size_t in)
{
    dots_plain(sum, q, stride, TILE, p, ldp, columns, in);
}

static kernel chosen = {1, dots_portable};

#ifdef HAVE_X86_KERNELS
#define FORCE_INLINE inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))

static FORCE_INLINE void prefetch_next_tile(const int8_t *w, size_t stride, size_t k)
{
    if (k % CACHE_LINE == 0) {
        __builtin_prefetch(w + TILE * stride);
    }
}

/* `columns` is known when this is compiled, so that the sums stay in registers. */
AVX2 static FORCE_INLINE void add_avx2(int32_t sum[][TILE], const int8_t *q, size_t stride, const int16_t *p,
                                       size_t ldp, size_t columns, size_t in)
{
    __m256i total[TILE][TILE];
    for (size_t i = 0; i < columns * TILE; i++) {
        total[i / TILE][i % TILE] = _mm256_setzero_si256();
    }
    for (size_t k = 0; k < in; k += 16) {
        for (size_t n = 0; n < TILE; n++) {
            const int8_t *w = q + n * stride + k;
            prefetch_next_tile(w, stride, k);
            const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)w));
            for (size_t c = 0; c < columns; c++) {
                const __m256i x = _mm256_loadu_si256((const void *)(p + c * ldp + k));
                total[c][n] = _mm256_add_epi32(total[c][n], _mm256_madd_epi16(wide, x));
            }
        }
    }
    for (size_t i = 0; i < columns * TILE; i++) {
        int32_t lane[8];
        _mm256_storeu_si256((void *)lane, total[i / TILE][i % TILE]);
        sum[i / TILE][i % TILE] += lane[0] + lane[1] + lane[2] + lane[3] + lane[4] + lane[5] + lane[6] + lane[7];
    }
}

AVX2 static void dots_avx2(int32_t sum[][TILE], const int8_t *q, size_t stride, const int16_t *p, size_t ldp,
                           size_t columns, size_t in)
{
    if (columns == TILE) {
        add_avx2(sum, q, stride, p, ldp, TILE, in);
    } else {
        add_avx2(sum, q, stride, p, ldp, 1, in);
    }
}

AVX512 static FORCE_INLINE void add_avx512(int32_t sum[][TILE], const int8_t *q, size_t stride, const int16_t *p,
                                           size_t ldp, size_t columns, size_t in)
{
    __m512i total[TILE][TILE];
    for (size_t i = 0; i < columns * TILE; i++) {
        total[i / TILE][i % TILE] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < in; k += 32) {
        for (size_t n = 0; n < TILE; n++) {
            const int8_t *w = q + n * stride + k;
            prefetch_next_tile(w, stride, k);
            const __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)w));
            for (size_t c = 0; c < columns; c++) {
                const __m512i x = _mm512_loadu_si512(p + c * ldp + k);
                total[c][n] = _mm512_add_epi32(total[c][n], _mm512_madd_epi16(wide, x));
            }
        }
    }
    for (size_t i = 0; i < columns * TILE; i++) {
        sum[i / TILE][i % TILE] += _mm512_reduce_add_epi32(total[i / TILE][i % TILE]);
    }
}

AVX512 static void dots_avx512(int32_t sum[][TILE], const int8_t *q, size_t stride, const int16_t *p, size_t ldp,
                               size_t columns, size_t in)
{
    if (columns == TILE) {
        add_avx512(sum, q, stride, p, ldp, TILE, in);
    } else {
        add_avx512(sum, q, stride, p, ldp, 1, in);
    }
}
#endif

static void choose_kernel(void)
{
#ifdef HAVE_X86_KERNELS
    const cpu_features features = cpu_detect();
    if (features.avx512) {
        chosen = (kernel){32, dots_avx512};
    } else if (features.avx2) {
        chosen = (kernel){16, dots_avx2};
    }
#endif
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

typedef struct product {
    real *y;
    size_t ldy;
    const quantized_matrix *W;
    const quantized_scratch *x;
    size_t rows, in;
} product;

/* Rows n .. of W times the inputs `row` ..: `count` of those, `columns` of these. */
static void multiply_tile(const product *of, size_t n, size_t count, size_t row, size_t columns)
{
    const int8_t *q = of->W->values + n * of->W->stride;
    const int16_t *p = of->x->values + row * of->in;
    const size_t whole = count == TILE ? of->in / chosen.width * chosen.width : 0;
    int32_t sum[TILE][TILE] = {{0}};
    if (whole > 0) {
        chosen.add_dots(sum, q, of->W->stride, p, of->in, columns, whole);
    }
    dots_plain(sum, q + whole, of->W->stride, count, p + whole, of->in, columns, of->in - whole);
    for (size_t c = 0; c < columns; c++) {
        for (size_t i = 0; i < count; i++) {
            of->y[(row + c) * of->ldy + n + i] += (real)sum[c][i] * of->W->scale[n + i] * of->x->step[row + c];
        }
    }
}

static void multiply(void *context, size_t begin, size_t end)
{
    const product *of = context;
    for (size_t n = begin; n < end; n += TILE) {
        const size_t count = end - n < TILE ? end - n : TILE;
        for (size_t row = 0; row < of->rows;) {
            const size_t columns = of->rows - row < TILE ? 1 : TILE;
            multiply_tile(of, n, count, row, columns);
            row += columns;
        }
    }
}

void quantized_product(real *y, size_t ldy, const real *x, size_t ldx, const quantized_matrix *W, size_t rows,
                       size_t out, size_t in, const quantized_scratch *scratch)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_kernel);
    for (size_t row = 0; row < rows; row++) {
        quantize_input(scratch->values + row * in, &scratch->step[row], x + row * ldx, in);
    }
    product of = {y, ldy, W, scratch, rows, in};
    parallel_for(out, rows * in * out < PARALLEL_PRODUCT ? out + 1 : GRAIN, multiply, &of);
}
