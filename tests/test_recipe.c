/* The training recipe in whole runs: accumulation, schedules, decay, averages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/checkpoint.h"
#include "support_reals.h"
#include "support_training.h"

/* Parameters of the model that a run leaves; the caller's: free(). */
static real *parameters_of_run(const char *const *settings, size_t *size)
{
    training_run run;
    nmt_model *model;
    nmt_error error;
    train_anew(&run, settings);
    end_run(&run);
    if (nmt_model_load(&model, run_path("model.safetensors"), &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    *size = model->parameters.size;
    real *copy = malloc(*size * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, model->block, *size * sizeof *copy);
    nmt_model_free(model);
    return copy;
}

/* ---- accumulation ----------------------------------------------------------------------------------------------- */

/*
 * Ten pairs as one batch, and as batches of 3, 3, 3 and 1, one update each: norm of the gradient, loss and what SGD
 * makes of the gradient. The lengths differ, so that a mean of the batches' means would not do.
 */
static void compare_with_one_batch(const char *normalization)
{
    training_run run;
    size_t size;
    double norm[2], loss[2];
    real *theta[2];
    for (int parts = 0; parts < 2; parts++) {
        const char *const *settings =
            SETTINGS(normalization, parts ? "training.batch_size=3" : "training.batch_size=10",
                     parts ? "training.accumulate=4" : "training.accumulate=1", "training.epochs=1",
                     "training.optimizer=sgd", "training.learning_rate=0.5", "training.clip_norm=0",
                     "initialization.scale=0.5", "training.coverage=0.3", "training.label_smoothing=0.1");
        train_anew(&run, settings);
        assert_int_equal(run.updates, 1);
        assert_true(run.progress[0].updates == 1);
        norm[parts] = run.progress[0].gradient_norm;
        loss[parts] = event_number(0, "train_loss");
        end_run(&run);
        theta[parts] = parameters_of_run(settings, &size);
    }
    assert_true(norm[0] > 0.1);
    assert_near(norm[1], norm[0], 1e-5 * norm[0]);
    assert_near(loss[1], loss[0], 1e-5 * loss[0]);
    for (size_t i = 0; i < size; i++) {
        assert_near(theta[1][i], theta[0][i], 1e-6 * norm[0]);
    }
    free(theta[0]);
    free(theta[1]);
}

static void accumulated_batches_are_one_batch(void **state)
{
    (void)state;
    compare_with_one_batch("training.loss_normalization=token");
    compare_with_one_batch("training.loss_normalization=sentence");
}

/* Four batches an epoch: updates of 3 and 1, then of 4 with room for more. */
static void the_end_of_an_epoch_ends_an_update(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.accumulate=3", "training.epochs=2"));
    assert_int_equal(run.updates, 4);
    assert_true(run.progress[0].updates == 4);
    assert_true(run.progress[1].epoch == 1 && run.progress[2].epoch == 2);
    end_run(&run);
    train_anew(&run, SETTINGS("training.accumulate=9", "training.epochs=2"));
    assert_int_equal(run.updates, 2);
    end_run(&run);
}

/* The same pair twice in an update: only masks of their own tell its gradients apart. */
static void every_batch_draws_its_own_dropout(void **state)
{
    (void)state;
    training_run run;
    double norm[2];
    char sides[2][600];
    snprintf(sides[0], sizeof sides[0], "data.train_source=%s", support_write("twice.src", "a b\na b\n"));
    snprintf(sides[1], sizeof sides[1], "data.train_target=%s", support_write("twice.tgt", "x y\nx y\n"));
    for (size_t n = 1; n <= 2; n++) {
        train_anew(&run, SETTINGS(sides[0], sides[1], "training.batch_size=1", "dropout.embedding=0.5",
                                  n == 1 ? "training.accumulate=1" : "training.accumulate=2", "training.epochs=1",
                                  "training.clip_norm=0"));
        norm[n - 1] = run.progress[0].gradient_norm;
        end_run(&run);
    }
    assert_true(fabs(norm[0] - norm[1]) > 1e-3 * norm[0]);
}

/* ---- learning rate ---------------------------------------------------------------------------------------------- */

static void the_log_holds_the_rate_that_was_used(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.halve_every=1", "training.warmup=6"));
    for (size_t i = 0; i < 12; i++) {
        const double warm = i < 5 ? (double)(i + 1) / 6 : 1;
        assert_near(run.progress[i].learning_rate, 0.005 * warm * ldexp(1, -(int)(i / 4)), 1e-15);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(event_number(i, "learning_rate") == run.progress[4 * i + 3].learning_rate);
    }
    end_run(&run);
}

/* Four updates an epoch, three epochs; and the same bounded by ten updates. */
static void the_linear_schedule_spans_the_run(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.schedule=linear", "training.final_rate=0.1"));
    for (size_t i = 0; i < 12; i++) {
        assert_near(run.progress[i].learning_rate, 0.005 * (1 - 0.9 * (double)i / 12), 1e-15);
    }
    end_run(&run);
    train_anew(&run, SETTINGS("training.schedule=linear", "training.max_updates=10", "training.epochs=9"));
    assert_int_equal(run.updates, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_near(run.progress[i].learning_rate, 0.005 * (1 - (double)i / 10), 1e-15);
    }
    end_run(&run);
}

/* Words that training never sees become less likely with every update: the first validation is the best. */
static void a_plateau_lowers_the_rate(void **state)
{
    (void)state;
    char setting[600];
    training_run run;
    snprintf(setting, sizeof setting, "data.validation_target=%s", support_write("unknown", "u u\nu\nu u u\n"));
    train_anew(&run, SETTINGS(setting, "training.schedule=plateau", "training.plateau_factor=0.1",
                              "training.plateau_patience=2", "validation.every=1", "training.epochs=2"));
    static const int reductions[] = {0, 0, 0, 1, 1, 2, 2, 3}; /* validations 3, 5 and 7 are the second in a row */
    assert_int_equal(run.updates, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_near(run.progress[i].learning_rate, 0.005 * pow(0.1, reductions[i]), 1e-12);
    }
    assert_contains(run.log, "learning rate times 0.1: 2 validations without a better one");
    end_run(&run);
}

/* ---- decay and averages ----------------------------------------------------------------------------------------- */

/* Steps that follow no gradient worth the name: what is left of matrices is (1 - rate decay)^updates. */
static void weights_decay_by_rate_and_share(void **state)
{
    (void)state;
    size_t size;
    nmt_model *model;
    nmt_error error;
    real *start = parameters_of_run(
        SETTINGS("training.optimizer=sgd", "training.learning_rate=1e-30", "training.epochs=1"), &size);
    real *end = parameters_of_run(SETTINGS("training.optimizer=sgd", "training.learning_rate=0.001",
                                           "training.epochs=1", "training.clip_norm=1e-9", "training.weight_decay=100"),
                                  &size);
    assert_int_equal(nmt_model_load(&model, run_path("model.safetensors"), &error), NMT_OK);
    for (size_t t = 0; t < model->parameters.count; t++) {
        const tensor *entry = &model->parameters.tensors[t];
        const double left = entry->columns > 0 ? pow(0.9, 4) : 1;
        for (size_t i = entry->offset; i < entry->offset + tensor_size(entry); i++) {
            assert_near(end[i], left * start[i], 1e-6 * fabs(start[i]) + 1e-9);
        }
    }
    nmt_model_free(model);
    free(start);
    free(end);
}

/* One update of SGD: the model that is kept is 2/11 of the start and 9/11 of what the update made. */
static void the_average_is_what_is_kept(void **state)
{
    (void)state;
    size_t size;
    static const char one[] = "training.max_updates=1", sgd[] = "training.optimizer=sgd";
    real *start = parameters_of_run(SETTINGS(one, sgd, "training.learning_rate=1e-30"), &size);
    real *moved = parameters_of_run(SETTINGS(one, sgd, "training.learning_rate=0.5"), &size);
    real *kept =
        parameters_of_run(SETTINGS(one, sgd, "training.learning_rate=0.5", "training.average_decay=0.99"), &size);
    double most = 0;
    for (size_t i = 0; i < size; i++) {
        assert_near(kept[i], (2 * (double)start[i] + 9 * (double)moved[i]) / 11, 1e-6);
        most = fmax(most, fabs((double)kept[i] - (double)moved[i]));
    }
    assert_true(most > 1e-3);
    free(start);
    free(moved);
    free(kept);
}

/* The state goes on with the parameters themselves: progress is that of a run without an average. */
static void the_average_does_not_change_training(void **state)
{
    (void)state;
    training_run run;
    double norm[12];
    train_anew(&run, SETTINGS("training.average_decay=0.9"));
    for (size_t i = 0; i < 12; i++) {
        norm[i] = run.progress[i].gradient_norm;
    }
    const double averaged = event_number(2, "validation_loss");
    end_run(&run);
    train_anew(&run, SETTINGS(NULL));
    for (size_t i = 0; i < 12; i++) {
        assert_true(run.progress[i].gradient_norm == norm[i]);
    }
    assert_true(event_number(2, "validation_loss") != averaged);
    end_run(&run);
}

static double history_size(void)
{
    json *history;
    nmt_model *model;
    nmt_error error;
    assert_int_equal(nmt_model_load(&model, run_path("model.safetensors"), &error), NMT_OK);
    const char *text = nmt_model_history(model);
    assert_int_equal(json_parse(&history, text, strlen(text), "history", &error), NMT_OK);
    const size_t count = json_count(history);
    json_free(history);
    nmt_model_free(model);
    return (double)count;
}

/*
 * A rate at which updates jump round a minimum that their average is nearer to; and one at which every validation is
 * better than those before, so that an average is worse than the last.
 */
static void the_average_of_the_best_is_kept_where_it_is_better(void **state)
{
    (void)state;
    training_run run;
    size_t size;
    double best = INFINITY;
    train_anew(&run, SETTINGS("output.average_best=4", "training.learning_rate=0.2", "training.epochs=12"));
    for (size_t i = 0; i < 12; i++) {
        best = fmin(best, event_number(i, "validation_loss"));
    }
    assert_int_equal(count_events(), 13);
    assert_true(event_number(12, "averaged") == 4 && event_number(12, "update") == 48);
    assert_true(event_number(12, "validation_loss") < best);
    assert_contains(run.log, "average of the best 4: validation loss ");
    assert_contains(run.log, ", which is kept");
    assert_true(history_size() == 13);
    end_run(&run);

    const char *const *slow = SETTINGS("output.average_best=3", "training.learning_rate=0.001");
    train_anew(&run, slow);
    assert_true(event_number(3, "validation_loss") > event_number(2, "validation_loss"));
    assert_contains(run.log, "average of the best 3: ");
    assert_contains(run.log, ", no better than the best");
    assert_true(history_size() == 3);
    end_run(&run);
    real *kept = parameters_of_run(slow, &size);
    real *best_alone = parameters_of_run(SETTINGS("training.learning_rate=0.001"), &size);
    assert_memory_equal(kept, best_alone, size * sizeof *kept);
    free(kept);
    free(best_alone);
}

static void one_best_model_needs_no_average(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("output.average_best=5", "training.epochs=1"));
    assert_int_equal(count_events(), 1);
    assert_lacks(run.log, "average of");
    end_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(accumulated_batches_are_one_batch, remove_run_after),
        cmocka_unit_test_teardown(the_end_of_an_epoch_ends_an_update, remove_run_after),
        cmocka_unit_test_teardown(every_batch_draws_its_own_dropout, remove_run_after),
        cmocka_unit_test_teardown(the_log_holds_the_rate_that_was_used, remove_run_after),
        cmocka_unit_test_teardown(the_linear_schedule_spans_the_run, remove_run_after),
        cmocka_unit_test_teardown(a_plateau_lowers_the_rate, remove_run_after),
        cmocka_unit_test_teardown(weights_decay_by_rate_and_share, remove_run_after),
        cmocka_unit_test_teardown(the_average_is_what_is_kept, remove_run_after),
        cmocka_unit_test_teardown(the_average_does_not_change_training, remove_run_after),
        cmocka_unit_test_teardown(the_average_of_the_best_is_kept_where_it_is_better, remove_run_after),
        cmocka_unit_test_teardown(one_best_model_needs_no_average, remove_run_after)};
    return cmocka_run_group_tests(tests, training_setup, support_teardown);
}
