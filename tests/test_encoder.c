/* The encoder over sentences of 4, 1, 6 and 3 tokens, words repeated within and between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "model/encoder.h"
#include "support_reals.h"

enum { V = 9, E = 3, H = 5, SENTENCES = 4, LONGEST = 6 };
static const int32_t tokens[SENTENCES][LONGEST] = {{3, 4, 3, 2}, {5}, {8, 3, 0, 0, 4, 2}, {6, 6, 2}};
static const size_t lengths[SENTENCES] = {4, 1, 6, 3};

typedef struct encoder_case {
    encoder layer;
    parameter_table table;
    real *theta, *dtheta;
    sequences source;
    arena space;
    encoder_workspace work;
    real *w; /* [tokens,2H] weighs the annotations in the loss */
} encoder_case;

/* Of sentences `first` .. `first + count - 1`. */
static void setup(encoder_case *c, gru_reset reset, size_t layers, size_t first, size_t count)
{
    nmt_error error;
    const int32_t *ids[SENTENCES];
    for (size_t i = 0; i < count; i++) {
        ids[i] = tokens[first + i];
    }
    *c = (encoder_case){0};
    assert_int_equal(sequences_set(&c->source, ids, lengths + first, count, &error), NMT_OK);
    encoder_declare(&c->layer, &c->table,
                    &(encoder_options){.vocabulary = V,
                                       .embedding_size = E,
                                       .hidden = H,
                                       .cell = {.reset = reset},
                                       .layers = layers,
                                       .residual = true});
    arena_measure(&c->space);
    encoder_layout(&c->layer, &c->work, &c->space, &c->source, 1);
    assert_int_equal(arena_reserve(&c->space, "the test", &error), NMT_OK);
    memset(c->space.base, 0xff, c->space.capacity); /* NaN: nobody may count on zeros */
    encoder_layout(&c->layer, &c->work, &c->space, &c->source, 1);
    c->theta = normal_reals(c->table.size, 0.5, 1);
    c->dtheta = nan_reals(c->table.size);
    c->w = normal_reals(c->source.tokens * 2 * H, 1, 2);
}

static void teardown(encoder_case *c)
{
    sequences_free(&c->source);
    arena_free(&c->space);
    free(c->theta);
    free(c->dtheta);
    free(c->w);
}

static double loss(void *context)
{
    encoder_case *c = context;
    encoder_forward(&c->layer, &(weights_view){.block = c->theta}, &c->work, &c->source);
    return gradcheck_sum(c->w, c->work.annotations, c->source.tokens * 2 * H);
}

static void check_gradient(gru_reset reset, size_t layers)
{
    encoder_case c;
    setup(&c, reset, layers, 0, SENTENCES);
    gradcheck_prefill(c.dtheta, c.table.size);
    loss(&c);
    memcpy(c.work.dannotations, c.w, c.source.tokens * 2 * H * sizeof *c.w);
    encoder_backward(&c.layer, &(weights_view){.block = c.theta}, c.dtheta, &c.work, &c.source);
    gradcheck_parameters(&c.table, c.theta, c.dtheta, loss, &c);
    teardown(&c);
}

static void test_gradient(void **state)
{
    (void)state;
    check_gradient(GRU_AFTER, 1);
    check_gradient(GRU_BEFORE, 1);
    check_gradient(GRU_AFTER, 3);
    check_gradient(GRU_BEFORE, 2);
}

/* ---- what the annotations are ----------------------------------------------------------------------------------- */

static double sigma(double x)
{
    return 1 / (1 + exp(-x));
}

/* One step of reset_after, a number at a time; h becomes the next state. */
static void naive_step(const encoder_case *c, const gru *cell, real *h, const real *x)
{
    real input[3 * H], state[3 * H], next[H];
    for (size_t i = 0; i < 3 * H; i++) {
        input[i] = gradcheck_sum(c->theta + cell->weight_ih + i * E, x, E) + c->theta[cell->bias_ih + i];
        state[i] = gradcheck_sum(c->theta + cell->weight_hh + i * H, h, H) + c->theta[cell->bias_hh + i];
    }
    for (size_t i = 0; i < H; i++) {
        const double r = sigma(input[i] + state[i]), z = sigma(input[H + i] + state[H + i]);
        next[i] = (1 - z) * tanh(input[2 * H + i] + r * state[2 * H + i]) + z * h[i];
    }
    memcpy(h, next, sizeof next);
}

/* Each direction runs over the sentence's own tokens from a zero state, and nothing else. */
static void test_annotations_are_the_equations(void **state)
{
    (void)state;
    encoder_case c;
    setup(&c, GRU_AFTER, 1, 0, SENTENCES);
    loss(&c);
    for (size_t s = 0; s < SENTENCES; s++) {
        const real *annotations = c.work.annotations + c.work.start[c.source.row[s]] * 2 * H;
        real forward[H] = {0}, backward[H] = {0};
        for (size_t k = 0; k < lengths[s]; k++) {
            const size_t last = lengths[s] - 1 - k;
            naive_step(&c, &c.layer.direction[0][FORWARD], forward,
                       c.theta + c.layer.embedding + (size_t)tokens[s][k] * E);
            naive_step(&c, &c.layer.direction[0][BACKWARD], backward,
                       c.theta + c.layer.embedding + (size_t)tokens[s][last] * E);
            assert_all_near(annotations + k * 2 * H, forward, H, 1e-14);
            assert_all_near(annotations + last * 2 * H + H, backward, H, 1e-14);
        }
    }
    teardown(&c);
}

static void test_sentences_lie_one_behind_the_other(void **state)
{
    (void)state;
    encoder_case c;
    setup(&c, GRU_AFTER, 1, 0, SENTENCES);
    loss(&c);
    static const uint32_t expected[SENTENCES] = {0, 6, 10, 13}; /* longest first: 6, 4, 3, 1 tokens */
    assert_memory_equal(c.work.start, expected, sizeof expected);
    teardown(&c);
}

/* A sentence alone gives the annotations and the gradient that it gives among others. */
static void check_alone(gru_reset reset)
{
    encoder_case all, one;
    setup(&all, reset, 1, 0, SENTENCES);
    memset(all.dtheta, 0, all.table.size * sizeof(real));
    loss(&all);
    memcpy(all.work.dannotations, all.w, all.source.tokens * 2 * H * sizeof(real));
    encoder_backward(&all.layer, &(weights_view){.block = all.theta}, all.dtheta, &all.work, &all.source);
    real *sum = normal_reals(all.table.size, 0, 3);
    for (size_t s = 0; s < SENTENCES; s++) {
        setup(&one, reset, 1, s, 1);
        const size_t start = all.work.start[all.source.row[s]] * 2 * H, count = lengths[s] * 2 * H;
        loss(&one);
        assert_all_near(one.work.annotations, all.work.annotations + start, count, 1e-14);
        memcpy(one.work.dannotations, all.w + start, count * sizeof(real));
        encoder_backward(&one.layer, &(weights_view){.block = one.theta}, sum, &one.work, &one.source);
        teardown(&one);
    }
    assert_all_near(sum, all.dtheta, all.table.size, 1e-13);
    free(sum);
    teardown(&all);
}

static void test_company_changes_nothing(void **state)
{
    (void)state;
    check_alone(GRU_AFTER);
    check_alone(GRU_BEFORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_annotations_are_the_equations),
        cmocka_unit_test(test_sentences_lie_one_behind_the_other),
        cmocka_unit_test(test_company_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
