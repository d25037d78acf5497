/* The decoder over annotations that are given, up to the features of the readout: every choice it offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "model/decoder.h"
#include "support_model.h"

enum { V = 11, E = 5, D = 6, C = 8, A = 7, SENTENCES = 4, TOKENS = 14, LONGEST = 6, ROWS = 14 };

/* Sources of 4, 1, 6 and 3 tokens with their </s>, targets of 3, 6, 1 and 4: neither side is in the other's order. */
static const char *const lines[SENTENCES] = {"3 4 3 | 5 6", "| 3 4 5 5 3", "8 3 0 0 4 |", "6 6 | 10 3 10"};

/* Annotations have three uses, each with an array of its own here: so each share of their gradient can be looked at. */
enum { SUMMED, COMPARED, STARTED, USES };

typedef struct decoder_case {
    decoder layer;
    parameter_table table;
    real *theta, *dtheta;
    batch pairs;
    uint32_t start[SENTENCES];
    real *annotations[USES]; /* [TOKENS,C] each */
    arena space;
    decoder_workspace work;
    real *w; /* [ROWS,F] weighs the features in the loss */
} decoder_case;

static decoder_options plain_options(void)
{
    return (decoder_options){.vocabulary = V,
                             .embedding_size = E,
                             .hidden = D,
                             .annotation = C,
                             .reset = GRU_AFTER,
                             .start = START_BACKWARD,
                             .score = attention_score_find("additive"),
                             .attention_size = A,
                             .readout = READOUT_KIND_LINEAR,
                             .readout_embedding = true};
}

static void lay_out(decoder_case *c, arena *space, decoder_workspace *work, size_t rows, bool with_gradient)
{
    nmt_error error;
    arena_measure(space);
    decoder_layout(&c->layer, work, space, &c->pairs.source, rows, SENTENCES, with_gradient);
    support_ok(arena_reserve(space, "the test", &error), &error);
    memset(space->base, 0xff, space->capacity); /* NaN: nobody may count on zeros */
    decoder_layout(&c->layer, work, space, &c->pairs.source, rows, SENTENCES, with_gradient);
}

static void setup(decoder_case *c, const decoder_options *options)
{
    *c = (decoder_case){0};
    support_batch(&c->pairs, lines, SENTENCES);
    assert_int_equal(c->pairs.source.tokens, TOKENS);
    assert_int_equal(c->pairs.source.steps, LONGEST);
    assert_int_equal(c->pairs.input.tokens, ROWS);
    decoder_declare(&c->layer, &c->table, options);
    lay_out(c, &c->space, &c->work, ROWS, true);
    for (uint32_t row = 0, start = 0; row < SENTENCES; start += c->pairs.source.length[row++]) {
        c->start[row] = start;
    }
    for (size_t use = 0; use < USES; use++) {
        c->annotations[use] = normal_reals(TOKENS * C, 1, 1);
    }
    c->theta = normal_reals(c->table.size, 0.5, 2);
    c->dtheta = nan_reals(c->table.size);
    c->w = normal_reals(ROWS * c->layer.readout.features, 1, 3);
}

static void teardown(decoder_case *c)
{
    batch_free(&c->pairs);
    arena_free(&c->space);
    free(c->theta);
    free(c->dtheta);
    free(c->w);
    for (size_t use = 0; use < USES; use++) {
        free(c->annotations[use]);
    }
}

static void forward(decoder_case *c)
{
    const attention *attend = &c->layer.attention;
    decoder_prepare(&c->layer, c->theta, &c->work, &c->pairs.source, c->annotations[STARTED], c->start);
    attend->score->keys(attend, c->theta, c->work.keys, c->annotations[COMPARED], TOKENS);
    c->work.memory.annotations = c->annotations[SUMMED];
    decoder_forward(&c->layer, c->theta, &c->work, &c->pairs);
}

static double loss(void *context)
{
    decoder_case *c = context;
    forward(c);
    return gradcheck_sum(c->w, c->work.features, ROWS * c->layer.readout.features);
}

static double loss_of_one_array(void *context)
{
    decoder_case *c = context;
    memcpy(c->annotations[COMPARED], c->annotations[SUMMED], TOKENS * C * sizeof(real));
    memcpy(c->annotations[STARTED], c->annotations[SUMMED], TOKENS * C * sizeof(real));
    return loss(c);
}

/* dannotations[TOKENS,C], prefilled; the caller's. */
static real *backward(decoder_case *c, attention_paths paths)
{
    real *dannotations = nan_reals(TOKENS * C);
    gradcheck_prefill(dannotations, TOKENS * C);
    gradcheck_prefill(c->dtheta, c->table.size);
    memcpy(c->work.dfeatures, c->w, ROWS * c->layer.readout.features * sizeof(real));
    decoder_backward(&c->layer, c->theta, c->dtheta, dannotations, &c->work, &c->pairs, paths);
    return dannotations;
}

/* ---- gradients -------------------------------------------------------------------------------------------------- */

static void check_gradient(const decoder_options *options)
{
    decoder_case c;
    setup(&c, options);
    loss(&c);
    real *dannotations = backward(&c, PATH_BOTH);
    gradcheck_parameters(&c.table, c.theta, c.dtheta, loss_of_one_array, &c);
    gradcheck("annotations", c.annotations[SUMMED], dannotations, TOKENS * C, loss_of_one_array, &c);
    free(dannotations);
    teardown(&c);
}

static void check_every_choice(gru_reset reset)
{
    decoder_options options = plain_options();
    options.reset = reset;
    for (int choice = 0; choice < 12; choice++) {
        options.start = (decoder_start)(choice % 3);
        options.readout_embedding = choice / 3 % 2;
        options.readout_previous_state = choice / 6;
        check_gradient(&options);
    }
}

static void test_gradient_reset_after(void **state)
{
    (void)state;
    check_every_choice(GRU_AFTER);
}

static void test_gradient_reset_before(void **state)
{
    (void)state;
    check_every_choice(GRU_BEFORE);
}

static void test_gradient_with_dropout(void **state)
{
    (void)state;
    decoder_options options = plain_options();
    options.dropout_embedding = 0.4;
    check_gradient(&options);
    options.readout_embedding = false;
    check_gradient(&options);
}

/* What each path carries is the derivative by that use of the annotations alone. */
static void check_shares(decoder_start start)
{
    decoder_case c;
    decoder_options options = plain_options();
    options.start = start;
    setup(&c, &options);
    loss(&c);
    real *none = backward(&c, PATH_NONE), *value = backward(&c, PATH_VALUE), *score = backward(&c, PATH_SCORE);
    real *both = backward(&c, PATH_BOTH);
    gradcheck("annotations, by s_0", c.annotations[STARTED], none, TOKENS * C, loss, &c);
    for (size_t i = 0; i < TOKENS * C; i++) {
        assert_near(value[i] + score[i] - none[i], both[i], 1e-12);
        value[i] += gradcheck_before - none[i];
        score[i] += gradcheck_before - none[i];
    }
    gradcheck("annotations, by value", c.annotations[SUMMED], value, TOKENS * C, loss, &c);
    gradcheck("annotations, by score", c.annotations[COMPARED], score, TOKENS * C, loss, &c);
    free(none);
    free(value);
    free(score);
    free(both);
    teardown(&c);
}

static void test_each_path_carries_its_share(void **state)
{
    (void)state;
    check_shares(START_BACKWARD);
    check_shares(START_MEAN);
    check_shares(START_ZERO);
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

/* s_0 of a sentence whose annotations are h[S,C]. */
static void naive_start(const decoder_case *c, real *initial, const real *h, size_t S)
{
    const real *W = c->theta + c->layer.initial_weight, *b = c->theta + c->layer.initial_bias;
    real mean[C] = {0};
    for (size_t i = 0; i < S * C; i++) {
        mean[i % C] += h[i] / (real)S;
    }
    for (size_t i = 0; i < D; i++) {
        switch (c->layer.options.start) {
        case START_BACKWARD:
            initial[i] = tanh(gradcheck_sum(W + i * C / 2, h + C / 2, C / 2) + b[i]);
            break;
        case START_MEAN:
            initial[i] = tanh(gradcheck_sum(W + i * C, mean, C) + b[i]);
            break;
        case START_ZERO:
            initial[i] = 0;
            break;
        }
    }
}

static void test_start(void **state)
{
    (void)state;
    static const decoder_start starts[] = {START_BACKWARD, START_MEAN, START_ZERO};
    for (size_t i = 0; i < 3; i++) {
        decoder_case c;
        decoder_options options = plain_options();
        options.start = starts[i];
        setup(&c, &options);
        forward(&c);
        for (size_t row = 0; row < SENTENCES; row++) {
            real expected[D];
            naive_start(&c, expected, c.annotations[STARTED] + c.start[row] * C, c.pairs.source.length[row]);
            assert_all_near(c.work.initial + row * D, expected, D, 1e-14);
        }
        teardown(&c);
    }
}

/* Each target row's attention is over its own sentence's source, and sums to 1. */
static void test_alpha(void **state)
{
    (void)state;
    decoder_case c;
    const decoder_options options = plain_options();
    setup(&c, &options);
    forward(&c);
    const sequences *target = &c.pairs.input;
    for (size_t t = 0; t < target->steps; t++) {
        for (size_t row = 0; row < target->active[t]; row++) {
            const real *alpha = c.work.alpha + (target->offset[t] + row) * LONGEST;
            const size_t length = c.pairs.source.length[c.pairs.source.row[target->order[row]]];
            double sum = 0;
            for (size_t i = 0; i < LONGEST; i++) {
                assert_true(i < length ? alpha[i] > 0 : alpha[i] == 0);
                sum += alpha[i];
            }
            assert_near(sum, 1, 1e-15);
        }
    }
    teardown(&c);
}

/* Decoding step by step gives what teacher forcing gives, whichever state the readout sees. */
static void check_steps(bool previous_state)
{
    decoder_case c;
    decoder_options options = plain_options();
    options.readout_previous_state = previous_state;
    setup(&c, &options);
    forward(&c);
    arena space = {0};
    decoder_workspace step;
    lay_out(&c, &space, &step, SENTENCES, false);
    decoder_prepare(&c.layer, c.theta, &step, &c.pairs.source, c.annotations[SUMMED], c.start);
    const sequences *target = &c.pairs.input;
    const size_t F = c.layer.readout.features;
    for (size_t t = 0; t < target->steps; t++) {
        for (size_t row = 0; row < target->active[t]; row++) {
            step.sentence[row] = c.pairs.source.row[target->order[row]];
            const real *from =
                t > 0 ? step.state.data + row * step.state.stride : step.initial + step.sentence[row] * D;
            memcpy(step.trace.previous + row * step.trace.previous_stride, from, D * sizeof *from);
        }
        decoder_step(&c.layer, c.theta, &step, target->id + target->offset[t], target->active[t]);
        assert_all_near(step.features, c.work.features + target->offset[t] * F, target->active[t] * F, 1e-14);
        assert_all_near(step.alpha, c.work.alpha + target->offset[t] * LONGEST, target->active[t] * LONGEST, 1e-14);
    }
    arena_free(&space);
    teardown(&c);
}

static void test_steps_are_teacher_forcing(void **state)
{
    (void)state;
    check_steps(false);
    check_steps(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_reset_after),
        cmocka_unit_test(test_gradient_reset_before),
        cmocka_unit_test(test_gradient_with_dropout),
        cmocka_unit_test(test_each_path_carries_its_share),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_steps_are_teacher_forcing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
