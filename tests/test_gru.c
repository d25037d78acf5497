/* The cell over three steps of 4, 3 and 1 sequences, as a packed batch has them, in both forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "layers/gru.h"
#include "ops/linear.h"
#include "support_reals.h"

enum { STEPS = 3, B = 4, N = 8, I = 3, H = 5, PREVIOUS_STRIDE = 7, STATE_STRIDE = 6 };
static const size_t active[STEPS] = {4, 3, 1}, offset[STEPS] = {0, 4, 7};

typedef struct gru_case {
    gru cell;
    parameter_table table;
    real *theta, *dtheta;
    real *x, *dx;    /* [N,I] */
    real *initial;   /* [B,H] */
    real *h, *w;     /* [N,STATE_STRIDE] states, and what weighs them in the loss */
    gru_trace trace; /* [N, ...] */
    gru_gradient gradient;
    real *carry;   /* [B,H] */
    real *scratch; /* [B,3H] */
} gru_case;

static void setup(gru_case *c, gru_reset reset, bool masked)
{
    *c = (gru_case){0};
    gru_declare(&c->cell, &c->table, "cell", I, H, reset);
    c->theta = normal_reals(c->table.size, 0.5, 1);
    c->dtheta = nan_reals(c->table.size);
    c->x = normal_reals(N * I, 1, 2);
    c->dx = nan_reals(N * I);
    c->initial = normal_reals(B * H, 1, 3);
    c->h = nan_reals(N * STATE_STRIDE);
    c->w = normal_reals(N * STATE_STRIDE, 1, 4);
    c->trace = (gru_trace){.gates = nan_reals(N * 3 * H),
                           .recurrent = nan_reals(N * H),
                           .previous = nan_reals(N * PREVIOUS_STRIDE),
                           .previous_stride = PREVIOUS_STRIDE};
    if (masked) {
        c->cell.dropout = 0.4;
        c->trace.mask = nan_reals(B * H);
        c->trace.masked = nan_reals(N * H);
        gru_draw_mask(&c->cell, &c->trace, B);
    }
    c->gradient.input = nan_reals(N * 3 * H);
    c->gradient.recurrent = reset == GRU_AFTER ? nan_reals(N * 3 * H) : c->gradient.input;
    c->carry = normal_reals(B * H, 0, 5);
    c->scratch = nan_reals(B * 3 * H);
}

static void teardown(gru_case *c)
{
    free(c->theta);
    free(c->dtheta);
    free(c->x);
    free(c->dx);
    free(c->initial);
    free(c->h);
    free(c->w);
    free(c->trace.gates);
    free(c->trace.recurrent);
    free(c->trace.previous);
    free(c->trace.mask);
    free(c->trace.masked);
    if (c->cell.reset == GRU_AFTER) {
        free(c->gradient.recurrent);
    }
    free(c->gradient.input);
    free(c->carry);
    free(c->scratch);
}

static void forward(gru_case *c)
{
    linear_forward(c->trace.gates, 3 * H, c->x, I, c->theta + c->cell.weight_ih, I, c->theta + c->cell.bias_ih, N,
                   3 * H, I);
    for (size_t t = 0; t < STEPS; t++) {
        for (size_t row = 0; row < active[t]; row++) {
            const real *from = t > 0 ? c->h + (offset[t - 1] + row) * STATE_STRIDE : c->initial + row * H;
            memcpy(c->trace.previous + (offset[t] + row) * PREVIOUS_STRIDE, from, H * sizeof *from);
        }
        gru_step_forward(&c->cell, &(weights_view){.block = c->theta}, c->h + offset[t] * STATE_STRIDE, STATE_STRIDE,
                         &c->trace, offset[t], active[t], c->scratch);
    }
}

/* Leaves the gradient at the initial states in c->carry. */
static void backward(gru_case *c)
{
    for (size_t t = STEPS; t-- > 0;) {
        for (size_t row = 0; row < active[t]; row++) {
            for (size_t i = 0; i < H; i++) {
                c->carry[row * H + i] += c->w[(offset[t] + row) * STATE_STRIDE + i];
            }
        }
        gru_step_backward(&c->cell, c->theta, c->carry, &c->trace, &c->gradient, offset[t], active[t], c->scratch);
    }
    gru_backward_weights(&c->cell, c->dtheta, &c->trace, &c->gradient, N);
    linear_backward_weight(c->dtheta + c->cell.weight_ih, I, c->gradient.input, 3 * H, c->x, I, N, 3 * H, I);
    linear_backward_input(c->dx, I, c->gradient.input, 3 * H, c->theta + c->cell.weight_ih, I, N, 3 * H, I);
}

static double loss(void *context)
{
    gru_case *c = context;
    double sum = 0;
    forward(c);
    for (size_t row = 0; row < N; row++) {
        sum += gradcheck_sum(c->w + row * STATE_STRIDE, c->h + row * STATE_STRIDE, H);
    }
    return sum;
}

/* ---- the equations, a number at a time -------------------------------------------------------------------------- */

static double sigma(double x)
{
    return 1 / (1 + exp(-x));
}

/* Row `row` of W times v. */
static double dot(const real *W, size_t row, const real *v, size_t count)
{
    return gradcheck_sum(W + row * count, v, count);
}

/* `m` is what the recurrent matrices see of h, a factor each. */
static void naive_step(const gru_case *c, real *out, const real *x, const real *h, const real *m)
{
    const real *W_i = c->theta + c->cell.weight_ih, *W_h = c->theta + c->cell.weight_hh;
    const real *b_i = c->theta + c->cell.bias_ih, *b_h = c->theta + c->cell.bias_hh;
    real r[H], z[H], reset[H], read[H];
    for (size_t i = 0; i < H; i++) {
        read[i] = h[i] * m[i];
    }
    for (size_t i = 0; i < H; i++) {
        r[i] = sigma(dot(W_i, i, x, I) + b_i[i] + dot(W_h, i, read, H) + b_h[i]);
        z[i] = sigma(dot(W_i, H + i, x, I) + b_i[H + i] + dot(W_h, H + i, read, H) + b_h[H + i]);
        reset[i] = r[i] * read[i];
    }
    for (size_t i = 0; i < H; i++) {
        const size_t n = 2 * H + i;
        const double input = dot(W_i, n, x, I) + b_i[n];
        const double state =
            c->cell.reset == GRU_AFTER ? r[i] * (dot(W_h, n, read, H) + b_h[n]) : dot(W_h, n, reset, H) + b_h[n];
        out[i] = (1 - z[i]) * tanh(input + state) + z[i] * h[i];
    }
}

static void check_forward(gru_reset reset, bool masked)
{
    gru_case c;
    setup(&c, reset, masked);
    forward(&c);
    for (size_t row = 0; row < B; row++) {
        real h[H], next[H], all[H] = {1, 1, 1, 1, 1};
        memcpy(h, c.initial + row * H, sizeof h);
        for (size_t t = 0; t < STEPS && row < active[t]; t++) {
            naive_step(&c, next, c.x + (offset[t] + row) * I, h, masked ? c.trace.mask + row * H : all);
            memcpy(h, next, sizeof h);
            assert_all_near(c.h + (offset[t] + row) * STATE_STRIDE, h, H, 1e-14);
        }
    }
    for (size_t row = 0; row < N; row++) {
        assert_true(isnan(c.h[row * STATE_STRIDE + H])); /* the column beside is not ours */
    }
    teardown(&c);
}

static void check_gradient(gru_reset reset, bool masked)
{
    gru_case c;
    setup(&c, reset, masked);
    gradcheck_prefill(c.dtheta, c.table.size);
    gradcheck_prefill(c.dx, N * I);
    forward(&c);
    backward(&c);
    for (size_t i = 0; i < B * H; i++) {
        c.carry[i] += gradcheck_before; /* became the gradient: nothing is added to it */
    }
    gradcheck_parameters(&c.table, c.theta, c.dtheta, loss, &c);
    gradcheck("x", c.x, c.dx, N * I, loss, &c);
    gradcheck("h_0", c.initial, c.carry, B * H, loss, &c);
    teardown(&c);
}

static void test_reset_after_is_the_equations(void **state)
{
    (void)state;
    check_forward(GRU_AFTER, false);
    check_forward(GRU_AFTER, true);
}

static void test_reset_before_is_the_equations(void **state)
{
    (void)state;
    check_forward(GRU_BEFORE, false);
    check_forward(GRU_BEFORE, true);
}

static void test_reset_after_gradient(void **state)
{
    (void)state;
    check_gradient(GRU_AFTER, false);
    check_gradient(GRU_AFTER, true);
}

static void test_reset_before_gradient(void **state)
{
    (void)state;
    check_gradient(GRU_BEFORE, false);
    check_gradient(GRU_BEFORE, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reset_after_is_the_equations),
        cmocka_unit_test(test_reset_before_is_the_equations),
        cmocka_unit_test(test_reset_after_gradient),
        cmocka_unit_test(test_reset_before_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
