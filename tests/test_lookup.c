/* Words of a batch taken once: what they give is what every row by itself gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/parallel.h"
#include "core/rng.h"
#include "layers/lookup.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "support_reals.h"

enum { ROWS = 300, WORDS = 40, E = 5, OUT = 67, STRIDE = OUT + 3, NUMBERS = WORDS * E + OUT * E + OUT };

static const size_t table = 0, matrix = (size_t)WORDS * E, bias = (size_t)WORDS * E + (size_t)OUT * E;

typedef struct words_case {
    int32_t id[ROWS];
    real theta[NUMBERS], embedded[ROWS * E], expected[ROWS * STRIDE], found[ROWS * STRIDE], dy[ROWS * STRIDE];
    arena space;
    lookup words;
} words_case;

static void set_up(words_case *c, size_t rows, bool once)
{
    rng generator = rng_stream(1, "words", 0);
    nmt_error error;
    *c = (words_case){0};
    for (size_t row = 0; row < rows; row++) {
        c->id[row] = (int32_t)(rng_next(&generator) % WORDS);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        c->theta[i] = (real)rng_uniform(&generator);
    }
    for (size_t i = 0; i < ROWS * STRIDE; i++) {
        c->dy[i] = (real)rng_uniform(&generator);
        c->expected[i] = c->found[i] = -1;
    }
    arena_measure(&c->space);
    lookup_layout(&c->words, &c->space, ROWS, OUT, once);
    assert_int_equal(arena_reserve(&c->space, "a test", &error), NMT_OK);
    lookup_layout(&c->words, &c->space, ROWS, OUT, once);
    lookup_find(&c->words, c->id, rows);
    assert_int_equal(c->words.rows, rows);
}

static void check_words(const words_case *c, size_t rows)
{
    bool used[WORDS] = {false};
    size_t distinct = 0;
    for (size_t row = 0; row < rows; row++) {
        distinct += !used[c->id[row]];
        used[c->id[row]] = true;
        assert_int_equal(c->words.id[c->words.place[row]], c->id[row]);
    }
    assert_int_equal(c->words.distinct, distinct);
}

static void check_forward(words_case *c, size_t rows)
{
    embedding_forward(c->embedded, E, c->theta + table, c->id, rows, E);
    linear_forward(c->expected, STRIDE, c->embedded, E, c->theta + matrix, E, c->theta + bias, rows, OUT, E);
    embedding_forward(c->embedded, E, c->theta + table, c->words.id, c->words.distinct, E);
    lookup_forward(&c->words, &(weights_view){.block = c->theta}, c->found, STRIDE, c->embedded, E, matrix, E, bias,
                   OUT, E);
    assert_all_near(c->found, c->expected, ROWS * STRIDE, 1e-6);
}

/* Word by word, as sums say. */
static void check_sum(words_case *c, size_t rows)
{
    const columns sums = lookup_sum(&c->words, c->dy, STRIDE, OUT);
    for (size_t word = 0; word < c->words.distinct; word++) {
        for (size_t i = 0; i < OUT; i++) {
            double sum = 0;
            for (size_t row = 0; row < rows; row++) {
                sum += c->id[row] == c->words.id[word] ? (double)c->dy[row * STRIDE + i] : 0;
            }
            assert_near(columns_row(&sums, word)[i], sum, 1e-5);
        }
    }
}

static void words_are_taken_once(void **state)
{
    (void)state;
    static const size_t rows[] = {0, 1, 2, 39, ROWS};
    static words_case c;
    nmt_error error;
    for (size_t threads = 1; threads <= 3; threads++) {
        assert_int_equal(parallel_set_threads(threads, &error), NMT_OK);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            set_up(&c, rows[i], true);
            check_words(&c, rows[i]);
            check_forward(&c, rows[i]);
            check_sum(&c, rows[i]);
            arena_free(&c.space);
        }
    }
    assert_int_equal(parallel_set_threads(1, &error), NMT_OK);
}

static void each_row_for_itself(void **state)
{
    (void)state;
    static words_case c;
    set_up(&c, ROWS, false);
    assert_int_equal(c.words.distinct, ROWS);
    assert_ptr_equal(c.words.id, c.id);
    check_forward(&c, ROWS);
    const columns sums = lookup_sum(&c.words, c.dy, STRIDE, OUT);
    assert_ptr_equal(sums.data, c.dy);
    assert_int_equal(sums.stride, STRIDE);
    arena_free(&c.space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_taken_once),
        cmocka_unit_test(each_row_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
