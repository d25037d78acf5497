/* How parameters start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "layers/init.h"
#include "support_reals.h"

enum { WEIGHT, RECURRENT, EMBEDDING, ATTENTION, BIAS, ONES, TENSORS };

/* One tensor of each kind, large enough for its moments. */
static void declare(parameter_table *table)
{
    *table = (parameter_table){0};
    parameters_add(table, "weight", 120, 80, INIT_WEIGHT);
    parameters_add(table, "recurrent", 3 * 60, 60, INIT_RECURRENT);
    parameters_add(table, "embedding", 200, 50, INIT_EMBEDDING);
    parameters_add(table, "attention", 100, 90, INIT_ATTENTION);
    parameters_add(table, "bias", 31, 0, INIT_ZERO);
    parameters_add(table, "ones", 17, 0, INIT_ONE);
}

static real *initialised(const parameter_table *table, const init_options *options)
{
    real *block = nan_reals(table->size);
    nmt_error error;
    assert_int_equal(init_parameters(block, table, options, &error), NMT_OK);
    return block;
}

/* Second and fourth moment of N(0, scale^2), within five standard deviations of their estimates. */
static void check_normal(const parameter_table *table, const real *block, size_t which, double scale)
{
    const tensor *entry = &table->tensors[which];
    const double n = (double)tensor_size(entry);
    double first = 0, second = 0, fourth = 0;
    for (size_t i = 0; i < tensor_size(entry); i++) {
        const double x = (double)block[entry->offset + i] / scale;
        first += x / n;
        second += x * x / n;
        fourth += x * x * x * x / n;
    }
    assert_near(first, 0, 5 / sqrt(n));
    assert_near(second, 1, 5 * sqrt(2 / n));
    assert_near(fourth, 3, 5 * sqrt(96 / n));
}

/* Moments of the uniform distribution on +-bound, and no number outside. */
static void check_uniform(const parameter_table *table, const real *block, size_t which, double bound)
{
    const tensor *entry = &table->tensors[which];
    const double n = (double)tensor_size(entry);
    double first = 0, second = 0, largest = 0;
    for (size_t i = 0; i < tensor_size(entry); i++) {
        const double x = (double)block[entry->offset + i] / bound;
        first += x / n;
        second += x * x / n;
        largest = fmax(largest, fabs(x));
    }
    assert_near(first, 0, 5 * sqrt(1 / (3 * n)));
    assert_near(second, 1.0 / 3, 5 * sqrt(4 / (45 * n)));
    assert_true(largest > 0.99 && largest <= 1.000001);
}

static void check_constants(const parameter_table *table, const real *block)
{
    for (size_t i = 0; i < tensor_size(&table->tensors[BIAS]); i++) {
        assert_true(block[table->tensors[BIAS].offset + i] == 0);
    }
    for (size_t i = 0; i < tensor_size(&table->tensors[ONES]); i++) {
        assert_true(block[table->tensors[ONES].offset + i] == 1);
    }
}

static void test_normal(void **state)
{
    (void)state;
    parameter_table table;
    declare(&table);
    real *block = initialised(&table, &(init_options){.scale = 0.01, .seed = 1});
    for (size_t which = WEIGHT; which <= ATTENTION; which++) {
        check_normal(&table, block, which, 0.01);
    }
    check_constants(&table, block);
    free(block);
}

static void test_glorot(void **state)
{
    (void)state;
    parameter_table table;
    declare(&table);
    real *block = initialised(&table, &(init_options){.glorot = true, .scale = 0.01, .seed = 1});
    check_uniform(&table, block, WEIGHT, sqrt(6.0 / (120 + 80)));
    check_uniform(&table, block, RECURRENT, sqrt(6.0 / (60 + 60))); /* gate by gate */
    check_normal(&table, block, EMBEDDING, 1 / sqrt(50.0));
    check_normal(&table, block, ATTENTION, 0.01); /* always */
    check_constants(&table, block);
    free(block);
}

static void check_orthonormal(const real *square, size_t n)
{
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b <= a; b++) {
            double dot = 0;
            for (size_t i = 0; i < n; i++) {
                dot += (double)square[a * n + i] * (double)square[b * n + i];
            }
            assert_near(dot, a == b, 1e-6);
        }
    }
}

/* Three different orthogonal gates; the rest as without. */
static void test_orthogonal(void **state)
{
    (void)state;
    parameter_table table;
    declare(&table);
    real *block = initialised(&table, &(init_options){.scale = 0.01, .orthogonal = true, .seed = 1});
    real *plain = initialised(&table, &(init_options){.scale = 0.01, .seed = 1});
    const tensor *recurrent = &table.tensors[RECURRENT];
    const real *gates = block + recurrent->offset;
    for (size_t gate = 0; gate < 3; gate++) {
        check_orthonormal(gates + gate * 60 * 60, 60);
    }
    assert_true(gates[0] != gates[60 * 60] && gates[0] != gates[2 * 60 * 60]);
    for (size_t which = 0; which < TENSORS; which++) {
        const tensor *entry = &table.tensors[which];
        const int differs = memcmp(block + entry->offset, plain + entry->offset, tensor_size(entry) * sizeof *block);
        assert_int_equal(differs != 0, which == RECURRENT);
    }
    free(block);
    free(plain);
}

static void test_the_seed_decides(void **state)
{
    (void)state;
    parameter_table table;
    declare(&table);
    real *block = initialised(&table, &(init_options){.scale = 0.01, .seed = 1});
    real *again = initialised(&table, &(init_options){.scale = 0.01, .seed = 1});
    real *other = initialised(&table, &(init_options){.scale = 0.01, .seed = 2});
    assert_memory_equal(block, again, table.size * sizeof *block);
    for (size_t which = WEIGHT; which <= ATTENTION; which++) {
        const size_t offset = table.tensors[which].offset;
        assert_true(block[offset] != other[offset]);
    }
    free(block);
    free(again);
    free(other);
}

/* Each tensor draws by its name: another one before it moves nothing. */
static void test_tensors_do_not_move_each_other(void **state)
{
    (void)state;
    parameter_table table, longer = {0};
    const init_options options = {.scale = 0.01, .seed = 1};
    declare(&table);
    parameters_add(&longer, "new", 5, 7, INIT_WEIGHT);
    const size_t offset = parameters_add(&longer, "recurrent", 3 * 60, 60, INIT_RECURRENT);
    real *block = initialised(&table, &options), *with_new = initialised(&longer, &options);
    assert_memory_equal(block + table.tensors[RECURRENT].offset, with_new + offset, 3 * 60 * 60 * sizeof *block);
    assert_true(block[0] != with_new[0]);
    free(block);
    free(with_new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_glorot),
        cmocka_unit_test(test_orthogonal),
        cmocka_unit_test(test_the_seed_decides),
        cmocka_unit_test(test_tensors_do_not_move_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
