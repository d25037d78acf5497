/* Functions without parameters, forward and backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "ops/activation.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/softmax.h"
#include "support_reals.h"

/* ---- linear: columns of wider matrices ------------------------------------------------------------------------- */

enum { ROWS = 4, IN = 3, OUT = 5, LDX = 6, LDY = 8, LDW = 7 };

typedef struct linear_case {
    real *x, *W, *b, *y, *w; /* w weighs y; both [ROWS,LDY] */
} linear_case;

static linear_case linear_new(void)
{
    return (linear_case){normal_reals(ROWS * LDX, 1, 1), normal_reals(OUT * LDW, 1, 2), normal_reals(OUT, 1, 3),
                         nan_reals(ROWS * LDY), normal_reals(ROWS * LDY, 1, 4)};
}

static void linear_free(linear_case *c)
{
    free(c->x);
    free(c->W);
    free(c->b);
    free(c->y);
    free(c->w);
}

static double linear_sum(void *context)
{
    const linear_case *c = context;
    double sum = 0;
    linear_forward(c->y, LDY, c->x, LDX, c->W, LDW, c->b, ROWS, OUT, IN);
    for (size_t row = 0; row < ROWS; row++) {
        sum += gradcheck_sum(c->w + row * LDY, c->y + row * LDY, OUT);
    }
    return sum;
}

static real linear_naive(const linear_case *c, size_t row, size_t o)
{
    real sum = 0;
    for (size_t i = 0; i < IN; i++) {
        sum += c->x[row * LDX + i] * c->W[o * LDW + i];
    }
    return sum;
}

static void test_linear_forward(void **state)
{
    (void)state;
    linear_case c = linear_new();
    linear_forward(c.y, LDY, c.x, LDX, c.W, LDW, c.b, ROWS, OUT, IN);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t o = 0; o < OUT; o++) {
            assert_near(c.y[row * LDY + o], linear_naive(&c, row, o) + c.b[o], 1e-14);
        }
        for (size_t o = OUT; o < LDY; o++) {
            assert_true(isnan(c.y[row * LDY + o])); /* the columns beside are not ours */
        }
    }
    linear_forward(c.y, LDY, c.x, LDX, c.W, LDW, NULL, ROWS, OUT, IN);
    linear_forward_add(c.y, LDY, c.x, LDX, c.W, LDW, ROWS, OUT, IN);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t o = 0; o < OUT; o++) {
            assert_near(c.y[row * LDY + o], 2 * linear_naive(&c, row, o), 1e-14);
        }
    }
    linear_free(&c);
}

static void test_linear_backward(void **state)
{
    (void)state;
    linear_case c = linear_new();
    real dx[ROWS * LDX], dW[OUT * LDW], db[OUT];
    gradcheck_prefill(dx, ROWS * LDX);
    gradcheck_prefill(dW, OUT * LDW);
    gradcheck_prefill(db, OUT);
    linear_backward_input(dx, LDX, c.w, LDY, c.W, LDW, ROWS, OUT, IN);
    linear_backward_weight(dW, LDW, c.w, LDY, c.x, LDX, ROWS, OUT, IN);
    linear_backward_bias(db, c.w, LDY, ROWS, OUT);
    gradcheck("x", c.x, dx, ROWS * LDX, linear_sum, &c);
    gradcheck("W", c.W, dW, OUT * LDW, linear_sum, &c);
    gradcheck("b", c.b, db, OUT, linear_sum, &c);
    linear_free(&c);
}

/* ---- activations ----------------------------------------------------------------------------------------------- */

enum { UNITS = 3 };

typedef struct array_case {
    real *x, *y, *w;
} array_case;

static double tanh_sum(void *context)
{
    const array_case *c = context;
    memcpy(c->y, c->x, ROWS * sizeof(real));
    tanh_forward(c->y, ROWS);
    return gradcheck_sum(c->w, c->y, ROWS);
}

static void test_tanh(void **state)
{
    (void)state;
    real x[ROWS] = {-2.5, -0.1, 0.7, 3}, y[ROWS], w[ROWS] = {1, -2, 3, 0.5}, dx[ROWS];
    array_case c = {x, y, w};
    gradcheck_prefill(dx, ROWS);
    tanh_sum(&c);
    for (size_t i = 0; i < ROWS; i++) {
        assert_near(y[i], tanh(x[i]), 1e-15);
    }
    tanh_backward(dx, w, y, ROWS);
    gradcheck("x", x, dx, ROWS, tanh_sum, &c);
}

static double maxout_sum(void *context)
{
    const array_case *c = context;
    maxout_forward(c->y, c->x, ROWS, UNITS);
    return gradcheck_sum(c->w, c->y, ROWS * UNITS);
}

static void test_maxout(void **state)
{
    (void)state;
    real y[ROWS * UNITS], dx[ROWS * 2 * UNITS];
    array_case c = {normal_reals(ROWS * 2 * UNITS, 1, 1), y, normal_reals(ROWS * UNITS, 1, 2)};
    gradcheck_prefill(dx, ROWS * 2 * UNITS);
    maxout_sum(&c);
    for (size_t i = 0; i < ROWS * UNITS; i++) {
        assert_true(y[i] == fmax(c.x[2 * i], c.x[2 * i + 1]));
    }
    maxout_backward(dx, c.w, c.x, ROWS, UNITS);
    gradcheck("x", c.x, dx, ROWS * 2 * UNITS, maxout_sum, &c);
    free(c.x);
    free(c.w);
}

static void test_maxout_gives_a_tie_to_the_first(void **state)
{
    (void)state;
    const real x[2] = {0.5, 0.5}, dy = 3;
    real dx[2] = {10, 20};
    maxout_backward(dx, &dy, x, 1, 1);
    assert_true(dx[0] == 13 && dx[1] == 20);
}

/* ---- embedding ------------------------------------------------------------------------------------------------- */

enum { V = 6, E = 3 };
static const int32_t words[ROWS] = {4, 1, 4, 4}; /* one word three times, most words not at all */

static double embedding_sum(void *context)
{
    const array_case *c = context;
    double sum = 0;
    embedding_forward(c->y, LDY, c->x, words, ROWS, E);
    for (size_t row = 0; row < ROWS; row++) {
        sum += gradcheck_sum(c->w + row * LDY, c->y + row * LDY, E);
    }
    return sum;
}

static void test_embedding(void **state)
{
    (void)state;
    array_case c = {normal_reals(V * E, 1, 1), nan_reals(ROWS * LDY), normal_reals(ROWS * LDY, 1, 2)};
    real dW[V * E];
    gradcheck_prefill(dW, V * E);
    embedding_sum(&c);
    for (size_t row = 0; row < ROWS; row++) {
        assert_memory_equal(c.y + row * LDY, c.x + (size_t)words[row] * E, E * sizeof(real));
        assert_true(isnan(c.y[row * LDY + E]));
    }
    embedding_backward(dW, c.w, LDY, words, ROWS, E);
    gradcheck("W", c.x, dW, V * E, embedding_sum, &c);
    free(c.x);
    free(c.y);
    free(c.w);
}

/* ---- masked softmax -------------------------------------------------------------------------------------------- */

enum { LENGTH = 5, COUNT = 8 };

static double softmax_sum(void *context)
{
    const array_case *c = context;
    softmax_forward(c->y, c->x, LENGTH, COUNT);
    return gradcheck_sum(c->w, c->y, COUNT);
}

static void test_softmax(void **state)
{
    (void)state;
    array_case c = {normal_reals(COUNT, 1, 1), nan_reals(COUNT), normal_reals(COUNT, 1, 2)};
    real de[COUNT];
    double sum = 0, exponentials = 0;
    gradcheck_prefill(de, COUNT);
    softmax_sum(&c);
    for (size_t i = 0; i < LENGTH; i++) {
        exponentials += exp(c.x[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_near(c.y[i], i < LENGTH ? exp(c.x[i]) / exponentials : 0, i < LENGTH ? 1e-15 : 0);
        sum += c.y[i];
    }
    assert_near(sum, 1, 1e-15);
    softmax_backward(de, c.w, c.y, LENGTH);
    gradcheck("e", c.x, de, COUNT, softmax_sum, &c);
    free(c.x);
    free(c.y);
    free(c.w);
}

/* The middle token's attention over "The black cat sat on the mat", to the digits printed. */
static void test_softmax_worked_example(void **state)
{
    (void)state;
    static const real e[7] = {0.3, 1.0, 3.8, 0.3, -0.8, -0.5, -0.9};
    static const double exponential[7] = {0.030, 0.061, 1.000, 0.030, 0.010, 0.014, 0.009};
    static const double weight[7] = {0.026, 0.053, 0.867, 0.026, 0.009, 0.012, 0.008};
    real alpha[7];
    softmax_forward(alpha, e, 7, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_near(alpha[i], weight[i], 0.0005);
        assert_near(alpha[i] / alpha[2], exponential[i], 0.0005);
    }
}

static void test_softmax_ignores_a_shift(void **state)
{
    (void)state;
    real *e = normal_reals(COUNT, 2, 1), shifted[COUNT], alpha[COUNT], alpha_shifted[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        shifted[i] = e[i] + 1000;
    }
    softmax_forward(alpha, e, LENGTH, COUNT);
    softmax_forward(alpha_shifted, shifted, LENGTH, COUNT);
    assert_all_near(alpha_shifted, alpha, COUNT, 1e-12);
    free(e);
}

static void test_softmax_of_large_scores(void **state)
{
    (void)state;
    static const real scores[3][4] = {{1e4, -1e4, 1e4, -1e4}, {-1e4, -1e4, -1e4, -1e4}, {1e4, 1e4 - 1, 0, -1e4}};
    for (size_t row = 0; row < 3; row++) {
        real alpha[4];
        double sum = 0;
        softmax_forward(alpha, scores[row], 4, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_true(alpha[i] >= 0 && alpha[i] <= 1);
            sum += alpha[i];
        }
        assert_near(sum, 1, 1e-15);
    }
}

static void test_softmax_in_place_and_of_one(void **state)
{
    (void)state;
    real e[3] = {0.25, -7, 7}, apart[3];
    softmax_forward(apart, e, 2, 3);
    softmax_forward(e, e, 2, 3);
    assert_memory_equal(e, apart, sizeof e);
    e[0] = -123;
    softmax_forward(e, e, 1, 3);
    assert_true(e[0] == 1 && e[1] == 0 && e[2] == 0);
}

/* ---- dropout --------------------------------------------------------------------------------------------------- */

enum { MASKED = 30001 }; /* more than one chunk, and odd */

static void test_dropout_mask(void **state)
{
    (void)state;
    real *mask = nan_reals(MASKED), *other = nan_reals(MASKED);
    size_t dropped = 0, same = 0;
    dropout_mask(mask, MASKED, 0.3, 1);
    dropout_mask(other, MASKED, 0.3, 2);
    for (size_t i = 0; i < MASKED; i++) {
        assert_true(mask[i] == 0 || mask[i] == 1 / (1 - 0.3));
        dropped += mask[i] == 0;
        same += mask[i] == other[i];
    }
    /* Five standard deviations of the binomial distribution: 5 sqrt(N p (1-p)). */
    assert_near((double)dropped, 0.3 * MASKED, 5 * sqrt(MASKED * 0.3 * 0.7));
    assert_near((double)same, 0.58 * MASKED, 5 * sqrt(MASKED * 0.58 * 0.42));
    dropout_mask(other, MASKED, 0.3, 1);
    assert_memory_equal(mask, other, MASKED * sizeof *mask);
    dropout_mask(other, 17, 0.3, 2);
    dropout_mask(other, 3, 0.3, 1); /* a shorter mask is a longer one's beginning */
    assert_memory_equal(mask, other, 3 * sizeof *mask);
    free(mask);
    free(other);
}

static void test_dropout_mask_of_rows(void **state)
{
    (void)state;
    enum { TALL = 5000, WIDE = 3 };
    real *mask = nan_reals(TALL * WIDE), *other = nan_reals(TALL * WIDE), *rows = nan_reals(TALL);
    size_t dropped = 0;
    dropout_mask(mask, TALL * WIDE, 0.5, 1);
    memcpy(other, mask, TALL * WIDE * sizeof *mask);
    for (size_t row = 0; row < TALL; row++) {
        rows[row] = 1;
    }
    dropout_mask_rows(rows, TALL, 1, 0.2, 2);
    dropout_mask_rows(mask, TALL, WIDE, 0.2, 2);
    for (size_t row = 0; row < TALL; row++) {
        assert_true(rows[row] == 0 || rows[row] == 1 / (1 - 0.2));
        for (size_t i = 0; i < WIDE; i++) {
            assert_true(mask[row * WIDE + i] == other[row * WIDE + i] * rows[row]);
        }
        dropped += rows[row] == 0;
    }
    assert_near((double)dropped, 0.2 * TALL, 5 * sqrt(TALL * 0.2 * 0.8));
    memcpy(other, mask, TALL * WIDE * sizeof *mask);
    dropout_mask_rows(mask, TALL, WIDE, 0, 3);
    assert_memory_equal(mask, other, TALL * WIDE * sizeof *mask);
    free(mask);
    free(other);
    free(rows);
}

static void test_dropout_apply(void **state)
{
    (void)state;
    real y[6] = {1, 2, 3, 4, 5, 6};
    const real mask[4] = {0, 2, 2, 0};
    static const real expected[6] = {0, 4, 3, 8, 0, 6};
    dropout_apply(y, 3, mask, 2, 2);
    assert_memory_equal(y, expected, sizeof y);
}

/* ---- layer normalisation: columns of wider matrices ------------------------------------------------------------ */

typedef struct norm_case {
    real *x, *y, *w, *gain, *bias; /* x, y, w [ROWS,LDX] */
    layer_norm_kept kept;          /* values [ROWS,LDY], inverse [ROWS,2] */
} norm_case;

static double norm_sum(void *context)
{
    const norm_case *c = context;
    double sum = 0;
    memcpy(c->y, c->x, ROWS * LDX * sizeof *c->y);
    layer_norm_forward(c->y, LDX, &c->kept, c->gain, c->bias, ROWS, OUT);
    for (size_t row = 0; row < ROWS; row++) {
        sum += gradcheck_sum(c->w + row * LDX, c->y + row * LDX, OUT);
    }
    return sum;
}

static void check_normal_row(const norm_case *c, size_t row)
{
    const real *x = c->x + row * LDX;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < OUT; i++) {
        mean += x[i] / OUT;
    }
    for (size_t i = 0; i < OUT; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / OUT;
    }
    for (size_t i = 0; i < OUT; i++) {
        const double n = (x[i] - mean) / sqrt(variance + 1e-5);
        assert_near(c->y[row * LDX + i], c->gain[i] * n + c->bias[i], 1e-13);
        assert_near(c->kept.values[row * LDY + i], n, 1e-13);
    }
    assert_near(c->kept.inverse[row * 2], 1 / sqrt(variance + 1e-5), 1e-10);
    assert_true(c->y[row * LDX + OUT] == x[OUT]); /* the column beside is not ours */
}

static void test_layer_norm(void **state)
{
    (void)state;
    real dx[ROWS * LDX], dgain[OUT];
    norm_case c = {.x = normal_reals(ROWS * LDX, 1, 1),
                   .y = nan_reals(ROWS * LDX),
                   .w = normal_reals(ROWS * LDX, 1, 2),
                   .gain = normal_reals(OUT, 1, 3),
                   .bias = normal_reals(OUT, 1, 4),
                   .kept = {nan_reals(ROWS * LDY), LDY, nan_reals(ROWS * 2), 2}};
    for (size_t i = 0; i < OUT; i++) {
        c.x[2 * LDX + i] = 3; /* all the same: nothing but the epsilon keeps it finite */
        c.x[3 * LDX + i] += 1000;
    }
    norm_sum(&c);
    for (size_t row = 0; row < 3; row++) {
        check_normal_row(&c, row);
    }
    gradcheck_prefill(dx, ROWS * LDX);
    gradcheck_prefill(dgain, OUT);
    layer_norm_backward_input(dx, LDX, c.w, LDX, &c.kept, c.gain, ROWS, OUT);
    layer_norm_backward_gain(dgain, c.w, LDX, &c.kept, ROWS, OUT);
    gradcheck("gain", c.gain, dgain, OUT, norm_sum, &c);
    gradcheck("x", c.x, dx, 2 * LDX, norm_sum, &c);
    free(c.kept.values);
    free(c.kept.inverse);
    c.kept = (layer_norm_kept){0}; /* without backward */
    memset(c.x + 2 * LDX, 0, 2 * LDX * sizeof *c.x);
    assert_true(isfinite(norm_sum(&c)));
    assert_memory_equal(c.y + 2 * LDX, c.bias, OUT * sizeof *c.bias);
    free(c.x);
    free(c.y);
    free(c.w);
    free(c.gain);
    free(c.bias);
}

/* ---- cross entropy --------------------------------------------------------------------------------------------- */

static const int32_t truth[ROWS] = {2, 5, 2, 0};

typedef struct entropy_case {
    real *logits;
    double smoothing, scale;
} entropy_case;

static double entropy_sum(void *context)
{
    const entropy_case *c = context;
    real values[ROWS * V];
    double nats[ROWS], objective[ROWS], sum = 0;
    memcpy(values, c->logits, sizeof values);
    cross_entropy_forward(values, nats, objective, truth, c->smoothing, ROWS, V);
    for (size_t row = 0; row < ROWS; row++) {
        sum += c->scale * objective[row];
    }
    return sum;
}

/* Against the definition: -sum_v q_v log p_v. */
static void check_entropy_forward(const entropy_case *c, const real *p, const double *nats, const double *objective)
{
    for (size_t row = 0; row < ROWS; row++) {
        const real *z = c->logits + row * V;
        double sum = 0, expected = 0;
        for (size_t i = 0; i < V; i++) {
            sum += exp(z[i]);
        }
        for (size_t i = 0; i < V; i++) {
            const double q = (1 - c->smoothing) * ((int32_t)i == truth[row]) + c->smoothing / V;
            expected -= q * (z[i] - log(sum));
            assert_near(p[row * V + i], exp(z[i]) / sum, 1e-15);
        }
        assert_near(nats[row], log(sum) - z[truth[row]], 1e-14);
        assert_near(objective[row], expected, 1e-14);
    }
}

static void check_entropy(double smoothing)
{
    entropy_case c = {normal_reals(ROWS * V, 1.5, 1), smoothing, 0.25};
    real values[ROWS * V];
    double nats[ROWS], objective[ROWS];
    memcpy(values, c.logits, sizeof values);
    cross_entropy_forward(values, nats, objective, truth, smoothing, ROWS, V);
    check_entropy_forward(&c, values, nats, objective);
    cross_entropy_backward(values, truth, smoothing, (real)c.scale, ROWS, V);
    for (size_t i = 0; i < ROWS * V; i++) {
        values[i] += gradcheck_before; /* this one replaces */
    }
    gradcheck("logits", c.logits, values, ROWS * V, entropy_sum, &c);
    free(c.logits);
}

static void test_cross_entropy(void **state)
{
    (void)state;
    check_entropy(0);
    check_entropy(0.1);
}

static void test_cross_entropy_of_large_logits(void **state)
{
    (void)state;
    real logits[V] = {1e4, -1e4, 0, -1e4, 1e4, -1e4};
    const int32_t unlikely = 1;
    double nats, objective;
    cross_entropy_forward(logits, &nats, &objective, &unlikely, 0, 1, V);
    assert_near(nats, 2e4 + log(2), 1e-9);
    assert_true(objective == nats);
    cross_entropy_backward(logits, &unlikely, 0, 1, 1, V);
    static const real expected[V] = {0.5, -1, 0, 0, 0.5, 0};
    assert_all_near(logits, expected, V, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_forward),
        cmocka_unit_test(test_linear_backward),
        cmocka_unit_test(test_tanh),
        cmocka_unit_test(test_maxout),
        cmocka_unit_test(test_maxout_gives_a_tie_to_the_first),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_softmax_worked_example),
        cmocka_unit_test(test_softmax_ignores_a_shift),
        cmocka_unit_test(test_softmax_of_large_scores),
        cmocka_unit_test(test_softmax_in_place_and_of_one),
        cmocka_unit_test(test_dropout_mask),
        cmocka_unit_test(test_dropout_mask_of_rows),
        cmocka_unit_test(test_dropout_apply),
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_cross_entropy_of_large_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
