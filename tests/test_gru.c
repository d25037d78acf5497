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
    real *x, *dx;  /* [N,I] */
    real *initial; /* [B,H] */
    real *h, *w;   /* [N,STATE_STRIDE] states, and what weighs them in the loss */
    arena space;
    gru_trace trace; /* [N, ...] */
    gru_gradient gradient;
    real *carry;   /* [B,H] */
    real *scratch; /* [B,3H] */
} gru_case;

static void layout(gru_case *c)
{
    gru_layout(&c->cell, &c->trace, &c->space, N, B, true);
    gru_layout_gradient(&c->cell, &c->gradient, &c->space, N);
    c->trace.previous = arena_reals(&c->space, N * PREVIOUS_STRIDE);
    c->trace.previous_stride = PREVIOUS_STRIDE;
    c->scratch = arena_reals(&c->space, B * 3 * H);
}

static void setup(gru_case *c, const gru_kind *kind)
{
    nmt_error error;
    *c = (gru_case){0};
    gru_declare(&c->cell, &c->table, "cell", I, H, kind);
    arena_measure(&c->space);
    layout(c);
    assert_int_equal(arena_reserve(&c->space, "the test", &error), NMT_OK);
    memset(c->space.base, 0xff, c->space.capacity); /* NaN: nobody may count on zeros */
    layout(c);
    c->trace.key = 7;
    gru_draw_mask(&c->cell, &c->trace, B);
    c->theta = normal_reals(c->table.size, 0.5, 1);
    c->dtheta = nan_reals(c->table.size);
    c->x = normal_reals(N * I, 1, 2);
    c->dx = nan_reals(N * I);
    c->initial = normal_reals(B * H, 1, 3);
    c->h = nan_reals(N * STATE_STRIDE);
    c->w = normal_reals(N * STATE_STRIDE, 1, 4);
    c->carry = normal_reals(B * H, 0, 5);
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
    free(c->carry);
    arena_free(&c->space);
}

static void forward(gru_case *c)
{
    const weights_view theta = {.block = c->theta};
    weights_forward(&theta, c->trace.gates, 3 * H, c->x, I, c->cell.weight_ih, I, gru_input_bias(&c->cell), N, 3 * H,
                    I);
    for (size_t t = 0; t < STEPS; t++) {
        for (size_t row = 0; row < active[t]; row++) {
            const real *from = t > 0 ? c->h + (offset[t - 1] + row) * STATE_STRIDE : c->initial + row * H;
            memcpy(c->trace.previous + (offset[t] + row) * PREVIOUS_STRIDE, from, H * sizeof *from);
        }
        gru_step_forward(&c->cell, &theta, c->h + offset[t] * STATE_STRIDE, STATE_STRIDE, &c->trace, offset[t],
                         active[t], c->scratch);
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
        gru_step_backward(&c->cell, &(weights_view){.block = c->theta}, c->carry, &c->trace, &c->gradient, offset[t],
                          active[t], c->scratch);
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

/* Gates begin .. begin+count-1 of one part, from W v: with their bias; or normalised first, with gain and bias. */
static void naive_part(const gru_case *c, real *part, const real *v, bool input, size_t begin, size_t count)
{
    const size_t width = input ? I : H;
    const real *W = c->theta + (input ? c->cell.weight_ih : c->cell.weight_hh);
    const real *b = c->theta + (input ? c->cell.bias_ih : c->cell.bias_hh);
    const real *g = c->theta + (input ? c->cell.gain_ih : c->cell.gain_hh);
    double mean = 0, variance = 0;
    for (size_t i = begin; i < begin + count; i++) {
        part[i] = dot(W, i, v, width);
        mean += part[i] / (double)count;
    }
    for (size_t i = begin; i < begin + count; i++) {
        variance += (part[i] - mean) * (part[i] - mean) / (double)count;
    }
    for (size_t i = begin; i < begin + count; i++) {
        part[i] = c->cell.kind.normalized ? g[i] * (part[i] - mean) / sqrt(variance + 1e-5) + b[i] : part[i] + b[i];
    }
}

/* `m` is what the recurrent matrices see of h, a factor each. */
static void naive_step(const gru_case *c, real *out, const real *x, const real *h, const real *m)
{
    real input[3 * H], state[3 * H], read[H], reset[H];
    for (size_t i = 0; i < H; i++) {
        read[i] = h[i] * m[i];
    }
    naive_part(c, input, x, true, 0, 2 * H);
    naive_part(c, input, x, true, 2 * H, H);
    naive_part(c, state, read, false, 0, 2 * H);
    for (size_t i = 0; i < H; i++) {
        reset[i] = sigma(input[i] + state[i]) * read[i];
    }
    naive_part(c, state, c->cell.kind.reset == GRU_AFTER ? read : reset, false, 2 * H, H);
    for (size_t i = 0; i < H; i++) {
        const double r = sigma(input[i] + state[i]), z = sigma(input[H + i] + state[H + i]);
        const double factor = c->cell.kind.reset == GRU_AFTER ? r : 1;
        out[i] = (1 - z) * tanh(input[2 * H + i] + factor * state[2 * H + i]) + z * h[i];
    }
}

static void check_forward(const gru_kind *kind)
{
    gru_case c;
    setup(&c, kind);
    forward(&c);
    for (size_t row = 0; row < B; row++) {
        real h[H], next[H], all[H] = {1, 1, 1, 1, 1};
        memcpy(h, c.initial + row * H, sizeof h);
        for (size_t t = 0; t < STEPS && row < active[t]; t++) {
            naive_step(&c, next, c.x + (offset[t] + row) * I, h, kind->dropout > 0 ? c.trace.mask + row * H : all);
            memcpy(h, next, sizeof h);
            assert_all_near(c.h + (offset[t] + row) * STATE_STRIDE, h, H, 1e-13);
        }
    }
    for (size_t row = 0; row < N; row++) {
        assert_true(isnan(c.h[row * STATE_STRIDE + H])); /* the column beside is not ours */
    }
    teardown(&c);
}

static void check_gradient(const gru_kind *kind)
{
    gru_case c;
    setup(&c, kind);
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

static const gru_kind kinds[] = {
    {.reset = GRU_AFTER},
    {.reset = GRU_BEFORE},
    {.reset = GRU_AFTER, .dropout = 0.4},
    {.reset = GRU_BEFORE, .dropout = 0.4},
    {.reset = GRU_AFTER, .normalized = true},
    {.reset = GRU_BEFORE, .normalized = true},
    {.reset = GRU_AFTER, .normalized = true, .dropout = 0.4},
    {.reset = GRU_BEFORE, .normalized = true, .dropout = 0.4},
};

static void test_steps_are_the_equations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        check_forward(&kinds[i]);
    }
}

static void test_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        check_gradient(&kinds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_the_equations),
        cmocka_unit_test(test_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
