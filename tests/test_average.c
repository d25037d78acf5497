/* The moving average of the parameters, and the average of the best models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "support_reals.h"
#include "train/average.h"
#include "train/best_models.h"

enum { SIZE = 20011 }; /* more than one thread's part */

static void the_average_follows_with_its_decay(void **state)
{
    (void)state;
    real *average = normal_reals(SIZE, 1, 1);
    double *expected = malloc(SIZE * sizeof *expected);
    for (size_t i = 0; i < SIZE; i++) {
        expected[i] = average[i];
    }
    /* (1 + t) / (10 + t) is 2/11, 3/12, 4/13 ... and reaches 0.4 at t = 5. */
    static const double decays[] = {2. / 11, 3. / 12, 4. / 13, 5. / 14, 0.4, 0.4, 0.4};
    for (uint64_t update = 1; update <= 7; update++) {
        real *block = normal_reals(SIZE, 1, 10 + update);
        average_follow(average, block, SIZE, 0.4, update);
        for (size_t i = 0; i < SIZE; i++) {
            expected[i] = decays[update - 1] * expected[i] + (1 - decays[update - 1]) * block[i];
        }
        free(block);
    }
    for (size_t i = 0; i < SIZE; i++) {
        assert_near(average[i], expected[i], 1e-6);
    }
    free(average);
    free(expected);
}

static void offer(best_models *kept, real value, uint64_t update, double metric)
{
    const real block[2] = {value, -value};
    nmt_error error;
    assert_int_equal(best_models_offer(kept, block, update, metric, &error), NMT_OK);
}

/* Updates best first. */
static void assert_order(const best_models *kept, size_t count, const uint64_t *updates)
{
    assert_int_equal(kept->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kept->list[i].update, updates[i]);
        assert_true(kept->list[i].block[0] == (real)updates[i] && kept->list[i].block[1] == -(real)updates[i]);
    }
}

static void the_best_are_kept_in_their_order(void **state)
{
    (void)state;
    best_models kept = {.capacity = 3, .size = 2};
    offer(&kept, 1, 1, 5);
    offer(&kept, 2, 2, 7);
    assert_order(&kept, 2, (uint64_t[]){1, 2});
    offer(&kept, 3, 3, 4);
    assert_order(&kept, 3, (uint64_t[]){3, 1, 2});
    offer(&kept, 4, 4, 8); /* worse than each */
    offer(&kept, 5, 5, 7); /* as the last, which was first */
    assert_order(&kept, 3, (uint64_t[]){3, 1, 2});
    offer(&kept, 6, 6, 5); /* as the second */
    assert_order(&kept, 3, (uint64_t[]){3, 1, 6});
    real mean[2];
    best_models_mean(&kept, mean);
    assert_near(mean[0], 10. / 3, 1e-6);
    assert_near(mean[1], -10. / 3, 1e-6);
    best_models_free(&kept);
}

static void higher_may_be_better(void **state)
{
    (void)state;
    best_models kept = {.capacity = 2, .size = 2, .higher_is_better = true};
    offer(&kept, 1, 1, 5);
    offer(&kept, 2, 2, 7);
    offer(&kept, 3, 3, 6);
    assert_order(&kept, 2, (uint64_t[]){2, 3});
    best_models_free(&kept);
}

static void none_is_kept_without_room(void **state)
{
    (void)state;
    best_models kept = {.capacity = 0, .size = 2};
    offer(&kept, 1, 1, 5);
    assert_int_equal(kept.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_average_follows_with_its_decay), cmocka_unit_test(the_best_are_kept_in_their_order),
        cmocka_unit_test(higher_may_be_better), cmocka_unit_test(none_is_kept_without_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
