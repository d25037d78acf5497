/* Each schedule against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "support_reals.h"
#include "train/schedule.h"

static nmt_config config_of(schedule_kind schedule)
{
    return (nmt_config){.training = {.learning_rate = 0.3, .schedule = schedule}};
}

static double at_epoch(const nmt_config *config, uint64_t epoch)
{
    return learning_rate(config, &(schedule_position){.update = 100 * epoch, .epoch = epoch, .done = 0.5});
}

static double at_update(const nmt_config *config, uint64_t update)
{
    return learning_rate(config, &(schedule_position){.update = update, .epoch = 1});
}

static void the_rate_stays_without_halving(void **state)
{
    (void)state;
    const nmt_config halving = config_of(SCHEDULE_HALVING);
    assert_true(at_epoch(&halving, 1) == 0.3 && at_epoch(&halving, 1000) == 0.3);
}

static void a_constant_rate_stays(void **state)
{
    (void)state;
    nmt_config config = config_of(SCHEDULE_CONSTANT);
    config.training.final_rate = config.training.plateau_factor = 0.5;
    assert_true(learning_rate(&config, &(schedule_position){1000000, 1000, 7, 0.99}) == 0.3);
}

static void the_rate_is_halved_after_every_k_epochs(void **state)
{
    (void)state;
    static const double every_epoch[] = {0.3, 0.15, 0.075, 0.0375};
    static const double every_third[] = {0.3, 0.3, 0.3, 0.15, 0.15, 0.15, 0.075};
    nmt_config config = config_of(SCHEDULE_HALVING);
    config.training.halve_every = 1;
    for (uint64_t epoch = 1; epoch <= 4; epoch++) {
        assert_true(at_epoch(&config, epoch) == every_epoch[epoch - 1]);
    }
    assert_true(at_epoch(&config, 1000000001) == 0);
    config.training.halve_every = 3;
    for (uint64_t epoch = 1; epoch <= 7; epoch++) {
        assert_true(at_epoch(&config, epoch) == every_third[epoch - 1]);
    }
}

static void halving_may_begin_at_an_epoch(void **state)
{
    (void)state;
    static const double from_fifth[] = {0.3, 0.3, 0.3, 0.3, 0.15, 0.15, 0.075, 0.075, 0.0375};
    nmt_config config = config_of(SCHEDULE_HALVING);
    config.training.halve_every = 2;
    config.training.halve_from = 5;
    for (uint64_t epoch = 1; epoch <= 9; epoch++) {
        assert_true(at_epoch(&config, epoch) == from_fifth[epoch - 1]);
    }
}

static void plateaus_multiply_the_rate(void **state)
{
    (void)state;
    nmt_config config = config_of(SCHEDULE_PLATEAU);
    config.training.plateau_factor = 0.7;
    for (uint64_t reductions = 0; reductions < 5; reductions++) {
        const schedule_position at = {.update = 9, .epoch = 3, .reductions = reductions};
        assert_near(learning_rate(&config, &at), 0.3 * pow(0.7, (double)reductions), 1e-15);
    }
}

static void the_inverse_square_root_starts_at_the_end_of_the_warm_up(void **state)
{
    (void)state;
    nmt_config config = config_of(SCHEDULE_INVERSE_SQRT);
    config.training.warmup = 4;
    static const struct {
        uint64_t update;
        double rate;
    } expected[] = {{1, 0.075}, {2, 0.15}, {3, 0.225}, {4, 0.3}, {9, 0.2}, {16, 0.15}, {400, 0.03}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_near(at_update(&config, expected[i].update), expected[i].rate, 1e-15);
    }
}

static void the_linear_schedule_ends_at_its_last_share(void **state)
{
    (void)state;
    nmt_config config = config_of(SCHEDULE_LINEAR);
    config.training.final_rate = 0.1;
    static const double done[] = {0, 0.25, 0.5, 1}, rates[] = {0.3, 0.2325, 0.165, 0.03};
    for (size_t i = 0; i < 4; i++) {
        assert_near(learning_rate(&config, &(schedule_position){.update = 1, .epoch = 1, .done = done[i]}), rates[i],
                    1e-15);
    }
}

static void every_schedule_can_warm_up(void **state)
{
    (void)state;
    for (int kind = SCHEDULE_HALVING; kind <= SCHEDULE_LINEAR; kind++) {
        nmt_config config = config_of((schedule_kind)kind);
        config.training.warmup = 10;
        assert_near(at_update(&config, 1), 0.03, 1e-15);
        assert_near(at_update(&config, 9), 0.27, 1e-15);
        assert_true(at_update(&config, 10) == 0.3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rate_stays_without_halving),
                                       cmocka_unit_test(a_constant_rate_stays),
                                       cmocka_unit_test(the_rate_is_halved_after_every_k_epochs),
                                       cmocka_unit_test(halving_may_begin_at_an_epoch),
                                       cmocka_unit_test(plateaus_multiply_the_rate),
                                       cmocka_unit_test(the_inverse_square_root_starts_at_the_end_of_the_warm_up),
                                       cmocka_unit_test(the_linear_schedule_ends_at_its_last_share),
                                       cmocka_unit_test(every_schedule_can_warm_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
