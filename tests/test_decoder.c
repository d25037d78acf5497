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
                             .order = &decoder_bahdanau,
                             .cell = {.reset = GRU_AFTER},
                             .layers = 1,
                             .start = START_BACKWARD,
                             .attention = {.score = attention_score_find("additive"), .size = A, .heads = 1},
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
    attention_workspace *work = &c->work.attention;
    const attention *attend = &c->layer.attention;
    decoder_prepare(&c->layer, &(weights_view){.block = c->theta}, &c->work, &c->pairs.source, c->annotations[STARTED],
                    c->start);
    attention_prepare(attend, &(weights_view){.block = c->theta}, work, &c->pairs.source, c->annotations[COMPARED],
                      c->start);
    work->values = c->annotations[SUMMED];
    if (attend->projected) {
        work->values = work->projected_values;
        projection_forward(&attend->value, &(weights_view){.block = c->theta}, work->projected_values,
                           attend->value.out, c->annotations[SUMMED], C, TOKENS);
    }
    decoder_forward(&c->layer, &(weights_view){.block = c->theta}, &c->work, &c->pairs);
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
    decoder_backward(&c->layer, &(weights_view){.block = c->theta}, c->dtheta, dannotations, &c->work, &c->pairs,
                     paths);
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
    options.cell.reset = reset;
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

/* Every kind of attention in every order; with what is fed and without. */
static void test_gradient_of_every_attention(void **state)
{
    (void)state;
    static const struct {
        const char *score;
        size_t heads, size;
        extent_kind extent;
    } kinds[] = {{"additive", 1, A, EXTENT_GLOBAL}, {"gaussian", 1, A, EXTENT_LOCAL_P},
                 {"general", 1, A, EXTENT_LOCAL_M}, {"fixed", 1, A, EXTENT_GLOBAL},
                 {"dot", 3, 9, EXTENT_GLOBAL},      {"concat", 2, 4, EXTENT_LOCAL_P}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        decoder_options options = plain_options();
        options.attention = (attention_options){.score = attention_score_find(kinds[i].score),
                                                .size = kinds[i].size,
                                                .heads = kinds[i].heads,
                                                .extent = kinds[i].extent,
                                                .window = 2};
        check_gradient(&options);
        options.order = &decoder_conditional;
        check_gradient(&options);
        options.order = &decoder_luong;
        check_gradient(&options);
        options.input_feeding = true;
        check_gradient(&options);
    }
}

static void test_gradient_in_luong_order(void **state)
{
    (void)state;
    decoder_options options = plain_options();
    options.order = &decoder_luong;
    options.dropout_embedding = 0.4;
    for (int choice = 0; choice < 12; choice++) {
        options.start = (decoder_start)(choice % 3);
        options.input_feeding = choice / 3 % 2;
        options.cell.reset = choice / 6 ? GRU_BEFORE : GRU_AFTER;
        check_gradient(&options);
    }
}

static void test_gradient_in_conditional_order(void **state)
{
    (void)state;
    decoder_options options = plain_options();
    options.order = &decoder_conditional;
    for (int choice = 0; choice < 24; choice++) {
        options.start = (decoder_start)(choice % 3);
        options.readout_embedding = choice / 3 % 2;
        options.cell.reset = choice / 6 % 2 ? GRU_BEFORE : GRU_AFTER;
        options.cell.normalized = choice / 12;
        options.layers = 1 + (size_t)choice % 2;
        check_gradient(&options);
    }
}

/* Each place of its own: what the two cells are fed, what their recurrent matrices read, what asks. */
static void test_gradient_in_conditional_order_with_dropout(void **state)
{
    (void)state;
    enum { PLACES = 4 };
    for (int choice = 0; choice < 2 * PLACES; choice++) {
        const int place = choice % PLACES;
        decoder_options options = plain_options();
        options.order = &decoder_conditional;
        options.cell.reset = choice / PLACES ? GRU_BEFORE : GRU_AFTER;
        options.dropout_embedding = place == 0 ? 0.4 : 0;
        options.dropout_input = place == 1 ? 0.4 : 0;
        options.cell.dropout = place == 2 ? 0.4 : 0;
        options.dropout_attention_input = place == 3 ? 0.4 : 0;
        check_gradient(&options);
    }
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
static void check_shares(const decoder_options *options)
{
    decoder_case c;
    setup(&c, options);
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
    decoder_options options = plain_options();
    static const decoder_order *const orders[] = {&decoder_bahdanau, &decoder_luong, &decoder_luong,
                                                  &decoder_conditional};
    for (int choice = 0; choice < 12; choice++) {
        options.start = (decoder_start)(choice % 3);
        options.order = orders[choice / 3];
        options.input_feeding = choice / 3 == 2;
        options.attention.size = 6;
        options.attention.heads = choice % 3 ? 2 : 1;
        check_shares(&options);
    }
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
            const real *alpha = c.work.attention.alpha + (target->offset[t] + row) * LONGEST;
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
static void check_steps(const decoder_options *options)
{
    static const size_t parents[SENTENCES] = {0, 1, 2, 3};
    decoder_case c;
    setup(&c, options);
    forward(&c);
    arena space = {0};
    decoder_workspace step;
    lay_out(&c, &space, &step, SENTENCES, false);
    decoder_prepare(&c.layer, &(weights_view){.block = c.theta}, &step, &c.pairs.source, c.annotations[SUMMED],
                    c.start);
    const sequences *target = &c.pairs.input;
    const size_t F = c.layer.readout.features;
    for (size_t row = 0; row < SENTENCES; row++) {
        step.attention.sentence[row] = c.pairs.source.row[target->order[row]];
    }
    decoder_begin(&c.layer, &step, 0, SENTENCES);
    for (size_t t = 0; t < target->steps; t++) {
        decoder_step(&c.layer, &(weights_view){.block = c.theta}, &step, target->id + target->offset[t],
                     target->active[t]);
        assert_all_near(step.features, c.work.features + target->offset[t] * F, target->active[t] * F, 1e-14);
        assert_all_near(step.attention.alpha, c.work.attention.alpha + target->offset[t] * LONGEST,
                        target->active[t] * LONGEST, 1e-14);
        decoder_reorder(&c.layer, &step, parents, target->active[t]);
    }
    arena_free(&space);
    teardown(&c);
}

static void test_steps_are_teacher_forcing(void **state)
{
    (void)state;
    decoder_options options = plain_options();
    check_steps(&options);
    options.readout_previous_state = true;
    check_steps(&options);
    options.attention.extent = EXTENT_LOCAL_M; /* which counts the steps */
    options.attention.window = 1;
    check_steps(&options);
    options.order = &decoder_luong;
    check_steps(&options);
    options.input_feeding = true;
    check_steps(&options);
    options.order = &decoder_conditional;
    check_steps(&options);
    options.layers = 2;
    check_steps(&options);
}

/* ---- the other orders, a number at a time ----------------------------------------------------------------------- */

/* A cell's state of one row from its input and the state before, which its recurrent matrices read through the mask of
 * the row's sequence, unless it is NULL: reset_after. */
static void naive_cell(const decoder_case *c, const gru *cell, real *s, const real *input, const real *previous,
                       const real *mask)
{
    real read[D];
    for (size_t i = 0; i < D; i++) {
        read[i] = previous[i] * (mask != NULL ? mask[i] : 1);
    }
    const size_t I = cell->input;
    real gate[3][D], of_state[3][D];
    for (size_t i = 0; i < 3 * D; i++) {
        gate[i / D][i % D] = gradcheck_sum(c->theta + cell->weight_ih + i * I, input, I) + c->theta[cell->bias_ih + i];
        of_state[i / D][i % D] =
            gradcheck_sum(c->theta + cell->weight_hh + i * D, read, D) + c->theta[cell->bias_hh + i];
    }
    for (size_t i = 0; i < D; i++) {
        const double r = 1 / (1 + exp(-gate[0][i] - of_state[0][i])), z = 1 / (1 + exp(-gate[1][i] - of_state[1][i]));
        s[i] = (1 - z) * tanh(gate[2][i] + r * of_state[2][i]) + z * previous[i];
    }
}

/* c[C] of a row of the batch and the source that it reads, its attention taken as it was computed. */
static void naive_context(const decoder_case *c, real *context, size_t here, size_t source)
{
    const real *alpha = c->work.attention.alpha + here * LONGEST;
    memset(context, 0, C * sizeof *context);
    for (size_t i = 0; i < c->pairs.source.length[source] * C; i++) {
        context[i % C] += alpha[i / C] * c->annotations[SUMMED][c->start[source] * C + i];
    }
}

/* The sentence of target row `row` of every step. */
static void check_luong_row(const decoder_case *c, size_t row)
{
    const sequences *target = &c->pairs.input;
    const size_t read = c->pairs.source.row[target->order[row]], W = C + D;
    real s[D], before[D], attentional[D] = {0}, input[E + D], combined[C + D];
    memcpy(s, c->work.initial + read * D, sizeof s);
    for (size_t t = 0; t < target->length[row]; t++) {
        const size_t here = target->offset[t] + row;
        memcpy(before, s, sizeof s);
        memcpy(input, c->theta + c->layer.embedding + (size_t)target->id[here] * E, E * sizeof *input);
        memcpy(input + E, attentional, sizeof attentional);
        naive_cell(c, &c->layer.cell, s, input, before, NULL);
        naive_context(c, combined, here, read);
        memcpy(combined + C, s, sizeof s);
        for (size_t i = 0; i < D; i++) {
            attentional[i] = tanh(gradcheck_sum(c->theta + c->layer.combination + i * W, combined, W));
        }
        assert_all_near(c->work.features + here * D, attentional, D, 1e-13);
    }
}

static void test_luong_order_is_the_equations(void **state)
{
    (void)state;
    decoder_options options = plain_options();
    options.order = &decoder_luong;
    for (int feeding = 0; feeding < 2; feeding++) {
        decoder_case c;
        options.input_feeding = feeding;
        setup(&c, &options);
        assert_int_equal(c.layer.cell.input, feeding ? E + D : E);
        assert_int_equal(c.layer.readout.features, D);
        forward(&c);
        for (size_t row = 0; row < SENTENCES; row++) {
            check_luong_row(&c, row);
        }
        teardown(&c);
    }
}

/* The same; and attention is asked with the state between the cells. */
static void check_conditional_row(const decoder_case *c, size_t row)
{
    const sequences *target = &c->pairs.input;
    const size_t read = c->pairs.source.row[target->order[row]];
    const real *masks[] = {c->work.trace.mask, c->work.second_trace.mask};
    const real *first = masks[0] != NULL ? masks[0] + row * D : NULL;
    const real *second = masks[1] != NULL ? masks[1] + row * D : NULL;
    real s[D], between[D], context[C];
    memcpy(s, c->work.initial + read * D, sizeof s);
    for (size_t t = 0; t < target->length[row]; t++) {
        const size_t here = target->offset[t] + row;
        const real *embedded = c->theta + c->layer.embedding + (size_t)target->id[here] * E;
        const real *features = c->work.features + here * (D + C + E);
        naive_cell(c, &c->layer.cell, between, embedded, s, first);
        naive_context(c, context, here, read);
        naive_cell(c, &c->layer.second, s, context, between, second);
        assert_all_near(columns_row(&c->work.asking, here), between, D, 1e-13);
        assert_all_near(features, s, D, 1e-13);
        assert_all_near(features + D, context, C, 1e-13);
        assert_all_near(features + D + C, embedded, E, 0);
    }
}

static void test_conditional_order_is_the_equations(void **state)
{
    (void)state;
    decoder_options options = plain_options();
    options.order = &decoder_conditional;
    for (int dropping = 0; dropping < 2; dropping++) {
        decoder_case c;
        options.cell.dropout = dropping ? 0.4 : 0;
        setup(&c, &options);
        assert_int_equal(c.layer.cell.input, E);
        assert_int_equal(c.layer.second.input, C);
        assert_true((c.work.trace.mask != NULL) == dropping && (c.work.second_trace.mask != NULL) == dropping);
        c.work.second_trace.key = 7; /* the other's is 0 */
        forward(&c);
        for (size_t row = 0; row < SENTENCES; row++) {
            check_conditional_row(&c, row);
        }
        teardown(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_reset_after),
        cmocka_unit_test(test_gradient_reset_before),
        cmocka_unit_test(test_gradient_with_dropout),
        cmocka_unit_test(test_gradient_of_every_attention),
        cmocka_unit_test(test_gradient_in_luong_order),
        cmocka_unit_test(test_gradient_in_conditional_order),
        cmocka_unit_test(test_gradient_in_conditional_order_with_dropout),
        cmocka_unit_test(test_each_path_carries_its_share),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_steps_are_teacher_forcing),
        cmocka_unit_test(test_luong_order_is_the_equations),
        cmocka_unit_test(test_conditional_order_is_the_equations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
