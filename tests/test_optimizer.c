/* Each rule against its published equations, element by element in double. */
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

enum { STEPS = 7, SIZE = 20011 }; /* more than one thread's part */

static const double rate = 0.05;

/* State of one element; `move` is what the parameter changes by. */
typedef struct element {
    double p, first, second;
} element;

typedef void (*naive_rule)(element *e, double g, double t, const optimizer_options *o);

/* Kingma and Ba 2015, algorithm 1. */
static void naive_adam(element *e, double g, double t, const optimizer_options *o)
{
    e->first = o->beta1 * e->first + (1 - o->beta1) * g;
    e->second = o->beta2 * e->second + (1 - o->beta2) * g * g;
    const double m = e->first / (1 - pow(o->beta1, t)), v = e->second / (1 - pow(o->beta2, t));
    e->p -= rate * m / (sqrt(v) + o->epsilon);
}

/* Zeiler 2012, algorithm 1. */
static void naive_adadelta(element *e, double g, double t, const optimizer_options *o)
{
    (void)t;
    e->first = o->rho * e->first + (1 - o->rho) * g * g;
    const double dx = -sqrt(e->second + o->adadelta_epsilon) / sqrt(e->first + o->adadelta_epsilon) * g;
    e->second = o->rho * e->second + (1 - o->rho) * dx * dx;
    e->p += rate * dx;
}

static void naive_sgd(element *e, double g, double t, const optimizer_options *o)
{
    (void)t;
    e->first = o->momentum * e->first + g;
    e->p -= rate * e->first;
}

/* The gradient of one step: of all sizes, with a run of elements that get none. */
static real *gradient_of_step(size_t size, uint64_t step)
{
    real *g = normal_reals(size, 1, 100 + step);
    for (size_t i = 0; i < size; i++) {
        g[i] = i % 11 == 3 ? 0 : g[i] * (real)pow(10, (double)(i % 5) - 3);
    }
    return g;
}

static double scale_of_step(uint64_t step)
{
    return step % 3 == 0 ? 0.25 : 1;
}

/* STEPS updates of a block; the caller's: free(). */
static real *optimize(const optimizer_options *options, size_t size)
{
    optimizer rule;
    nmt_error error;
    real *block = normal_reals(size, 1, 1);
    assert_int_equal(optimizer_create(&rule, options, size, &error), NMT_OK);
    for (uint64_t step = 1; step <= STEPS; step++) {
        real *g = gradient_of_step(size, step);
        optimizer_update(&rule, block, g, rate, scale_of_step(step));
        assert_int_equal(rule.step, step);
        for (size_t i = 0; i < size; i++) {
            assert_true(g[i] == 0);
        }
        free(g);
    }
    optimizer_free(&rule);
    return block;
}

static void compare(const optimizer_options *options, naive_rule naive)
{
    element *elements = calloc(SIZE, sizeof *elements);
    real *start = normal_reals(SIZE, 1, 1), *end = optimize(options, SIZE);
    double moved = 0;
    for (size_t i = 0; i < SIZE; i++) {
        elements[i].p = start[i];
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        real *g = gradient_of_step(SIZE, step);
        for (size_t i = 0; i < SIZE; i++) {
            naive(&elements[i], (double)g[i] * scale_of_step(step), (double)step, options);
        }
        free(g);
    }
    for (size_t i = 0; i < SIZE; i++) {
        assert_near(end[i], elements[i].p, 2e-6 * fmax(1, fabs(elements[i].p)));
        moved = fmax(moved, fabs(elements[i].p - start[i]));
        assert_true(i % 11 != 3 || end[i] == start[i]);
    }
    assert_true(moved > 1e-3);
    free(elements);
    free(start);
    free(end);
}

static void adam_is_as_published(void **state)
{
    (void)state;
    compare(&(optimizer_options){.kind = OPTIMIZE_ADAM, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}, naive_adam);
    compare(&(optimizer_options){.kind = OPTIMIZE_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}, naive_adam);
    compare(&(optimizer_options){.kind = OPTIMIZE_ADAM, .epsilon = 1e-8}, naive_adam);
}

static void adadelta_is_as_published(void **state)
{
    (void)state;
    compare(&(optimizer_options){.kind = OPTIMIZE_ADADELTA, .rho = 0.95, .adadelta_epsilon = 1e-2}, naive_adadelta);
    compare(&(optimizer_options){.kind = OPTIMIZE_ADADELTA, .rho = 0.5, .adadelta_epsilon = 1e-4}, naive_adadelta);
}

static void sgd_follows_the_gradient(void **state)
{
    (void)state;
    compare(&(optimizer_options){.kind = OPTIMIZE_SGD}, naive_sgd);
    compare(&(optimizer_options){.kind = OPTIMIZE_SGD, .momentum = 0.7}, naive_sgd);
}

static const optimizer_options rules[] = {{.kind = OPTIMIZE_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                                          {.kind = OPTIMIZE_ADADELTA, .rho = 0.95, .adadelta_epsilon = 1e-6},
                                          {.kind = OPTIMIZE_SGD},
                                          {.kind = OPTIMIZE_SGD, .momentum = 0.9}};

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        real *alone = optimize(&rules[i], SIZE);
        assert_int_equal(parallel_set_threads(3, NULL), NMT_OK);
        real *together = optimize(&rules[i], SIZE);
        assert_int_equal(parallel_set_threads(1, NULL), NMT_OK);
        assert_memory_equal(together, alone, SIZE * sizeof *alone);
        free(alone);
        free(together);
    }
}

/* What a run saves is what the rule uses. */
static void slots_are_as_many_as_the_rule_uses(void **state)
{
    (void)state;
    static const size_t expected[] = {2, 2, 0, 1};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        optimizer rule;
        nmt_error error;
        assert_int_equal(optimizer_create(&rule, &rules[i], 5, &error), NMT_OK);
        assert_int_equal(optimizer_slot_count(&rule), expected[i]);
        for (size_t slot = 0; slot < OPTIMIZER_SLOTS; slot++) {
            assert_true((rule.slots[slot] != NULL) == (slot < expected[i]));
        }
        optimizer_free(&rule);
        assert_null(rule.slots[0]);
    }
}

/* The numbers of step t+1 come from slots and step alone. */
static void a_rule_goes_on_from_its_slots(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        optimizer first, second;
        nmt_error error;
        real *block = normal_reals(50, 1, 1), *other = malloc(50 * sizeof *other);
        assert_int_equal(optimizer_create(&first, &rules[i], 50, &error), NMT_OK);
        assert_int_equal(optimizer_create(&second, &rules[i], 50, &error), NMT_OK);
        for (uint64_t step = 1; step <= 4; step++) {
            real *g = gradient_of_step(50, step), *same = gradient_of_step(50, step);
            if (step == 3) {
                memcpy(other, block, 50 * sizeof *other);
                for (size_t slot = 0; slot < optimizer_slot_count(&first); slot++) {
                    memcpy(second.slots[slot], first.slots[slot], 50 * sizeof *other);
                }
                second.step = first.step;
            }
            optimizer_update(&first, block, g, rate, 1);
            if (step >= 3) {
                optimizer_update(&second, other, same, rate, 1);
                assert_memory_equal(other, block, 50 * sizeof *other);
            }
            free(g);
            free(same);
        }
        optimizer_free(&first);
        optimizer_free(&second);
        free(block);
        free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adam_is_as_published),
                                       cmocka_unit_test(adadelta_is_as_published),
                                       cmocka_unit_test(sgd_follows_the_gradient),
                                       cmocka_unit_test(threads_change_no_bit),
                                       cmocka_unit_test(slots_are_as_many_as_the_rule_uses),
                                       cmocka_unit_test(a_rule_goes_on_from_its_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
