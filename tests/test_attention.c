/* Attention over four sentences of 3, 1, 6 and 4 tokens: a step in which all are read, then one in which two are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "layers/attention.h"
#include "layers/readout.h"
#include "ops/linear.h"
#include "ops/softmax.h"
#include "support_reals.h"

enum { D = 6, C = 8, A = 7, SENTENCES = 4, TOKENS = 14, LONGEST = 6, ROWS = 6, STEPS = 2, STATE = 9, CONTEXT = 10 };
static const uint32_t start[SENTENCES] = {0, 3, 4, 10}, length[SENTENCES] = {3, 1, 6, 4};
static const uint32_t sentence[SENTENCES] = {2, 0, 3, 1}; /* that row i of a step reads */
static const size_t first[STEPS] = {0, 4}, rows[STEPS] = {4, 2};

/* The annotations that are summed and those that the keys come from are two arrays where the paths are looked at one
 * by one, and the same for the whole. */
typedef struct attention_case {
    attention layer;
    parameter_table table;
    real *theta, *dtheta;
    real *summed, *dsummed;     /* [TOKENS,C] */
    real *compared, *dcompared; /* [TOKENS,C] */
    real *s, *ds;               /* [ROWS,STATE], [ROWS,D] */
    real *keys, *dkeys;         /* [TOKENS,A] */
    real *query, *dquery;       /* [ROWS,A] */
    real *alpha;                /* [ROWS,LONGEST] */
    real *context;              /* [ROWS,CONTEXT] */
    real *w;                    /* [ROWS,C] weighs the context in the loss */
    real *dvector, *scratch;    /* [SENTENCES,A] [SENTENCES,2 LONGEST] */
    attention_memory memory;
} attention_case;

static void setup(attention_case *c)
{
    *c = (attention_case){.summed = normal_reals(TOKENS * C, 1, 1),
                          .compared = normal_reals(TOKENS * C, 1, 2),
                          .dsummed = nan_reals(TOKENS * C),
                          .dcompared = nan_reals(TOKENS * C),
                          .s = normal_reals(ROWS * STATE, 1, 3),
                          .ds = nan_reals(ROWS * D),
                          .keys = nan_reals(TOKENS * A),
                          .dkeys = normal_reals(TOKENS * A, 0, 4),
                          .query = nan_reals(ROWS * A),
                          .dquery = nan_reals(ROWS * A),
                          .alpha = nan_reals(ROWS * LONGEST),
                          .context = nan_reals(ROWS * CONTEXT),
                          .w = normal_reals(ROWS * C, 1, 5),
                          .dvector = normal_reals(SENTENCES * A, 0, 6),
                          .scratch = nan_reals(SENTENCES * 2 * LONGEST)};
    attention_declare(&c->layer, &c->table, attention_score_find("additive"), D, C, A);
    c->theta = normal_reals(c->table.size, 0.7, 7);
    c->dtheta = nan_reals(c->table.size);
    gradcheck_prefill(c->dtheta, c->table.size);
    gradcheck_prefill(c->dsummed, TOKENS * C);
    gradcheck_prefill(c->dcompared, TOKENS * C);
    gradcheck_prefill(c->ds, ROWS * D);
}

static void teardown(attention_case *c)
{
    real *arrays[] = {c->theta, c->dtheta, c->summed, c->dsummed, c->compared, c->dcompared, c->s,       c->ds, c->keys,
                      c->dkeys, c->query,  c->dquery, c->alpha,   c->context,  c->dvector,   c->scratch, c->w};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
}

static void forward(attention_case *c)
{
    c->memory = (attention_memory){c->summed, c->keys, start, length, LONGEST};
    c->layer.score->keys(&c->layer, c->theta, c->keys, c->compared, TOKENS);
    c->layer.score->query(&c->layer, c->theta, c->query, c->s, STATE, ROWS);
    for (size_t t = 0; t < STEPS; t++) {
        attention_forward(&c->layer, c->theta, c->alpha + first[t] * LONGEST, c->context + first[t] * CONTEXT, CONTEXT,
                          c->query + first[t] * A, &c->memory, sentence, rows[t]);
    }
}

static double loss(void *context)
{
    attention_case *c = context;
    double sum = 0;
    forward(c);
    for (size_t row = 0; row < ROWS; row++) {
        sum += gradcheck_sum(c->w + row * C, c->context + row * CONTEXT, C);
    }
    return sum;
}

static double loss_of_one_array(void *context)
{
    attention_case *c = context;
    memcpy(c->compared, c->summed, TOKENS * C * sizeof(real));
    return loss(c);
}

static void backward_value(attention_case *c)
{
    for (size_t t = 0; t < STEPS; t++) {
        attention_backward_value(&c->layer, c->dsummed, c->alpha + first[t] * LONGEST, c->w + first[t] * C, &c->memory,
                                 sentence, rows[t]);
    }
}

static void backward_score(attention_case *c, real *dannotations)
{
    for (size_t t = 0; t < STEPS; t++) {
        attention_backward_score(&c->layer, c->theta, c->dquery + first[t] * A, c->dkeys, c->dvector,
                                 c->alpha + first[t] * LONGEST, c->w + first[t] * C, c->query + first[t] * A,
                                 &c->memory, sentence, rows[t], c->scratch);
    }
    c->layer.score->query_backward(&c->layer, c->theta, c->ds, c->dquery, ROWS);
    c->layer.score->query_weights(&c->layer, c->dtheta, c->dquery, c->s, STATE, ROWS);
    c->layer.score->keys_backward(&c->layer, c->theta, c->dtheta, dannotations, c->dkeys, c->compared, TOKENS);
    linear_backward_bias(c->dtheta + c->layer.vector, c->dvector, A, SENTENCES, c->layer.vector_size);
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

/* e_i = v . tanh(W_s s + W_h h_i + b), a number at a time. */
static double naive_energy(const attention_case *c, size_t row, size_t token)
{
    double energy = 0;
    for (size_t a = 0; a < A; a++) {
        energy += c->theta[c->layer.vector + a] *
                  tanh(gradcheck_sum(c->theta + c->layer.query_weight + a * D, c->s + row * STATE, D) +
                       gradcheck_sum(c->theta + c->layer.key_weight + a * C, c->compared + token * C, C) +
                       c->theta[c->layer.query_bias + a]);
    }
    return energy;
}

static void check_row(const attention_case *c, size_t row, size_t read)
{
    double e[LONGEST], exponentials = 0, sum = 0, expected[C] = {0};
    for (size_t i = 0; i < length[read]; i++) {
        e[i] = naive_energy(c, row, start[read] + i);
        exponentials += exp(e[i]);
    }
    for (size_t i = 0; i < LONGEST; i++) {
        const double weight = i < length[read] ? exp(e[i]) / exponentials : 0;
        assert_near(c->alpha[row * LONGEST + i], weight, i < length[read] ? 1e-14 : 0);
        sum += c->alpha[row * LONGEST + i];
        for (size_t j = 0; j < C && i < length[read]; j++) {
            expected[j] += weight * c->summed[(start[read] + i) * C + j];
        }
    }
    assert_near(sum, 1, 1e-15);
    assert_all_near(c->context + row * CONTEXT, expected, C, 1e-14);
}

static void test_forward_is_the_equations(void **state)
{
    (void)state;
    attention_case c;
    setup(&c);
    forward(&c);
    for (size_t t = 0; t < STEPS; t++) {
        for (size_t i = 0; i < rows[t]; i++) {
            check_row(&c, first[t] + i, sentence[i]);
        }
    }
    for (size_t row = 0; row < ROWS; row++) {
        assert_true(isnan(c.context[row * CONTEXT + C])); /* the column beside is not ours */
    }
    teardown(&c);
}

static void test_one_token_gets_all(void **state)
{
    (void)state;
    attention_case c;
    setup(&c);
    forward(&c);
    assert_true(c.alpha[3 * LONGEST] == 1); /* row 3 reads sentence 1 */
    assert_all_near(c.context + 3 * CONTEXT, c.summed + start[1] * C, C, 0);
    teardown(&c);
}

/* Scores of +-1e4, which exp alone would not survive. */
static void test_large_scores(void **state)
{
    (void)state;
    attention_case c;
    setup(&c);
    for (size_t a = 0; a < A; a++) {
        c.theta[c.layer.vector + a] = a % 2 ? 1e4 : -1e4;
    }
    assert_true(isfinite(loss(&c)));
    backward_value(&c);
    backward_score(&c, c.dcompared);
    for (size_t row = 0; row < ROWS; row++) {
        double sum = 0;
        for (size_t i = 0; i < LONGEST; i++) {
            sum += c.alpha[row * LONGEST + i];
        }
        assert_near(sum, 1, 1e-15);
    }
    for (size_t i = 0; i < TOKENS * C; i++) {
        assert_true(isfinite(c.dsummed[i]) && isfinite(c.dcompared[i]));
    }
    teardown(&c);
}

/* ---- the two paths ---------------------------------------------------------------------------------------------- */

static void test_value_path_alone(void **state)
{
    (void)state;
    attention_case c;
    setup(&c);
    forward(&c);
    backward_value(&c);
    gradcheck("h, summed", c.summed, c.dsummed, TOKENS * C, loss, &c);
    teardown(&c);
}

static void test_score_path_alone(void **state)
{
    (void)state;
    attention_case c;
    setup(&c);
    forward(&c);
    backward_score(&c, c.dcompared);
    gradcheck("h, compared", c.compared, c.dcompared, TOKENS * C, loss, &c);
    gradcheck_parameters(&c.table, c.theta, c.dtheta, loss, &c);
    for (size_t row = 0; row < ROWS; row++) {
        gradcheck("s", c.s + row * STATE, c.ds + row * D, D, loss, &c);
    }
    teardown(&c);
}

static void test_both_paths_are_the_gradient(void **state)
{
    (void)state;
    attention_case c;
    setup(&c);
    loss_of_one_array(&c);
    backward_value(&c);
    backward_score(&c, c.dsummed);
    gradcheck("h", c.summed, c.dsummed, TOKENS * C, loss_of_one_array, &c);
    teardown(&c);
}

/* ---- the worked example ----------------------------------------------------------------------------------------- */

static void test_worked_example(void **state)
{
    (void)state;
    static const real identity[4] = {1, 0, 0, 1}, ones[2] = {1, 1};
    const real s[2] = {1, 0}, h[4] = {1, 0, 0, 2};
    const uint32_t only = 0, two = 2;
    attention layer;
    readout output;
    parameter_table table = {0};
    attention_declare(&layer, &table, attention_score_find("additive"), 2, 2, 2);
    readout_declare(&output, &table, READOUT_KIND_LINEAR, 2, 0, 2, READOUT_UNTIED);
    real *theta = normal_reals(table.size, 0, 1);
    memcpy(theta + layer.query_weight, identity, sizeof identity);
    memcpy(theta + layer.key_weight, identity, sizeof identity);
    memcpy(theta + layer.vector, ones, sizeof ones);
    memcpy(theta + output.weight, identity, sizeof identity);
    real keys[4], query[2], e[2], alpha[2], c[2], p[2];
    layer.score->keys(&layer, theta, keys, h, 2);
    layer.score->query(&layer, theta, query, s, 2, 1);
    layer.score->energies(&layer, theta, e, query, keys, 2);
    const attention_memory memory = {h, keys, &only, &two, 2};
    attention_forward(&layer, theta, alpha, c, 2, query, &memory, &only, 1);
    readout_workspace work = {0};
    readout_logits(&output, theta, p, c, 2, &work, 1);
    softmax_forward(p, p, 2, 2);
    /* c as it is of the rounded weights; unrounded it is [0.3183, 1.3634]. */
    static const real printed[][2] = {{0.964, 1.726}, {0.318, 0.682}, {0.318, 1.364}, {0.260, 0.740}};
    assert_all_near(e, printed[0], 2, 0.0005);
    assert_all_near(alpha, printed[1], 2, 0.0005);
    assert_all_near(c, printed[2], 2, 0.0015);
    assert_all_near(p, printed[3], 2, 0.0005);
    free(theta);
}

static void test_scores_are_found_by_name(void **state)
{
    (void)state;
    assert_string_equal(attention_score_find("additive")->name, "additive");
    assert_null(attention_score_find("additiv"));
    assert_non_null(strstr(attention_score_names(), "additive"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_is_the_equations),
        cmocka_unit_test(test_one_token_gets_all),
        cmocka_unit_test(test_large_scores),
        cmocka_unit_test(test_value_path_alone),
        cmocka_unit_test(test_score_path_alone),
        cmocka_unit_test(test_both_paths_are_the_gradient),
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_scores_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
