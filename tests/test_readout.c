/* From features to the loss: each kind, with label smoothing and dropout and without, in one tile and in many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "layers/readout.h"
#include "support_reals.h"

typedef struct readout_case {
    readout layer;
    parameter_table table;
    arena space;
    readout_workspace work;
    size_t rows, stride; /* of the features: wider than they are many */
    real *theta, *dtheta, *features, *dfeatures;
    int32_t *target;
    double smoothing, scale;
} readout_case;

enum { F = 7, UNITS = 3, STRIDE = 9, V = 11, ROWS = 5 };

/* `layer` and `table` are as readout_declare left them. */
static void setup(readout_case *c, size_t rows, double smoothing)
{
    nmt_error error;
    c->rows = rows;
    c->stride = STRIDE;
    c->smoothing = smoothing;
    c->scale = 0.25;
    arena_measure(&c->space);
    readout_layout(&c->layer, &c->work, &c->space, rows, 1);
    assert_int_equal(arena_reserve(&c->space, "the test", &error), NMT_OK);
    memset(c->space.base, 0xff, c->space.capacity); /* NaN: nobody may count on zeros */
    readout_layout(&c->layer, &c->work, &c->space, rows, 1);
    c->work.key = 77;
    c->theta = normal_reals(c->table.size, 0.5, 1);
    c->dtheta = nan_reals(c->table.size);
    c->features = normal_reals(rows * STRIDE, 1, 2);
    c->dfeatures = nan_reals(rows * STRIDE);
    gradcheck_prefill(c->dtheta, c->table.size);
    gradcheck_prefill(c->dfeatures, rows * STRIDE);
    c->target = malloc(rows * sizeof *c->target);
    for (size_t row = 0; row < rows; row++) {
        c->target[row] = (int32_t)(row * row * 4001 % c->layer.vocabulary); /* with repetitions */
    }
}

static void teardown(readout_case *c)
{
    arena_free(&c->space);
    free(c->theta);
    free(c->dtheta);
    free(c->features);
    free(c->dfeatures);
    free(c->target);
}

static readout_sums run(readout_case *c, real *dtheta)
{
    return readout_loss(&c->layer, c->theta, dtheta, c->dfeatures, c->features, c->stride, c->target, c->smoothing,
                        (real)c->scale, &c->work, c->rows);
}

static double loss(void *context)
{
    readout_case *c = context;
    return c->scale * run(c, NULL).objective;
}

/* ---- the equations, a row at a time ----------------------------------------------------------------------------- */

/* What W_o reads. */
static void naive_output(const readout_case *c, real *output, size_t row)
{
    const real *f = c->features + row * c->stride, *W = c->theta + c->layer.hidden_weight;
    for (size_t i = 0; i < c->layer.units; i++) {
        switch (c->layer.kind) {
        case READOUT_KIND_LINEAR:
            output[i] = f[i];
            break;
        case READOUT_KIND_TANH:
            output[i] = tanh(gradcheck_sum(W + i * F, f, F) + c->theta[c->layer.hidden_bias + i]);
            break;
        case READOUT_KIND_MAXOUT:
            output[i] = fmax(gradcheck_sum(W + 2 * i * F, f, F), gradcheck_sum(W + (2 * i + 1) * F, f, F));
            break;
        }
    }
}

static void naive_logits(const readout_case *c, real *logits, const real *output)
{
    const size_t R = c->layer.units;
    for (size_t v = 0; v < c->layer.vocabulary; v++) {
        logits[v] = gradcheck_sum(c->theta + c->layer.weight + v * R, output, R) + c->theta[c->layer.bias + v];
    }
}

static double log_sum(const real *logits, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += exp(logits[i]);
    }
    return log(sum);
}

static void check_logits(readout_kind kind)
{
    readout_case c = {0};
    real output[F], expected[V], *logits = nan_reals(ROWS * V);
    double nats = 0;
    readout_declare(&c.layer, &c.table, kind, F, UNITS, V, false, READOUT_UNTIED);
    setup(&c, ROWS, 0);
    readout_logits(&c.layer, &(weights_view){.block = c.theta}, logits, c.features, STRIDE, &c.work, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        naive_output(&c, output, row);
        naive_logits(&c, expected, output);
        assert_all_near(logits + row * V, expected, V, 1e-14);
        nats += log_sum(expected, V) - expected[c.target[row]];
    }
    const readout_sums sums = run(&c, NULL);
    assert_near(sums.nats, nats, 1e-13);
    assert_true(sums.objective == sums.nats);
    for (size_t i = 0; i < ROWS * STRIDE; i++) {
        assert_true(c.dfeatures[i] == gradcheck_before); /* without dtheta there is no gradient */
    }
    free(logits);
    teardown(&c);
}

/* Of a declared readout; takes the case apart. */
static void check_gradient(readout_case *c, double smoothing)
{
    setup(c, ROWS, smoothing);
    const readout_sums sums = run(c, c->dtheta), again = run(c, NULL);
    assert_true(sums.nats == again.nats && sums.objective == again.objective);
    gradcheck("features", c->features, c->dfeatures, ROWS * STRIDE, loss, c);
    gradcheck_parameters(&c->table, c->theta, c->dtheta, loss, c);
    teardown(c);
}

static void check_kind(readout_kind kind)
{
    static const struct {
        double smoothing, dropout;
    } choices[] = {{0, 0}, {0.1, 0}, {0, 0.4}, {0.1, 0.4}};
    check_logits(kind);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        readout_case c = {0};
        readout_declare(&c.layer, &c.table, kind, F, UNITS, V, false, READOUT_UNTIED);
        c.layer.dropout = choices[i].dropout;
        check_gradient(&c, choices[i].smoothing);
    }
}

static void test_linear(void **state)
{
    (void)state;
    check_kind(READOUT_KIND_LINEAR);
}

static void test_tanh(void **state)
{
    (void)state;
    check_kind(READOUT_KIND_TANH);
}

static void test_maxout(void **state)
{
    (void)state;
    check_kind(READOUT_KIND_MAXOUT);
}

static void test_tied(void **state)
{
    (void)state;
    readout_case c = {0};
    const size_t before = parameters_add(&c.table, "something", 3, 0, INIT_ZERO);
    const size_t embedding = parameters_add(&c.table, "embedding", V, UNITS, INIT_EMBEDDING);
    readout_declare(&c.layer, &c.table, READOUT_KIND_TANH, F, UNITS, V, false, embedding);
    assert_int_equal(before, 0);
    assert_int_equal(c.layer.weight, embedding);
    assert_int_equal(c.table.size, 3 + V * UNITS + UNITS * F + UNITS + V); /* no matrix of its own */
    check_gradient(&c, 0);
}

static double nats_with_key(double rate, uint64_t key)
{
    readout_case c = {0};
    readout_declare(&c.layer, &c.table, READOUT_KIND_TANH, F, UNITS, V, false, READOUT_UNTIED);
    c.layer.dropout = rate;
    setup(&c, ROWS, 0);
    c.work.key = key;
    const double nats = run(&c, NULL).nats;
    teardown(&c);
    return nats;
}

static void test_dropout_follows_its_key(void **state)
{
    (void)state;
    assert_true(nats_with_key(0.4, 1) == nats_with_key(0.4, 1));
    assert_true(nats_with_key(0.4, 1) != nats_with_key(0.4, 2));
    assert_true(nats_with_key(0.4, 1) != nats_with_key(0, 1));
    assert_true(nats_with_key(0, 1) == nats_with_key(0, 2));
}

/* ---- many tiles ------------------------------------------------------------------------------------------------- */

enum { MANY_WORDS = 70000, MANY_ROWS = 150 };

/* dlogits of one row, to dW_o, db_o and the output's gradient; returns the loss. */
static double naive_row(const readout_case *c, real *dtheta, real *doutput, const real *output, real *logits,
                        size_t row)
{
    const size_t R = c->layer.units, words = c->layer.vocabulary;
    naive_logits(c, logits, output);
    const double total = log_sum(logits, words), nats = total - logits[c->target[row]];
    for (size_t v = 0; v < words; v++) {
        const double d = c->scale * (exp(logits[v] - total) - ((int32_t)v == c->target[row]));
        dtheta[c->layer.bias + v] += d;
        for (size_t i = 0; i < R; i++) {
            dtheta[c->layer.weight + v * R + i] += d * output[i];
            doutput[i] += d * c->theta[c->layer.weight + v * R + i];
        }
    }
    return nats;
}

/* tanh backward of one row, to dW_t, db_t and the features' gradient. */
static void naive_hidden(const readout_case *c, real *dtheta, real *dfeatures, const real *doutput, const real *output,
                         size_t row)
{
    for (size_t i = 0; i < c->layer.units; i++) {
        const double d = doutput[i] * (1 - output[i] * output[i]);
        dtheta[c->layer.hidden_bias + i] += d;
        for (size_t j = 0; j < F; j++) {
            dtheta[c->layer.hidden_weight + i * F + j] += d * c->features[row * STRIDE + j];
            dfeatures[row * STRIDE + j] += d * c->theta[c->layer.hidden_weight + i * F + j];
        }
    }
}

static void check_tiles(size_t rows)
{
    readout_case c = {0};
    readout_declare(&c.layer, &c.table, READOUT_KIND_TANH, F, 2, MANY_WORDS, false, READOUT_UNTIED);
    setup(&c, rows, 0);
    assert_true(c.work.tile < rows);
    real *dtheta = nan_reals(c.table.size), *dfeatures = nan_reals(rows * STRIDE), *logits = nan_reals(MANY_WORDS);
    double nats = 0;
    gradcheck_prefill(dtheta, c.table.size);
    gradcheck_prefill(dfeatures, rows * STRIDE);
    for (size_t row = 0; row < rows; row++) {
        real output[2], doutput[2] = {0, 0};
        naive_output(&c, output, row);
        nats += naive_row(&c, dtheta, doutput, output, logits, row);
        naive_hidden(&c, dtheta, dfeatures, doutput, output, row);
    }
    assert_near(run(&c, c.dtheta).nats, nats, 1e-9);
    assert_all_near(c.dtheta, dtheta, c.table.size, 1e-12);
    assert_all_near(c.dfeatures, dfeatures, rows * STRIDE, 1e-12);
    free(dtheta);
    free(dfeatures);
    free(logits);
    teardown(&c);
}

static void test_tiles_add_up(void **state)
{
    (void)state;
    check_tiles(MANY_ROWS);     /* three of 50 */
    check_tiles(MANY_ROWS - 1); /* the last one short */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_tanh),
        cmocka_unit_test(test_maxout),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_dropout_follows_its_key),
        cmocka_unit_test(test_tiles_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
