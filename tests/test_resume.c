/* A run that was stopped and resumed ends with the bytes of one that was not; what would break that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_training.h"

/* ---- resumed = uninterrupted ------------------------------------------------------------------------------------ */

typedef struct outcome {
    file_bytes model, state;
    size_t events;
} outcome;

static outcome read_outcome(void)
{
    return (outcome){read_bytes(run_path("model.safetensors")), read_bytes(run_path("last.state")), count_events()};
}

static void free_outcome(outcome *of)
{
    free(of->model.bytes);
    free(of->state.bytes);
}

static void assert_same_outcome(const outcome *expected, size_t stop)
{
    outcome found = read_outcome();
    if (!same_bytes(found.model, expected->model)) {
        fail_msg("stopped behind update %zu: another model.safetensors", stop);
    }
    if (!same_bytes(found.state, expected->state)) {
        fail_msg("stopped behind update %zu: another last.state", stop);
    }
    assert_int_equal(found.events, expected->events);
    free_outcome(&found);
}

static void stop_after(uint64_t updates, bool resume, const char *const *settings)
{
    training_run run = {.stop_after = updates};
    train(&run, resume, settings);
    assert_fails(&run, NMT_INTERRUPTED);
    assert_int_equal(run.updates, updates);
    assert_contains(run.error.message, run_path("last.state"));
    end_run(&run);
}

static void go_on(const char *const *settings)
{
    training_run run = {0};
    train(&run, true, settings);
    assert_trained(&run);
    end_run(&run);
}

/* Stops behind every update of the run in turn, the last one among them. */
static void check_every_stop(size_t updates, size_t events, const char *const *settings)
{
    training_run run;
    train_anew(&run, settings);
    assert_int_equal(run.updates, updates);
    end_run(&run);
    outcome whole = read_outcome();
    assert_int_equal(whole.events, events);
    for (size_t stop = 1; stop <= updates; stop++) {
        remove_run();
        stop_after(stop, false, settings);
        go_on(settings);
        assert_same_outcome(&whole, stop);
    }
    free_outcome(&whole);
}

static void with_validation_after_each_epoch(void **state)
{
    (void)state;
    check_every_stop(12, 3, SETTINGS("validation.bleu=true"));
}

/* 5 divides neither the epoch nor the run. */
static void with_validation_after_some_updates(void **state)
{
    (void)state;
    check_every_stop(12, 3, SETTINGS("validation.every=5"));
}

static void with_dropout_and_a_falling_rate(void **state)
{
    (void)state;
    check_every_stop(12, 3,
                     SETTINGS("dropout.embedding=0.3", "dropout.annotation=0.2", "dropout.readout=0.1",
                              "dropout.attention_input=0.1", "dropout.decoder_input=0.1", "dropout.recurrent=0.2",
                              "dropout.source_word=0.1", "dropout.target_word=0.1", "training.label_smoothing=0.1",
                              "training.halve_every=1"));
}

static void with_several_layers_and_a_frozen_embedding(void **state)
{
    (void)state;
    char setting[600];
    snprintf(setting, sizeof setting, "data.source_embeddings=%s",
             support_write("vectors", "s0 1 2 3 4 5\ns3 5 4 3 2 1\n"));
    check_every_stop(12, 3,
                     SETTINGS(setting, "training.freeze_source=true", "training.weight_decay=0.1",
                              "model.layer_normalization=true", "model.encoder_layers=2", "model.decoder_layers=2",
                              "dropout.recurrent=0.2"));
}

static void with_adadelta_and_batches_of_tokens(void **state)
{
    (void)state;
    training_run run;
    const char *const *settings = SETTINGS("training.optimizer=adadelta", "training.learning_rate=1",
                                           "training.batch_unit=tokens", "training.batch_size=9", "training.epochs=2");
    train_anew(&run, settings);
    const size_t updates = run.updates;
    end_run(&run);
    check_every_stop(updates, 2, settings);
}

static void with_momentum_and_without_validation(void **state)
{
    (void)state;
    check_every_stop(8, 2,
                     SETTINGS("training.optimizer=sgd", "training.momentum=0.5", "training.epochs=2",
                              "data.validation_source=null", "data.validation_target=null"));
}

static void with_warm_up_accumulation_and_decay(void **state)
{
    (void)state;
    check_every_stop(6, 3,
                     SETTINGS("training.schedule=linear", "training.warmup=3", "training.accumulate=2",
                              "training.weight_decay=0.1", "dropout.embedding=0.3"));
}

/* The share of the reference falls over batches, two of which make an update. */
static void with_scheduled_sampling(void **state)
{
    (void)state;
    check_every_stop(6, 3,
                     SETTINGS("training.teacher_forcing=0", "training.forcing_decay=3", "training.learning_rate=0.2",
                              "training.accumulate=2", "dropout.embedding=0.2"));
}

/* Nothing is ever better: the rate falls at each validation but the first. */
static void with_plateaus(void **state)
{
    (void)state;
    char setting[600];
    snprintf(setting, sizeof setting, "data.validation_target=%s", support_write("unknown", "u u\nu\nu u u\n"));
    check_every_stop(12, 6, SETTINGS(setting, "training.schedule=plateau", "validation.every=2"));
    check_every_stop(
        12, 6, SETTINGS(setting, "training.schedule=plateau", "validation.every=2", "training.plateau_patience=2"));
}

static void with_averages(void **state)
{
    (void)state;
    check_every_stop(12, 3, SETTINGS("training.average_decay=0.9"));
    check_every_stop(12, 7, SETTINGS("output.average_best=3", "validation.every=2"));
    check_every_stop(12, 7,
                     SETTINGS("output.average_best=2", "validation.every=2", "training.average_decay=0.5",
                              "validation.bleu=true", "validation.metric=bleu"));
}

/* A run that ended with an average goes on as if it had not: the ninth validation enters the average, which is no
 * longer better than the best model, the sixth. */
static void more_epochs_may_follow_an_average(void **state)
{
    (void)state;
    training_run run;
    static const char average[] = "output.average_best=2", rate[] = "training.learning_rate=0.1";
    const char *const *settings = SETTINGS(average, rate, "training.seed=3", "training.epochs=9");
    train_anew(&run, settings);
    assert_contains(run.log, "no better than the best");
    end_run(&run);
    outcome whole = read_outcome();
    assert_int_equal(whole.events, 10);
    train_anew(&run, SETTINGS(average, rate, "training.seed=3", "training.epochs=8"));
    assert_contains(run.log, "which is kept");
    end_run(&run);
    go_on(settings);
    assert_same_outcome(&whole, 32);
    go_on(settings);
    assert_same_outcome(&whole, 36);
    free_outcome(&whole);
}

/* Words that training never sees become less likely with every epoch. */
static void with_an_end_by_patience(void **state)
{
    (void)state;
    char setting[600];
    snprintf(setting, sizeof setting, "data.validation_target=%s", support_write("unknown", "u u\nu\nu u u\n"));
    check_every_stop(12, 3, SETTINGS(setting, "training.epochs=9", "validation.patience=2"));
    check_every_stop(9, 3, SETTINGS(setting, "training.epochs=9", "validation.patience=2", "validation.every=3"));
}

static void stopped_more_than_once(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    outcome whole = read_outcome();
    remove_run();
    stop_after(3, false, SETTINGS(NULL));
    stop_after(1, true, SETTINGS(NULL));
    stop_after(6, true, SETTINGS(NULL));
    go_on(SETTINGS(NULL));
    assert_same_outcome(&whole, 10);
    free_outcome(&whole);
}

/* What a process leaves that is killed behind update 6: files as the validation behind update 4 wrote them. */
static bool keep_state(void *context)
{
    training_run *run = context;
    if (run->updates == 6) {
        const file_bytes last = read_bytes(run_path("last.state"));
        assert_non_null(last.bytes);
        support_write_bytes("killed.state", last.bytes, last.length);
        free(last.bytes);
        assert_int_equal(count_events(), 1);
    }
    return false;
}

static void a_killed_run_goes_on_from_its_last_validation(void **state)
{
    (void)state;
    training_run run = {0};
    nmt_config *config;
    const nmt_train_observer observer = {&run, on_log, on_progress, keep_state};
    assert_int_equal(nmt_config_load(&config, support_path("config.json"), NULL, 0, &run.error), NMT_OK);
    remove_run();
    assert_int_equal(nmt_train(config, NULL, &observer, &run.error), NMT_OK);
    nmt_config_free(config);
    outcome whole = read_outcome();
    assert_int_equal(rename(support_path("killed.state"), run_path("last.state")), 0);
    run = (training_run){0};
    train(&run, true, SETTINGS(NULL));
    assert_trained(&run);
    assert_int_equal(run.updates, 8);
    whole.events = count_events();
    assert_same_outcome(&whole, 4);
    free_outcome(&whole);
    end_run(&run);
}

static void a_finished_run_stays_as_it_is(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    outcome whole = read_outcome();
    go_on(SETTINGS(NULL));
    assert_same_outcome(&whole, 12);
    free_outcome(&whole);
}

/* Two epochs of four updates, bounded by either. */
static void more_epochs_may_be_added(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=4"));
    end_run(&run);
    outcome whole = read_outcome();
    static const char *const bounds[] = {"training.epochs=2", "training.max_updates=8"};
    for (size_t i = 0; i < 2; i++) {
        train_anew(&run, SETTINGS(bounds[i], i == 0 ? NULL : "training.epochs=4"));
        end_run(&run);
        go_on(SETTINGS("training.epochs=4"));
        assert_same_outcome(&whole, 8);
    }
    free_outcome(&whole);
}

/* A bound that lies behind the run ends it where it is, in the epoch that it is in. */
static void fewer_epochs_end_the_run(void **state)
{
    (void)state;
    remove_run();
    stop_after(10, false, SETTINGS(NULL));
    training_run run = {0};
    train(&run, true, SETTINGS("training.epochs=1"));
    assert_trained(&run);
    assert_int_equal(run.updates, 0);
    assert_int_equal(count_events(), 3);
    assert_true(event_number(2, "epoch") == 3);
    assert_true(event_number(2, "update") == 10);
    end_run(&run);
}

static void the_log_says_where_a_run_was_resumed(void **state)
{
    (void)state;
    remove_run();
    stop_after(6, false, SETTINGS(NULL));
    training_run run = {0};
    train(&run, true, SETTINGS("training.threads=2"));
    assert_trained(&run);
    assert_contains(run.log, "resumed behind update 6, in epoch 2");
    assert_int_equal(run.updates, 6);
    assert_true(run.progress[0].update == 7 && run.progress[0].epoch == 2);
    end_run(&run);
}

/* ---- what is refused -------------------------------------------------------------------------------------------- */

/* Resuming fails, says each of `parts`, and leaves everything as it was. */
static void check_refusal(nmt_status status, const char *const *settings, const char *const *parts)
{
    outcome before = read_outcome();
    file_bytes log = read_bytes(run_path("log.jsonl"));
    training_run run = {0};
    train(&run, true, settings);
    assert_fails(&run, status);
    assert_int_equal(run.updates, 0);
    assert_contains(run.error.message, run_path("last.state"));
    for (; *parts != NULL; parts++) {
        assert_contains(run.error.message, *parts);
    }
    assert_same_outcome(&before, 0);
    file_bytes log_after = read_bytes(run_path("log.jsonl"));
    assert_true(same_bytes(log, log_after));
    free(log.bytes);
    free(log_after.bytes);
    free_outcome(&before);
    end_run(&run);
}

static void another_configuration_is_refused_by_its_keys(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    check_refusal(NMT_INVALID, SETTINGS("training.learning_rate=0.5"),
                  SETTINGS("training.learning_rate (was 0.005, is 0.5)"));
    check_refusal(NMT_INVALID,
                  SETTINGS("training.seed=7", "data.max_length=9", "validation.metric=bleu", "validation.bleu=true"),
                  SETTINGS("training.seed (was 1, is 7)", "data.max_length (was 50, is 9)",
                           "validation.metric (was \"loss\", is \"bleu\")", "validation.bleu (was false, is true)"));
    training_run other = {0};
    train(&other, true, SETTINGS("training.seed=7", "training.epochs=2", "training.threads=2"));
    assert_lacks(other.error.message, "training.epochs");
    assert_lacks(other.error.message, "training.threads");
    end_run(&other);
}

/* Where the rate follows from the length of the run. */
static void another_length_is_refused_to_the_linear_schedule(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.schedule=linear"));
    end_run(&run);
    check_refusal(NMT_INVALID, SETTINGS("training.schedule=linear", "training.epochs=4", "training.max_updates=9"),
                  SETTINGS("training.epochs (was 3, is 4)", "training.max_updates (was 0, is 9)"));
    go_on(SETTINGS("training.schedule=linear", "training.threads=2"));
}

/* Such keys change what the state holds. */
static void another_model_or_optimizer_is_refused_by_its_keys(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    check_refusal(NMT_INVALID, SETTINGS("model.encoder_hidden=8"), SETTINGS("model.encoder_hidden (was 3, is 8)"));
    check_refusal(NMT_INVALID, SETTINGS("training.optimizer=sgd"),
                  SETTINGS("training.optimizer (was \"adam\", is \"sgd\")"));
    check_refusal(NMT_INVALID, SETTINGS("vocabulary.minimum_count=2"),
                  SETTINGS("vocabulary.minimum_count (was 1, is 2)"));
}

static void check_text_refused(const char *source, const char *target)
{
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    support_write("train.src", source);
    support_write("train.tgt", target);
    check_refusal(NMT_INVALID, SETTINGS("training.epochs=2"),
                  SETTINGS("training text", support_path("train.src"), support_path("train.tgt")));
    write_corpus();
    go_on(SETTINGS("training.epochs=2"));
}

static void another_text_is_refused(void **state)
{
    (void)state;
    check_text_refused("a b\nc\n", "x\ny z\n");
    /* The same words as often, in other lines. */
    file_bytes source = read_bytes(support_path("train.src")), target = read_bytes(support_path("train.tgt"));
    char *space = strchr(source.bytes, ' '), *end = strchr(space, '\n');
    memmove(space, space + 1, (size_t)(end - space) - 1);
    end[-1] = ' ';
    memmove(end - 1, end, strlen(end) + 1);
    check_text_refused(source.bytes, target.bytes);
    free(source.bytes);
    free(target.bytes);
}

/* The best model so far was measured on it. */
static void another_validation_text_is_refused(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    file_bytes target = read_bytes(support_path("valid.tgt"));
    target.bytes[0] = target.bytes[0] == 'x' ? 'y' : 'x';
    support_write_bytes("valid.tgt", target.bytes, target.length);
    free(target.bytes);
    check_refusal(NMT_INVALID, SETTINGS("training.epochs=2"),
                  SETTINGS("validation text", support_path("valid.src"), support_path("valid.tgt")));
    write_corpus();
    go_on(SETTINGS("training.epochs=2"));
}

static void the_best_model_must_be_there(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    file_bytes model = read_bytes(run_path("model.safetensors"));
    assert_int_equal(unlink(run_path("model.safetensors")), 0);
    run = (training_run){0};
    train(&run, true, SETTINGS("training.epochs=2"));
    assert_fails(&run, NMT_IO);
    assert_int_equal(run.updates, 0);
    assert_contains(run.error.message, run_path("model.safetensors"));
    assert_contains(run.error.message, run_path("last.state"));
    assert_contains(run.error.message, "No such file or directory");
    end_run(&run);
    support_write_bytes("run/model.safetensors", model.bytes, model.length);
    free(model.bytes);
    go_on(SETTINGS("training.epochs=2"));
}

static void other_words_in_a_vocabulary_file_are_refused(void **state)
{
    (void)state;
    char setting[600];
    training_run run;
    snprintf(setting, sizeof setting, "vocabulary.target_file=%s", support_write("words", "t0\nt1\nt2\nt3\n"));
    train_anew(&run, SETTINGS(setting, "training.epochs=1"));
    end_run(&run);
    support_write("words", "t0\nt2\nt1\nt3\n");
    check_refusal(NMT_INVALID, SETTINGS(setting, "training.epochs=2"), SETTINGS("vocabular"));
    support_write("words", "t0\nt1\nt2\n");
    check_refusal(NMT_INVALID, SETTINGS(setting, "training.epochs=2"), SETTINGS("vocabular"));
    support_write("words", "t0\nt1\nt2\nt3\n");
    go_on(SETTINGS(setting, "training.epochs=2"));
}

static void there_must_be_a_state(void **state)
{
    (void)state;
    remove_run();
    training_run run = {0};
    train(&run, true, SETTINGS(NULL));
    assert_fails(&run, NMT_IO);
    assert_contains(run.error.message, run_path("last.state"));
    end_run(&run);
}

/* The byte behind `before` becomes `byte`. */
static void check_change_refused(const file_bytes *whole, const char *before, char byte, const char *field)
{
    char *found = memmem(whole->bytes, whole->length, before, strlen(before));
    assert_non_null(found);
    char *at = found + strlen(before);
    const char kept = *at;
    *at = byte;
    support_write_bytes("run/last.state", whole->bytes, whole->length);
    check_refusal(NMT_INVALID, SETTINGS(NULL), SETTINGS(field));
    *at = kept;
}

static void a_damaged_state_is_refused(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    end_run(&run);
    file_bytes whole = read_bytes(run_path("last.state"));
    support_write_bytes("run/last.state", whole.bytes, whole.length - 1);
    check_refusal(NMT_INVALID, SETTINGS(NULL), SETTINGS(NULL));
    support_write_bytes("run/last.state", whole.bytes, whole.length);
    char *field = memmem(whole.bytes, whole.length, "without_better", strlen("without_better"));
    assert_non_null(field);
    field[0] = 'W';
    support_write_bytes("run/last.state", whole.bytes, whole.length);
    check_refusal(NMT_INVALID, SETTINGS(NULL), SETTINGS("\"without_better\""));
    field[0] = 'w';
    check_change_refused(&whole, "\\\"update\\\":\\\"", '-', "\"update\"");
    check_change_refused(&whole, "\\\"epoch\\\":\\\"", '0', "\"epoch\"");
    char *entry = memmem(whole.bytes, whole.length, "\\\"update\\\":4,", strlen("\\\"update\\\":4,"));
    assert_non_null(entry); /* in the history */
    entry[2] = 'U';
    support_write_bytes("run/last.state", whole.bytes, whole.length);
    check_refusal(NMT_INVALID, SETTINGS(NULL), SETTINGS("\"history\""));
    free(whole.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(with_validation_after_each_epoch, remove_run_after),
        cmocka_unit_test_teardown(with_validation_after_some_updates, remove_run_after),
        cmocka_unit_test_teardown(with_dropout_and_a_falling_rate, remove_run_after),
        cmocka_unit_test_teardown(with_several_layers_and_a_frozen_embedding, remove_run_after),
        cmocka_unit_test_teardown(with_adadelta_and_batches_of_tokens, remove_run_after),
        cmocka_unit_test_teardown(with_momentum_and_without_validation, remove_run_after),
        cmocka_unit_test_teardown(with_warm_up_accumulation_and_decay, remove_run_after),
        cmocka_unit_test_teardown(with_scheduled_sampling, remove_run_after),
        cmocka_unit_test_teardown(with_plateaus, remove_run_after),
        cmocka_unit_test_teardown(with_averages, remove_run_after),
        cmocka_unit_test_teardown(more_epochs_may_follow_an_average, remove_run_after),
        cmocka_unit_test_teardown(another_length_is_refused_to_the_linear_schedule, remove_run_after),
        cmocka_unit_test_teardown(with_an_end_by_patience, remove_run_after),
        cmocka_unit_test_teardown(stopped_more_than_once, remove_run_after),
        cmocka_unit_test_teardown(a_killed_run_goes_on_from_its_last_validation, remove_run_after),
        cmocka_unit_test_teardown(a_finished_run_stays_as_it_is, remove_run_after),
        cmocka_unit_test_teardown(more_epochs_may_be_added, remove_run_after),
        cmocka_unit_test_teardown(fewer_epochs_end_the_run, remove_run_after),
        cmocka_unit_test_teardown(the_log_says_where_a_run_was_resumed, remove_run_after),
        cmocka_unit_test_teardown(another_configuration_is_refused_by_its_keys, remove_run_after),
        cmocka_unit_test_teardown(another_model_or_optimizer_is_refused_by_its_keys, remove_run_after),
        cmocka_unit_test_teardown(another_text_is_refused, remove_run_after),
        cmocka_unit_test_teardown(another_validation_text_is_refused, remove_run_after),
        cmocka_unit_test_teardown(the_best_model_must_be_there, remove_run_after),
        cmocka_unit_test_teardown(other_words_in_a_vocabulary_file_are_refused, remove_run_after),
        cmocka_unit_test_teardown(there_must_be_a_state, remove_run_after),
        cmocka_unit_test_teardown(a_damaged_state_is_refused, remove_run_after)};
    return cmocka_run_group_tests(tests, training_setup, support_teardown);
}
