/* AdamW against its published equations; what is no matrix stays out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "support_reals.h"
#include "train/optimizer.h"
#include "train/weight_decay.h"

enum { STEPS = 6 };
static const double rate = 0.02, decay = 0.3;

static parameter_table table_of_three(void)
{
    parameter_table table = {.count = 0};
    parameters_add(&table, "a.weight", 53, 211, INIT_WEIGHT);
    parameters_add(&table, "a.bias", 97, 0, INIT_ZERO);
    parameters_add(&table, "b.weight", 7, 11, INIT_WEIGHT);
    return table;
}

static bool is_vector(size_t i)
{
    return i >= 53 * 211 && i < 53 * 211 + 97;
}

/* Loshchilov and Hutter 2019, algorithm 2, with a schedule of `rate`: element by element in double. */
static void decoupled_decay_is_as_published(void **state)
{
    (void)state;
    const parameter_table table = table_of_three();
    const optimizer_options options = {.kind = OPTIMIZE_ADAM, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-4};
    optimizer rule;
    nmt_error error;
    real *block = normal_reals(table.size, 1, 1), *start = normal_reals(table.size, 1, 1);
    real *gradients[STEPS];
    assert_int_equal(optimizer_create(&rule, &options, table.size, &error), NMT_OK);
    for (uint64_t step = 0; step < STEPS; step++) {
        real *g = normal_reals(table.size, 1, 10 + step);
        gradients[step] = normal_reals(table.size, 1, 10 + step);
        weight_decay(block, &table, rate * decay);
        optimizer_update(&rule, block, g, rate, 1);
        free(g);
    }
    for (size_t i = 0; i < table.size; i++) {
        double p = start[i], m = 0, v = 0;
        for (int t = 1; t <= STEPS; t++) {
            const double g = gradients[t - 1][i];
            m = 0.8 * m + 0.2 * g;
            v = 0.9 * v + 0.1 * g * g;
            p -= rate * (m / (1 - pow(0.8, t)) / (sqrt(v / (1 - pow(0.9, t))) + 1e-4) + (is_vector(i) ? 0 : decay * p));
        }
        assert_near(block[i], p, 3e-6 * fmax(1, fabs(p)));
    }
    for (size_t step = 0; step < STEPS; step++) {
        free(gradients[step]);
    }
    optimizer_free(&rule);
    free(block);
    free(start);
}

static void without_a_share_nothing_moves(void **state)
{
    (void)state;
    const parameter_table table = table_of_three();
    real *block = normal_reals(table.size, 1, 1), *start = normal_reals(table.size, 1, 1);
    weight_decay(block, &table, 0);
    assert_memory_equal(block, start, table.size * sizeof *block);
    free(block);
    free(start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(decoupled_decay_is_as_published),
                                       cmocka_unit_test(without_a_share_nothing_moves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
