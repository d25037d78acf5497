#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/schedule.h"

static void the_rate_stays_without_halving(void **state)
{
    (void)state;
    assert_true(learning_rate(0.3, 0, 1) == 0.3);
    assert_true(learning_rate(0.3, 0, 1000) == 0.3);
}

static void the_rate_is_halved_after_every_k_epochs(void **state)
{
    (void)state;
    static const double every_epoch[] = {0.3, 0.15, 0.075, 0.0375};
    static const double every_third[] = {0.3, 0.3, 0.3, 0.15, 0.15, 0.15, 0.075};
    for (uint64_t epoch = 1; epoch <= 4; epoch++) {
        assert_true(learning_rate(0.3, 1, epoch) == every_epoch[epoch - 1]);
    }
    for (uint64_t epoch = 1; epoch <= 7; epoch++) {
        assert_true(learning_rate(0.3, 3, epoch) == every_third[epoch - 1]);
    }
    assert_true(learning_rate(1, 1, 1000000001) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rate_stays_without_halving),
                                       cmocka_unit_test(the_rate_is_halved_after_every_k_epochs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
