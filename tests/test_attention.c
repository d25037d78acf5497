/*
 * Attention of every kind over four sentences of 6, 4, 3 and 1 tokens, in five steps of 4, 3, 1, 1 and 1 rows: its
 * equations a number at a time, and its gradients path by path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "gradcheck.h"
#include "layers/attention.h"
#include "layers/coverage.h"
#include "layers/readout.h"
#include "layers/scores.h"
#include "ops/softmax.h"
#include "support_reals.h"

enum { SENTENCES = 4, TOKENS = 14, LONGEST = 6, ROWS = 10, BESIDE = 3, HEADS_MAX = 3, SIZE_MAX_HERE = 16 };
static const size_t source_lengths[SENTENCES] = {6, 4, 3, 1}, target_lengths[SENTENCES] = {5, 2, 2, 1};
static const uint32_t start[SENTENCES] = {0, 6, 10, 13};
static const uint32_t sentence[SENTENCES] = {2, 0, 3, 1}; /* that row i of a step reads */

/* Sizes D, C and A differ where they may. */
typedef struct kind {
    const char *score;
    size_t state, annotation, size, heads;
    extent_kind extent;
    size_t window;
} kind;

static const kind kinds[] = {
    {"additive", 6, 8, 7, 1, EXTENT_GLOBAL, 0},   {"dot", 8, 8, 7, 1, EXTENT_GLOBAL, 0},
    {"general", 6, 8, 7, 1, EXTENT_GLOBAL, 0},    {"concat", 6, 8, 7, 1, EXTENT_GLOBAL, 0},
    {"scaled_dot", 8, 8, 7, 1, EXTENT_GLOBAL, 0}, {"gaussian", 6, 8, 7, 1, EXTENT_GLOBAL, 0},
    {"fixed", 6, 8, 7, 1, EXTENT_GLOBAL, 0},      {"additive", 6, 8, 7, 1, EXTENT_LOCAL_M, 1},
    {"dot", 8, 8, 7, 1, EXTENT_LOCAL_M, 2},       {"additive", 6, 8, 7, 1, EXTENT_LOCAL_P, 1},
    {"general", 6, 8, 7, 1, EXTENT_LOCAL_P, 2},   {"gaussian", 6, 8, 7, 1, EXTENT_LOCAL_P, 9},
    {"additive", 7, 8, 6, 2, EXTENT_GLOBAL, 0},   {"dot", 7, 8, 12, 3, EXTENT_GLOBAL, 0},
    {"general", 7, 8, 6, 2, EXTENT_LOCAL_P, 2},   {"concat", 7, 8, 15, 3, EXTENT_LOCAL_M, 2},
    {"scaled_dot", 7, 8, 9, 3, EXTENT_GLOBAL, 0}, {"gaussian", 7, 8, 6, 3, EXTENT_GLOBAL, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The annotations that are summed and those that are compared are two arrays where the paths are looked at one by one,
 * and the same for the whole. Columns beside states and contexts belong to others. */
typedef struct attention_case {
    attention layer;
    parameter_table table;
    sequences source, target;
    size_t D, C, state_stride, context_stride;
    real *theta, *dtheta;
    real *summed, *dsummed, *compared, *dcompared; /* [TOKENS,C] each */
    real *s, *ds;                                  /* [ROWS,state_stride] */
    real *context, *w;                             /* [ROWS,context_stride]; w weighs it in the loss */
    real *dcoverage;                               /* [TOKENS] weighs every alpha in the loss, or NULL */
    arena space;
    attention_workspace work;
} attention_case;

static void set_sequences(sequences *packed, const size_t *lengths)
{
    static const int32_t tokens[LONGEST] = {0};
    const int32_t *ids[SENTENCES] = {tokens, tokens, tokens, tokens};
    nmt_error error;
    assert_int_equal(sequences_set(packed, ids, lengths, SENTENCES, &error), NMT_OK);
}

static void lay_out(attention_case *c)
{
    nmt_error error;
    arena_measure(&c->space);
    attention_layout(&c->layer, &c->work, &c->space, &c->source, ROWS, SENTENCES, true);
    assert_int_equal(arena_reserve(&c->space, "the test", &error), NMT_OK);
    memset(c->space.base, 0xff, c->space.capacity); /* NaN: nobody may count on zeros */
    attention_layout(&c->layer, &c->work, &c->space, &c->source, ROWS, SENTENCES, true);
    memcpy(c->work.sentence, sentence, sizeof sentence);
}

static void setup(attention_case *c, const kind *of)
{
    const attention_options options = {.score = attention_score_find(of->score),
                                       .state = of->state,
                                       .annotation = of->annotation,
                                       .size = of->size,
                                       .heads = of->heads,
                                       .extent = of->extent,
                                       .window = of->window};
    *c = (attention_case){.D = of->state,
                          .C = of->annotation,
                          .state_stride = of->state + BESIDE,
                          .context_stride = of->annotation + BESIDE};
    attention_declare(&c->layer, &c->table, &options);
    set_sequences(&c->source, source_lengths);
    set_sequences(&c->target, target_lengths);
    assert_true(c->source.tokens == TOKENS && c->target.tokens == ROWS && c->source.steps == LONGEST);
    lay_out(c);
    c->theta = normal_reals(c->table.size, 0.7, 7);
    c->dtheta = nan_reals(c->table.size);
    c->summed = normal_reals(TOKENS * c->C, 1, 1);
    c->compared = normal_reals(TOKENS * c->C, 1, 2);
    c->dsummed = nan_reals(TOKENS * c->C);
    c->dcompared = nan_reals(TOKENS * c->C);
    c->s = normal_reals(ROWS * c->state_stride, 1, 3);
    c->ds = nan_reals(ROWS * c->state_stride);
    c->context = nan_reals(ROWS * c->context_stride);
    c->w = normal_reals(ROWS * c->context_stride, 1, 5);
    gradcheck_prefill(c->dtheta, c->table.size);
    gradcheck_prefill(c->dsummed, TOKENS * c->C);
    gradcheck_prefill(c->dcompared, TOKENS * c->C);
    gradcheck_prefill(c->ds, ROWS * c->state_stride);
}

static void teardown(attention_case *c)
{
    real *arrays[] = {c->theta, c->dtheta, c->summed,  c->dsummed, c->compared, c->dcompared,
                      c->s,     c->ds,     c->context, c->w,       c->dcoverage};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    arena_free(&c->space);
    sequences_free(&c->source);
    sequences_free(&c->target);
}

static void prepare(attention_case *c)
{
    attention_prepare(&c->layer, &(weights_view){.block = c->theta}, &c->work, &c->source, c->compared, start);
    if (c->layer.projected) {
        projection_forward(&c->layer.value, &(weights_view){.block = c->theta}, c->work.projected_values,
                           c->layer.value.out, c->summed, c->C, TOKENS);
    } else {
        c->work.values = c->summed;
    }
}

static void forward(attention_case *c)
{
    prepare(c);
    for (size_t t = 0; t < c->target.steps; t++) {
        const size_t first = c->target.offset[t], rows = c->target.active[t];
        attention_ask(&c->layer, &(weights_view){.block = c->theta}, &c->work, c->s + first * c->state_stride,
                      c->state_stride, first, rows);
        attention_at_step(&c->work, t, rows);
        attention_read(&c->layer, &(weights_view){.block = c->theta}, &c->work, c->context + first * c->context_stride,
                       c->context_stride, first, rows);
    }
}

/* The sum of the contexts by w, and of all weights by dcoverage. */
static double loss(void *context)
{
    attention_case *c = context;
    double sum = 0;
    forward(c);
    for (size_t row = 0; row < ROWS; row++) {
        sum += gradcheck_sum(c->w + row * c->context_stride, c->context + row * c->context_stride, c->C);
    }
    for (size_t t = 0; c->dcoverage != NULL && t < c->target.steps; t++) {
        for (size_t i = 0; i < c->target.active[t]; i++) {
            sum += gradcheck_sum(c->dcoverage + start[sentence[i]], c->work.alpha + (c->target.offset[t] + i) * LONGEST,
                                 source_lengths[sentence[i]]);
        }
    }
    return sum;
}

static double loss_of_one_array(void *context)
{
    attention_case *c = context;
    memcpy(c->compared, c->summed, TOKENS * c->C * sizeof(real));
    return loss(c);
}

static void backward_steps(attention_case *c)
{
    c->work.dcoverage = c->dcoverage;
    attention_backward_begin(&c->layer, &c->work);
    for (size_t t = c->target.steps; t-- > 0;) {
        const size_t first = c->target.offset[t], rows = c->target.active[t];
        attention_backward_read(&c->layer, &(weights_view){.block = c->theta}, &c->work,
                                c->w + first * c->context_stride, c->context_stride, first, rows);
        attention_backward_ask(&c->layer, &(weights_view){.block = c->theta}, &c->work, c->ds + first * c->state_stride,
                               c->state_stride, first, rows);
    }
}

static void backward_values(attention_case *c)
{
    c->work.annotations = c->summed;
    attention_backward_values(&c->layer, &(weights_view){.block = c->theta}, c->dtheta, c->dsummed, &c->work, c->w,
                              c->context_stride, &c->target);
}

static void backward_scores(attention_case *c, real *dannotations)
{
    c->work.annotations = c->compared;
    attention_backward_scores(&c->layer, &(weights_view){.block = c->theta}, c->dtheta, dannotations, &c->work, c->s,
                              c->state_stride);
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

/* y = x, or W x + b. */
static void naive_projection(const projection *map, const real *theta, real *y, const real *x)
{
    for (size_t i = 0; i < map->out; i++) {
        y[i] = map->weight == PROJECTION_NONE ? x[i]
                                              : gradcheck_sum(theta + map->weight + i * map->stride, x, map->in) +
                                                    (map->bias == PROJECTION_NONE ? 0 : theta[map->bias + i]);
    }
}

/* v . tanh(W [s ; h]), W being one matrix. */
static double naive_concat(const attention_head *head, const real *theta, const real *s, const real *h)
{
    const size_t width = head->state + head->annotation;
    real joint[2 * SIZE_MAX_HERE];
    double sum = 0;
    memcpy(joint, s, head->state * sizeof *s);
    memcpy(joint + head->state, h, head->annotation * sizeof *h);
    for (size_t i = 0; i < head->size; i++) {
        sum += theta[head->own + i] * tanh(gradcheck_sum(theta + head->query.weight + i * width, joint, width));
    }
    return sum;
}

/* The formula of each score, of a head's state and annotation. */
static double naive_energy(const attention_head *head, const real *theta, const real *s, const real *h)
{
    const char *name = head->score->name;
    if (strcmp(name, "concat") == 0) {
        return naive_concat(head, theta, s, h);
    }
    real q[SIZE_MAX_HERE], k[SIZE_MAX_HERE];
    double sum = 0;
    naive_projection(&head->query, theta, q, s);
    naive_projection(&head->key, theta, k, h);
    for (size_t i = 0; i < head->query.out; i++) {
        sum += strcmp(name, "additive") == 0   ? theta[head->own + i] * tanh(q[i] + k[i])
               : strcmp(name, "gaussian") == 0 ? -(q[i] - k[i]) * (q[i] - k[i])
                                               : q[i] * k[i];
    }
    if (strcmp(name, "gaussian") == 0) {
        const double width = exp(theta[head->own]);
        return sum / (2 * width * width);
    }
    return strcmp(name, "scaled_dot") == 0 ? sum / sqrt((double)head->state) : sum;
}

/* The centre p, where the extent has one. */
static double naive_centre(const attention_case *c, const real *s, size_t t, size_t S)
{
    const extent *local = &c->layer.extent;
    real hidden[SIZE_MAX_HERE];
    double logit = 0;
    if (local->kind != EXTENT_LOCAL_P) {
        return t < S ? (double)t : (double)S - 1;
    }
    naive_projection(&local->hidden, c->theta, hidden, s);
    for (size_t i = 0; i < local->hidden.out; i++) {
        logit += c->theta[local->vector + i] * tanh(hidden[i]);
    }
    return (double)S / (1 + exp(-logit));
}

/* alpha[S] of one head. */
static void naive_weights(const attention_case *c, const attention_head *head, double *alpha, const real *s,
                          const real *h, size_t stride, size_t S, double p)
{
    const double w = (double)c->layer.extent.window;
    double sum = 0;
    for (size_t i = 0; i < S; i++) {
        const bool seen = c->layer.extent.kind == EXTENT_GLOBAL || fabs((double)i - p) <= w;
        alpha[i] = seen ? exp(naive_energy(head, c->theta, s, h + i * stride)) : 0;
        sum += alpha[i];
    }
    for (size_t i = 0; i < S; i++) {
        const double x = ((double)i - p) / (w / 2);
        alpha[i] *= (c->layer.extent.kind == EXTENT_LOCAL_P ? exp(-x * x / 2) : 1) / sum;
    }
}

static void project_rows(const projection *map, const real *theta, real *y, const real *x, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        naive_projection(map, theta, y + row * map->out, x + row * map->in);
    }
}

static void check_row(const attention_case *c, size_t row, size_t t, size_t read)
{
    const attention *layer = &c->layer;
    const size_t S = source_lengths[read], d = layer->value_size;
    const real *summed = c->summed + start[read] * c->C, *compared = c->compared + start[read] * c->C;
    const real *s = c->s + row * c->state_stride;
    const double p = naive_centre(c, s, t, S);
    real q[SIZE_MAX_HERE], k[LONGEST * SIZE_MAX_HERE], v[LONGEST * SIZE_MAX_HERE];
    real joined[SIZE_MAX_HERE] = {0}, expected[SIZE_MAX_HERE];
    double mean[LONGEST] = {0};
    if (layer->projected) {
        project_rows(&layer->query, c->theta, q, s, 1);
        project_rows(&layer->key, c->theta, k, compared, S);
        project_rows(&layer->value, c->theta, v, summed, S);
    }
    for (size_t j = 0; j < layer->head_count; j++) {
        double alpha[LONGEST];
        naive_weights(c, &layer->head[j], alpha, layer->projected ? q + j * d : s,
                      layer->projected ? k + j * d : compared, layer->projected ? layer->key.out : c->C, S, p);
        for (size_t i = 0; i < S; i++) {
            mean[i] += alpha[i] / (double)layer->head_count;
            for (size_t x = j * d; x < (j + 1) * d; x++) {
                joined[x] += alpha[i] * (layer->projected ? v : summed)[i * d * layer->head_count + x];
            }
        }
    }
    memcpy(expected, joined, sizeof joined);
    if (layer->projected) {
        naive_projection(&layer->output, c->theta, expected, joined);
    }
    assert_all_near(c->work.alpha + row * LONGEST, mean, S, 1e-14);
    for (size_t i = S; i < LONGEST; i++) {
        assert_true(c->work.alpha[row * LONGEST + i] == 0);
    }
    assert_all_near(c->context + row * c->context_stride, expected, c->C, 1e-13);
    assert_true(isnan(c->context[row * c->context_stride + c->C]));
}

static void test_forward_is_the_equations(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        attention_case c;
        if (strcmp(kinds[i].score, "fixed") == 0) {
            continue;
        }
        setup(&c, &kinds[i]);
        forward(&c);
        for (size_t t = 0; t < c.target.steps; t++) {
            for (size_t row = 0; row < c.target.active[t]; row++) {
                check_row(&c, c.target.offset[t] + row, t, sentence[row]);
            }
        }
        teardown(&c);
    }
}

/* The forward half of the last annotation and the backward half of the first, at every step. */
static void test_fixed_context(void **state)
{
    (void)state;
    static const kind fixed = {"fixed", 6, 8, 7, 1, EXTENT_GLOBAL, 0};
    attention_case c;
    setup(&c, &fixed);
    assert_int_equal(c.table.count, 0);
    forward(&c);
    for (size_t t = 0; t < c.target.steps; t++) {
        for (size_t i = 0; i < c.target.active[t]; i++) {
            const size_t row = c.target.offset[t] + i, read = sentence[i], S = source_lengths[read];
            const real *context = c.context + row * c.context_stride, *alpha = c.work.alpha + row * LONGEST;
            assert_all_near(context, c.summed + (start[read] + S - 1) * 8, 4, 0);
            assert_all_near(context + 4, c.summed + start[read] * 8 + 4, 4, 0);
            for (size_t j = 0; j < LONGEST; j++) {
                assert_true(alpha[j] == 0.5 * ((j == 0) + (j == S - 1)));
            }
        }
    }
    teardown(&c);
}

static void test_one_token_gets_all(void **state)
{
    (void)state;
    attention_case c;
    setup(&c, &kinds[0]);
    forward(&c);
    assert_true(c.work.alpha[2 * LONGEST] == 1); /* row 2 reads sentence 3 */
    assert_all_near(c.context + 2 * c.context_stride, c.summed + start[3] * c.C, c.C, 0);
    teardown(&c);
}

/* Scores of +-1e4, which exp alone would not survive. */
static void test_large_scores(void **state)
{
    (void)state;
    attention_case c;
    setup(&c, &kinds[0]);
    for (size_t a = 0; a < c.layer.own_size; a++) {
        c.theta[c.layer.head->own + a] = a % 2 ? 1e4 : -1e4;
    }
    assert_true(isfinite(loss(&c)));
    backward_steps(&c);
    backward_values(&c);
    backward_scores(&c, c.dcompared);
    for (size_t row = 0; row < ROWS; row++) {
        double sum = 0;
        for (size_t i = 0; i < LONGEST; i++) {
            sum += c.work.alpha[row * LONGEST + i];
        }
        assert_near(sum, 1, 1e-15);
    }
    for (size_t i = 0; i < TOKENS * c.C; i++) {
        assert_true(isfinite(c.dsummed[i]) && isfinite(c.dcompared[i]));
    }
    teardown(&c);
}

/* Far beyond a short source's end, the window stays at its last token. */
static void test_local_window_behind_the_end(void **state)
{
    (void)state;
    static const kind narrow = {"additive", 6, 8, 7, 1, EXTENT_LOCAL_M, 1};
    attention_case c;
    setup(&c, &narrow);
    forward(&c);
    const real *alpha = c.work.alpha + c.target.offset[4] * LONGEST; /* step 4 of the sentence of three tokens */
    assert_true(alpha[0] == 0 && alpha[1] > 0 && alpha[2] > 0 && alpha[3] == 0);
    assert_near(alpha[1] + alpha[2], 1, 1e-15);
    teardown(&c);
}

/* ---- the two paths ---------------------------------------------------------------------------------------------- */

static void check_paths(attention_case *c)
{
    forward(c);
    backward_steps(c);
    backward_values(c);
    backward_scores(c, c->dcompared);
    gradcheck("h, summed", c->summed, c->dsummed, TOKENS * c->C, loss, c);
    gradcheck("h, compared", c->compared, c->dcompared, TOKENS * c->C, loss, c);
    gradcheck_parameters(&c->table, c->theta, c->dtheta, loss, c);
    for (size_t row = 0; row < ROWS; row++) {
        gradcheck("s", c->s + row * c->state_stride, c->ds + row * c->state_stride, c->D, loss, c);
        for (size_t i = c->D; i < c->state_stride; i++) {
            assert_true(c->ds[row * c->state_stride + i] == gradcheck_before);
        }
    }
}

static void test_each_path_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        attention_case c;
        setup(&c, &kinds[i]);
        check_paths(&c);
        teardown(&c);
    }
}

static void test_both_paths_are_the_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        attention_case c;
        setup(&c, &kinds[i]);
        loss_of_one_array(&c);
        backward_steps(&c);
        backward_values(&c);
        backward_scores(&c, c.dsummed);
        gradcheck("h", c.summed, c.dsummed, TOKENS * c.C, loss_of_one_array, &c);
        teardown(&c);
    }
}

/* ---- coverage --------------------------------------------------------------------------------------------------- */

static void test_gradient_at_the_weights(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        attention_case c;
        if (strcmp(kinds[i].score, "fixed") == 0) {
            continue;
        }
        setup(&c, &kinds[i]);
        c.dcoverage = normal_reals(TOKENS, 1, 8);
        check_paths(&c);
        teardown(&c);
    }
}

static void test_coverage_penalty(void **state)
{
    (void)state;
    attention_case c;
    setup(&c, &kinds[0]);
    forward(&c);
    double expected = 0, coverage[TOKENS] = {0};
    real gradient[TOKENS];
    size_t under = 0;
    for (size_t t = 0; t < c.target.steps; t++) {
        for (size_t i = 0; i < c.target.active[t]; i++) {
            for (size_t j = 0; j < source_lengths[sentence[i]]; j++) {
                coverage[start[sentence[i]] + j] += c.work.alpha[(c.target.offset[t] + i) * LONGEST + j];
            }
        }
    }
    const double penalty = coverage_penalty(gradient, &c.work, &c.target, 0.25);
    for (size_t i = 0; i < TOKENS; i++) {
        expected += fmax(0, 1 - coverage[i]);
        assert_true(gradient[i] == (coverage[i] < 1 ? -0.25 : 0));
        under += coverage[i] < 1;
    }
    assert_near(penalty, expected, 1e-14);
    assert_true(under > 0 && under < TOKENS);
    teardown(&c);
}

/* ---- the worked example ----------------------------------------------------------------------------------------- */

static void test_worked_example(void **state)
{
    (void)state;
    static const real identity[4] = {1, 0, 0, 1}, ones[2] = {1, 1};
    const real s[2] = {1, 0}, h[4] = {1, 0, 0, 2};
    const attention_options options = {
        .score = attention_score_find("additive"), .state = 2, .annotation = 2, .size = 2, .heads = 1};
    attention layer;
    readout output;
    parameter_table table = {0};
    attention_declare(&layer, &table, &options);
    readout_declare(&output, &table, READOUT_KIND_LINEAR, 2, 0, 2, false, READOUT_UNTIED);
    const attention_head *head = layer.head;
    real *theta = normal_reals(table.size, 0, 1);
    memcpy(theta + head->query.weight, identity, sizeof identity);
    memcpy(theta + head->key.weight, identity, sizeof identity);
    memcpy(theta + head->own, ones, sizeof ones);
    memcpy(theta + output.weight, identity, sizeof identity);
    real k[4], q[2], e[2], alpha[2], c[2] = {0}, p[2];
    projection_forward(&head->key, &(weights_view){.block = theta}, k, 2, h, 2, 2);
    projection_forward(&head->query, &(weights_view){.block = theta}, q, 2, s, 2, 1);
    head->score->energies(head, theta, e, q, k, 2);
    softmax_forward(alpha, e, 2, 2);
    for (size_t i = 0; i < 4; i++) {
        c[i % 2] += alpha[i / 2] * h[i];
    }
    readout_workspace work = {0};
    readout_logits(&output, &(weights_view){.block = theta}, p, c, 2, &work, 1);
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
#define NAME(name) #name,
    static const char *const names[] = {ATTENTION_SCORES(NAME)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_string_equal(attention_score_find(names[i])->name, names[i]);
    }
    assert_null(attention_score_find("additiv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_is_the_equations),
        cmocka_unit_test(test_fixed_context),
        cmocka_unit_test(test_one_token_gets_all),
        cmocka_unit_test(test_large_scores),
        cmocka_unit_test(test_local_window_behind_the_end),
        cmocka_unit_test(test_each_path_alone),
        cmocka_unit_test(test_both_paths_are_the_gradient),
        cmocka_unit_test(test_gradient_at_the_weights),
        cmocka_unit_test(test_coverage_penalty),
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_scores_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
