/*
 * A panel stays in the second cache while the rows pass it, a tile of TILE_ROWS at a time: 8 rows by 48 outputs are 24
 * sums in registers of AVX-512, and each number of x that is loaded serves three of them, each vector of the panel
 * eight. What follows in the panel is asked of memory ahead of its use.
 */
#include "core/packed.h"

#include <pthread.h>
#include <string.h>

#include "core/cpu.h"
#include "core/parallel.h"
#include "core/simd.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(NMT_PORTABLE) && !defined(NMT_DOUBLE)
#define HAVE_X86_KERNELS 1
#include <immintrin.h>
#endif

enum { TILE_ROWS = 8 };

/* y[rows,PACKED_WIDTH] += x[rows,in] times a panel; rows <= TILE_ROWS. */
typedef void (*kernel)(real *y, size_t ldy, const real *panel, const real *x, size_t ldx, size_t in, size_t rows);

static SIMD_CLONES void add_portable(real *y, size_t ldy, const real *panel, const real *x, size_t ldx, size_t in,
                                     size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        real sum[PACKED_WIDTH] = {0};
        for (size_t k = 0; k < in; k++) {
            SIMD_LOOP
            for (size_t i = 0; i < PACKED_WIDTH; i++) {
                sum[i] += x[row * ldx + k] * panel[k * PACKED_WIDTH + i];
            }
        }
        for (size_t i = 0; i < PACKED_WIDTH; i++) {
            y[row * ldy + i] += sum[i];
        }
    }
}

#ifdef HAVE_X86_KERNELS
#define FORCE_INLINE inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))

/* Rows of a panel between use and prefetch: 6 KB. */
enum { AHEAD = 32, CACHE_LINE_NUMBERS = 16, WIDTH_512 = 3, WIDTH_256 = 3, ROWS_256 = 4 };

static FORCE_INLINE void prefetch_ahead(const real *at)
{
    for (size_t i = 0; i < PACKED_WIDTH; i += CACHE_LINE_NUMBERS) {
        __builtin_prefetch(at + AHEAD * PACKED_WIDTH + i);
    }
}

/* `rows` is known when this is compiled, so that the sums stay in registers. */
AVX512 static FORCE_INLINE void add_rows_avx512(real *y, size_t ldy, const real *panel, const real *x, size_t ldx,
                                                size_t in, size_t rows)
{
    __m512 sum[TILE_ROWS][WIDTH_512];
    for (size_t i = 0; i < rows * WIDTH_512; i++) {
        sum[i / WIDTH_512][i % WIDTH_512] = _mm512_setzero_ps();
    }
    for (size_t k = 0; k < in; k++, panel += PACKED_WIDTH) {
        const __m512 w[WIDTH_512] = {_mm512_loadu_ps(panel), _mm512_loadu_ps(panel + 16), _mm512_loadu_ps(panel + 32)};
        prefetch_ahead(panel);
        for (size_t row = 0; row < rows; row++) {
            const __m512 each = _mm512_set1_ps(x[row * ldx + k]);
            for (size_t v = 0; v < WIDTH_512; v++) {
                sum[row][v] = _mm512_fmadd_ps(each, w[v], sum[row][v]);
            }
        }
    }
    for (size_t i = 0; i < rows * WIDTH_512; i++) {
        real *to = y + i / WIDTH_512 * ldy + i % WIDTH_512 * 16;
        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), sum[i / WIDTH_512][i % WIDTH_512]));
    }
}

AVX512 static void add_avx512(real *y, size_t ldy, const real *panel, const real *x, size_t ldx, size_t in, size_t rows)
{
    switch (rows) {
    case 1:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 1);
        break;
    case 2:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 2);
        break;
    case 3:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 3);
        break;
    case 4:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 4);
        break;
    case 5:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 5);
        break;
    case 6:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 6);
        break;
    case 7:
        add_rows_avx512(y, ldy, panel, x, ldx, in, 7);
        break;
    default:
        add_rows_avx512(y, ldy, panel, x, ldx, in, TILE_ROWS);
        break;
    }
}

/* Half a panel: 16 registers hold 12 sums. */
AVX2 static FORCE_INLINE void add_rows_avx2(real *y, size_t ldy, const real *panel, const real *x, size_t ldx,
                                            size_t in, size_t rows)
{
    __m256 sum[ROWS_256][WIDTH_256];
    for (size_t i = 0; i < rows * WIDTH_256; i++) {
        sum[i / WIDTH_256][i % WIDTH_256] = _mm256_setzero_ps();
    }
    for (size_t k = 0; k < in; k++, panel += PACKED_WIDTH) {
        const __m256 w[WIDTH_256] = {_mm256_loadu_ps(panel), _mm256_loadu_ps(panel + 8), _mm256_loadu_ps(panel + 16)};
        prefetch_ahead(panel);
        for (size_t row = 0; row < rows; row++) {
            const __m256 each = _mm256_set1_ps(x[row * ldx + k]);
            for (size_t v = 0; v < WIDTH_256; v++) {
                sum[row][v] = _mm256_fmadd_ps(each, w[v], sum[row][v]);
            }
        }
    }
    for (size_t i = 0; i < rows * WIDTH_256; i++) {
        real *to = y + i / WIDTH_256 * ldy + i % WIDTH_256 * 8;
        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), sum[i / WIDTH_256][i % WIDTH_256]));
    }
}

AVX2 static void add_half_avx2(real *y, size_t ldy, const real *panel, const real *x, size_t ldx, size_t in,
                               size_t rows)
{
    switch (rows) {
    case 1:
        add_rows_avx2(y, ldy, panel, x, ldx, in, 1);
        break;
    case 2:
        add_rows_avx2(y, ldy, panel, x, ldx, in, 2);
        break;
    case 3:
        add_rows_avx2(y, ldy, panel, x, ldx, in, 3);
        break;
    default:
        add_rows_avx2(y, ldy, panel, x, ldx, in, ROWS_256);
        break;
    }
}

static void add_avx2(real *y, size_t ldy, const real *panel, const real *x, size_t ldx, size_t in, size_t rows)
{
    for (size_t row = 0; row < rows; row += ROWS_256) {
        const size_t count = rows - row < ROWS_256 ? rows - row : ROWS_256;
        for (size_t column = 0; column < PACKED_WIDTH; column += PACKED_WIDTH / 2) {
            add_half_avx2(y + row * ldy + column, ldy, panel + column, x + row * ldx, ldx, in, count);
        }
    }
}
#endif

/* Best first. */
static struct {
    kernel list[3];
    size_t count;
} runnable;

static kernel chosen;

static void find_kernels(void)
{
#ifdef HAVE_X86_KERNELS
    const cpu_features features = cpu_detect();
    if (features.avx512) {
        runnable.list[runnable.count++] = add_avx512;
    }
    if (features.avx2) {
        runnable.list[runnable.count++] = add_avx2;
    }
#endif
    runnable.list[runnable.count++] = add_portable;
    chosen = runnable.list[0];
}

static void find_kernels_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_kernels);
}

size_t packed_kernels(void)
{
    find_kernels_once();
    return runnable.count;
}

void packed_choose(size_t number)
{
    find_kernels_once();
    chosen = runnable.list[number];
}

bool packed_pays(void)
{
#ifdef NMT_DOUBLE
    return true;
#else
    return packed_kernels() > 1;
#endif
}

/* ---- packing --------------------------------------------------------------------------------------------------------
 */

typedef struct filling {
    real *panels;
    const real *W;
    size_t out, in; /* of W */
} filling;

static size_t panels_of(size_t out)
{
    return (out + PACKED_WIDTH - 1) / PACKED_WIDTH;
}

size_t packed_size(size_t out, size_t in)
{
    return panels_of(out) * PACKED_WIDTH * in;
}

/* As many columns at a time as a cache line of W holds. */
static void fill_panel(real *panel, const real *W, size_t rows, size_t in)
{
    enum { COLUMNS = 16 };
    for (size_t first = 0; first < in; first += COLUMNS) {
        const size_t end = in - first < COLUMNS ? in : first + COLUMNS;
        for (size_t i = 0; i < PACKED_WIDTH; i++) {
            for (size_t k = first; k < end; k++) {
                panel[k * PACKED_WIDTH + i] = i < rows ? W[i * in + k] : 0;
            }
        }
    }
}

static void fill_panels(void *context, size_t begin, size_t end)
{
    const filling *of = context;
    for (size_t panel = begin; panel < end; panel++) {
        const size_t row = panel * PACKED_WIDTH, left = of->out - row;
        fill_panel(of->panels + row * of->in, of->W + row * of->in, left < PACKED_WIDTH ? left : PACKED_WIDTH, of->in);
    }
}

static void fill_panels_transposed(void *context, size_t begin, size_t end)
{
    const filling *of = context;
    for (size_t panel = begin; panel < end; panel++) {
        const size_t column = panel * PACKED_WIDTH, left = of->in - column;
        const size_t count = left < PACKED_WIDTH ? left : PACKED_WIDTH;
        real *to = of->panels + column * of->out;
        for (size_t k = 0; k < of->out; k++, to += PACKED_WIDTH) {
            memcpy(to, of->W + k * of->in + column, count * sizeof *to);
            memset(to + count, 0, (PACKED_WIDTH - count) * sizeof *to);
        }
    }
}

/* Panels that one thread takes at least. */
static size_t grain(size_t panels, size_t work)
{
    return work < PARALLEL_PRODUCT ? panels + 1 : 1;
}

void packed_fill(real *panels, const real *W, size_t out, size_t in)
{
    filling of = {panels, W, out, in};
    parallel_for(panels_of(out), grain(panels_of(out), out * in), fill_panels, &of);
}

void packed_fill_transposed(real *panels, const real *W, size_t out, size_t in)
{
    filling of = {panels, W, out, in};
    parallel_for(panels_of(in), grain(panels_of(in), out * in), fill_panels_transposed, &of);
}

/* ---- products -------------------------------------------------------------------------------------------------------
 */

typedef struct product {
    real *y;
    size_t ldy;
    const real *x;
    size_t ldx;
    const packed_matrix *W;
    size_t rows, out, in;
    size_t first; /* panel */
} product;

/* Outputs begin .. end-1 of a panel for the rows from x and y on, where they are not all of it. */
static void add_part(real *y, const real *panel, const real *x, const product *of, size_t rows, size_t begin,
                     size_t end)
{
    real tile[TILE_ROWS * PACKED_WIDTH] = {0};
    chosen(tile, PACKED_WIDTH, panel, x, of->ldx, of->in, rows);
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = begin; i < end; i++) {
            y[row * of->ldy + i - begin] += tile[row * PACKED_WIDTH + i];
        }
    }
}

static void multiply_panel(const product *of, size_t panel)
{
    const packed_matrix *W = of->W;
    const size_t start = panel * PACKED_WIDTH, stop = W->row + of->out;
    const size_t begin = W->row > start ? W->row - start : 0;
    const size_t end = stop - start < PACKED_WIDTH ? stop - start : PACKED_WIDTH;
    const real *numbers = W->panels + start * W->width + W->column * PACKED_WIDTH;
    const size_t tiles = (of->rows + TILE_ROWS - 1) / TILE_ROWS;
    for (size_t tile = 0; tile < tiles; tile++) {
        const size_t row = of->rows * tile / tiles, count = of->rows * (tile + 1) / tiles - row;
        const real *x = of->x + row * of->ldx;
        real *y = of->y + row * of->ldy + start + begin - W->row;
        if (end - begin == PACKED_WIDTH) {
            chosen(y, of->ldy, numbers, x, of->ldx, of->in, count);
        } else {
            add_part(y, numbers, x, of, count, begin, end);
        }
    }
}

static void multiply_panels(void *context, size_t begin, size_t end)
{
    const product *of = context;
    for (size_t panel = begin; panel < end; panel++) {
        multiply_panel(of, of->first + panel);
    }
}

void packed_product(real *y, size_t ldy, const real *x, size_t ldx, const packed_matrix *W, size_t rows, size_t out,
                    size_t in)
{
    find_kernels_once();
    if (rows == 0 || out == 0) {
        return;
    }
    const size_t first = W->row / PACKED_WIDTH, panels = panels_of(W->row + out) - first;
    product of = {y, ldy, x, ldx, W, rows, out, in, first};
    parallel_for(panels, grain(panels, rows * out * in), multiply_panels, &of);
}
