/* Training runs as a caller sees them: files, log, progress, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <sys/stat.h>

#include "model/checkpoint.h"
#include "support_reals.h"
#include "support_training.h"

static const char *const no_validation[] = {"data.validation_source=null", "data.validation_target=null"};

/* Words that training never sees become less likely with every update: the first validation is the best. */
static const char *unknown_validation(void)
{
    static char setting[600];
    snprintf(setting, sizeof setting, "data.validation_target=%s", support_write("unknown", "u u\nu\nu u u\n"));
    return setting;
}

/* Validation on the training text. */
static const char *const *training_text_held_out(void)
{
    static char settings[2][600];
    static const char *const list[] = {settings[0], settings[1]};
    snprintf(settings[0], sizeof settings[0], "data.validation_source=%s", support_path("train.src"));
    snprintf(settings[1], sizeof settings[1], "data.validation_target=%s", support_path("train.tgt"));
    return list;
}

static nmt_model *load_model(void)
{
    nmt_model *model;
    nmt_error error;
    if (nmt_model_load(&model, run_path("model.safetensors"), &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    return model;
}

/* ---- the result ------------------------------------------------------------------------------------------------- */

static void training_learns_the_text(void **state)
{
    (void)state;
    training_run run;
    const char *const *text = training_text_held_out();
    train_anew(&run, SETTINGS("training.epochs=60", "training.batch_size=10", "training.learning_rate=0.05",
                              "validation.bleu=true", text[0], text[1]));
    assert_true(event_number(0, "train_loss") > 1.5);
    assert_true(event_number(59, "train_loss") < 0.1);
    assert_near(event_number(59, "validation_bleu"), 100, 1e-9);
    assert_int_equal(count_events(), 60);
    end_run(&run);
    nmt_model *model = load_model();
    nmt_translation translation;
    nmt_error error;
    assert_int_equal(nmt_translate(model, (const char *const[]){"s1 s4"}, 1, NULL, &translation, &error), NMT_OK);
    assert_string_equal(translation.text, "t4 t1");
    nmt_translation_clear(&translation);
    nmt_model_free(model);
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    training_run run;
    for (size_t threads = 1; threads <= 2; threads++) {
        char setting[64];
        snprintf(setting, sizeof setting, "training.threads=%zu", threads);
        const char *const *settings = SETTINGS(setting, "dropout.embedding=0.2", "dropout.readout=0.2");
        train_anew(&run, settings);
        end_run(&run);
        file_bytes model = read_bytes(run_path("model.safetensors")), last = read_bytes(run_path("last.state"));
        train_anew(&run, settings);
        end_run(&run);
        file_bytes model_again = read_bytes(run_path("model.safetensors")),
                   last_again = read_bytes(run_path("last.state"));
        assert_true(same_bytes(model, model_again));
        assert_true(same_bytes(last, last_again));
        free(model.bytes);
        free(model_again.bytes);
        free(last.bytes);
        free(last_again.bytes);
    }
}

static void another_seed_gives_another_model(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1"));
    const double loss = event_number(0, "validation_loss");
    end_run(&run);
    train_anew(&run, SETTINGS("training.epochs=1", "training.seed=2"));
    assert_true(event_number(0, "validation_loss") != loss);
    end_run(&run);
}

/* Sizes at which the work is really shared. */
static void threads_change_rounding_at_the_most(void **state)
{
    (void)state;
    training_run run;
    double loss[3];
    for (size_t threads = 1; threads <= 3; threads++) {
        char setting[64];
        snprintf(setting, sizeof setting, "training.threads=%zu", threads);
        train_anew(&run, SETTINGS(setting, "model.encoder_hidden=40", "model.decoder_hidden=48",
                                  "model.source_embedding=32", "model.target_embedding=32", "model.attention_size=40",
                                  "training.batch_size=5", "training.learning_rate=0.001"));
        loss[threads - 1] = event_number(2, "validation_loss");
        assert_near(loss[threads - 1], loss[0], 1e-4 * loss[0]);
        end_run(&run);
    }
}

static void a_run_needs_no_observer(void **state)
{
    (void)state;
    nmt_config *config;
    nmt_error error;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    file_bytes model = read_bytes(run_path("model.safetensors"));
    for (int empty = 0; empty < 2; empty++) {
        remove_run();
        assert_int_equal(nmt_config_load(&config, support_path("config.json"), NULL, 0, &error), NMT_OK);
        assert_int_equal(nmt_train(config, NULL, empty ? &(nmt_train_observer){0} : NULL, &error), NMT_OK);
        nmt_config_free(config);
        file_bytes again = read_bytes(run_path("model.safetensors"));
        assert_true(same_bytes(model, again));
        free(again.bytes);
    }
    free(model.bytes);
}

/* ---- updates ---------------------------------------------------------------------------------------------------- */

static void progress_tells_every_update(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.halve_every=2", "training.epochs=5"));
    assert_int_equal(run.updates, 20);
    for (size_t i = 0; i < 20; i++) {
        const nmt_progress *p = &run.progress[i];
        assert_true(p->update == i + 1 && p->updates == 20);
        assert_int_equal(p->epoch, i / 4 + 1);
        assert_int_equal(p->epochs, 5);
        assert_true(p->learning_rate == ldexp(0.005, -(int)(i / 8)));
        assert_true(p->loss > 0 && p->loss < 5 && p->gradient_norm > 0 && p->tokens_per_second > 0);
        assert_true(p->seconds_left >= 0);
    }
    end_run(&run);
}

/* The text makes four updates an epoch: two epochs and a half, the half of which is validated too. */
static void a_run_ends_with_its_last_update(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.max_updates=10", "training.epochs=5"));
    assert_int_equal(run.updates, 10);
    assert_true(run.progress[0].updates == 10);
    assert_int_equal(count_events(), 3);
    assert_true(event_number(2, "update") == 10 && event_number(2, "epoch") == 3);
    end_run(&run);
    train_anew(&run, SETTINGS("training.max_updates=4", "training.epochs=5")); /* where an epoch ends */
    assert_int_equal(run.updates, 4);
    assert_int_equal(count_events(), 1);
    end_run(&run);
    train_anew(&run, SETTINGS("training.max_updates=100", "training.epochs=2"));
    assert_int_equal(run.updates, 8);
    assert_true(run.progress[0].updates == 8);
    end_run(&run);
}

static size_t count_updates(const char *unit, const char *size)
{
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1", unit, size));
    const size_t updates = run.updates;
    assert_true(run.progress[0].updates == updates);
    end_run(&run);
    return updates;
}

/* The text has 1, 2, 3, 4, 1, 2, 3, 4, 1, 2 target tokens a line, and `</s>` with each. */
static void batches_are_counted_in_sentences_or_tokens(void **state)
{
    (void)state;
    assert_int_equal(count_updates("training.batch_unit=sentences", "training.batch_size=1"), 10);
    assert_int_equal(count_updates("training.batch_unit=sentences", "training.batch_size=4"), 3);
    assert_int_equal(count_updates("training.batch_unit=sentences", "training.batch_size=100"), 1);
    assert_int_equal(count_updates("training.batch_unit=tokens", "training.batch_size=1"), 10);
    assert_int_equal(count_updates("training.batch_unit=tokens", "training.batch_size=100"), 1);
    const size_t updates = count_updates("training.batch_unit=tokens", "training.batch_size=10");
    assert_in_range(updates, 4, 6);
}

/* Norm of the first update's gradient, the whole text being one batch: 10 sentences, 33 target tokens. */
static double first_norm(const char *setting, const char *expected)
{
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1", "training.batch_size=10", setting));
    assert_contains(run.log, expected);
    const double norm = run.progress[0].gradient_norm;
    end_run(&run);
    return norm;
}

static void the_loss_is_normalised_as_the_log_says(void **state)
{
    (void)state;
    const double token = first_norm("training.loss_normalization=token", "loss normalised per target token");
    const double sentence = first_norm("training.loss_normalization=sentence", "loss normalised per sentence");
    assert_near(sentence / token, 3.3, 1e-5);
}

/* The parameters after one update of SGD by `rate`; the caller's: free(). */
static real *parameters_after(const char *rate, const char *clip, size_t *size, double *norm)
{
    training_run run;
    train_anew(&run, SETTINGS("training.epochs=1", "training.batch_size=10", "training.optimizer=sgd", rate, clip));
    assert_int_equal(run.updates, 1);
    *norm = run.progress[0].gradient_norm;
    end_run(&run);
    nmt_model *model = load_model();
    *size = model->parameters.size;
    real *copy = malloc(*size * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, model->block, *size * sizeof *copy);
    nmt_model_free(model);
    return copy;
}

static void an_update_moves_by_the_clipped_gradient(void **state)
{
    (void)state;
    static const struct {
        const char *clip;
        double limit;
    } cases[] = {
        {"training.clip_norm=0.01", 0.01}, {"training.clip_norm=0", INFINITY}, {"training.clip_norm=100", 100}};
    size_t size;
    double norm;
    real *start = parameters_after("training.learning_rate=1e-30", "training.clip_norm=0", &size, &norm);
    for (size_t i = 0; i < 3; i++) {
        double sum = 0;
        real *moved = parameters_after("training.learning_rate=0.5", cases[i].clip, &size, &norm);
        for (size_t j = 0; j < size; j++) {
            sum += pow((double)moved[j] - (double)start[j], 2);
        }
        assert_true(norm > 0.02 && norm < 100);
        assert_near(sqrt(sum), 0.5 * fmin(norm, cases[i].limit), 1e-4 * sqrt(sum));
        free(moved);
    }
    free(start);
}

/* Steps too small to move anything, and batches that are all the text in its order: only dropout tells them apart. */
static void dropout_draws_anew_for_each_update(void **state)
{
    (void)state;
    training_run run;
    for (int dropped = 0; dropped < 2; dropped++) {
        train_anew(&run, SETTINGS("training.optimizer=sgd", "training.learning_rate=1e-30", "training.batch_size=10",
                                  "training.shuffle=false", dropped ? "dropout.embedding=0.5" : "dropout.embedding=0"));
        for (size_t i = 1; i < 3; i++) {
            const double norm = run.progress[i].gradient_norm, before = run.progress[i - 1].gradient_norm;
            assert_true(dropped ? fabs(norm - before) > 1e-3 * norm : norm == before);
        }
        end_run(&run);
    }
}

/* ---- validation ------------------------------------------------------------------------------------------------- */

/* As the training loss, which on the same text with the same parameters is the same number. */
static void validation_loss_is_in_nats_per_target_token(void **state)
{
    (void)state;
    training_run run;
    const char *const *text = training_text_held_out();
    train_anew(&run, SETTINGS("training.optimizer=sgd", "training.learning_rate=1e-30", "training.epochs=1",
                              "validation.batch_size=4", "initialization.scale=1", text[0], text[1]));
    const double loss = event_number(0, "train_loss");
    assert_near(event_number(0, "validation_loss"), loss, 1e-5 * loss);
    end_run(&run);
}

static void each_validation_is_an_event(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("validation.every=5", "validation.bleu=true"));
    static const double updates[] = {5, 10, 12}, epochs[] = {2, 3, 3};
    double tokens = 0;
    assert_int_equal(count_events(), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(event_number(i, "update") == updates[i]);
        assert_true(event_number(i, "epoch") == epochs[i]);
        assert_true(event_number(i, "train_loss") > 0);
        assert_true(event_number(i, "update_seconds") > 0);
        assert_true(event_number(i, "seconds") >= event_number(i, "update_seconds"));
        tokens += event_number(i, "update_tokens");
        const double loss = event_number(i, "validation_loss");
        assert_near(event_number(i, "validation_perplexity"), exp(loss), 1e-9 * exp(loss));
        assert_in_range((int)event_number(i, "validation_bleu"), 0, 100);
    }
    assert_true(tokens == 99); /* with </s>, in all three epochs */
    assert_contains(run.log, "epoch 2, update 5: training loss ");
    assert_contains(run.log, "epoch 3, update 12: training loss ");
    end_run(&run);
}

static void the_model_carries_its_history(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    json *history;
    nmt_error error;
    nmt_model *model = load_model();
    const char *text = nmt_model_history(model);
    assert_int_equal(json_parse(&history, text, strlen(text), "history", &error), NMT_OK);
    assert_int_equal(json_count(history), 3);
    assert_true(json_number(json_get(json_first(history), "validation_loss")) == event_number(0, "validation_loss"));
    assert_null(json_get(json_first(history), "seconds"));
    json_free(history);
    nmt_model_free(model);
}

static void the_best_model_is_kept(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(unknown_validation(), "training.epochs=1"));
    end_run(&run);
    nmt_model *first = load_model();
    train_anew(&run, SETTINGS(unknown_validation(), "training.epochs=4"));
    assert_int_equal(count_events(), 4);
    for (size_t i = 1; i < 4; i++) {
        assert_true(event_number(i, "validation_loss") > event_number(i - 1, "validation_loss"));
    }
    assert_int_equal(run.models, 1);
    end_run(&run);
    nmt_model *best = load_model();
    assert_memory_equal(best->block, first->block, first->parameters.size * sizeof *first->block);
    assert_string_equal(nmt_model_history(best), nmt_model_history(first));
    nmt_model_free(first);
    nmt_model_free(best);
}

static void without_better_validations_patience_ends_the_run(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(unknown_validation(), "training.epochs=9", "validation.patience=2"));
    assert_int_equal(run.updates, 12);
    assert_int_equal(count_events(), 3);
    assert_contains(run.log, "stopping: 2 validations without a better one");
    end_run(&run);
    train_anew(&run, SETTINGS("training.epochs=9", "validation.patience=2"));
    assert_int_equal(run.updates, 36);
    assert_lacks(run.log, "stopping:");
    end_run(&run);
}

/* BLEU stays 0 where loss gets better: four words in a row are never right. */
static void best_is_by_the_configured_metric(void **state)
{
    (void)state;
    training_run run;
    const char *const *by_loss =
        SETTINGS("validation.bleu=true", "validation.patience=2", "training.epochs=6", "training.learning_rate=0.001");
    const char *const *by_bleu = SETTINGS("validation.bleu=true", "validation.patience=2", "training.epochs=6",
                                          "training.learning_rate=0.001", "validation.metric=bleu");
    train_anew(&run, by_loss);
    assert_int_equal(count_events(), 6);
    assert_int_equal(run.models, 6);
    end_run(&run);
    train_anew(&run, by_bleu);
    assert_int_equal(count_events(), 3);
    assert_int_equal(run.models, 1);
    assert_true(event_number(2, "validation_bleu") == 0);
    assert_true(event_number(2, "validation_loss") < event_number(0, "validation_loss"));
    end_run(&run);
}

static void without_validation_the_last_model_is_kept(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(no_validation[0], no_validation[1]));
    assert_int_equal(run.models, 3);
    assert_lacks(run.log, "validation");
    end_run(&run);
    nmt_model *model = load_model();
    assert_contains(nmt_model_history(model), "\"epoch\":3");
    nmt_model_free(model);
}

/* ---- the log ---------------------------------------------------------------------------------------------------- */

static void what_is_left_out_is_counted(void **state)
{
    (void)state;
    char source[600], target[600];
    training_run run;
    snprintf(source, sizeof source, "data.train_source=%s",
             support_write("holes.src", "a b\n\na\na b c d\n \t\na\na\n"));
    snprintf(target, sizeof target, "data.train_target=%s",
             support_write("holes.tgt", "x\ny\n\nx\n\nx y x y x\nz z z\n"));
    train_anew(&run,
               SETTINGS(source, target, "data.max_length=3", "training.epochs=1", no_validation[0], no_validation[1]));
    assert_contains(run.log, "training text: 2 pairs, 3 source and 4 target tokens; left out: 3 with an empty side, 2 "
                             "over 3 tokens");
    assert_contains(run.log, "vocabulary: 5 source and 5 target words");
    end_run(&run);
}

static void empty_validation_lines_are_counted(void **state)
{
    (void)state;
    char source[600], target[600];
    training_run run;
    snprintf(source, sizeof source, "data.validation_source=%s", support_write("holes.src", "s1\n\ns2 s3\n"));
    snprintf(target, sizeof target, "data.validation_target=%s", support_write("holes.tgt", "t1\nt2\nt3 t2\n"));
    train_anew(&run, SETTINGS(source, target, "training.epochs=1", "validation.bleu=true"));
    assert_contains(run.log, "validation text: 2 pairs; left out of the loss: 1 with an empty side");
    end_run(&run);
}

static void unknown_words_are_counted(void **state)
{
    (void)state;
    char texts[4][600];
    training_run run;
    snprintf(texts[0], sizeof texts[0], "data.train_source=%s", support_write("rare.src", "a a b\na a\n"));
    snprintf(texts[1], sizeof texts[1], "data.train_target=%s", support_write("rare.tgt", "x x x\nx x z y y\n"));
    snprintf(texts[2], sizeof texts[2], "data.validation_source=%s", support_write("held.src", "a b\n<s>\n"));
    snprintf(texts[3], sizeof texts[3], "data.validation_target=%s", support_write("held.tgt", "x y\ny x\n"));
    train_anew(&run,
               SETTINGS(texts[0], texts[1], texts[2], texts[3], "vocabulary.minimum_count=2", "training.epochs=1"));
    assert_contains(run.log,
                    "training text: 20.00 % of source tokens and 12.50 % of target tokens are out of vocabulary");
    assert_contains(run.log,
                    "validation text: 66.67 % of source tokens and 0.00 % of target tokens are out of vocabulary");
    end_run(&run);
}

static void the_log_names_what_the_run_is(void **state)
{
    (void)state;
    char expected[128];
    training_run run;
    train_anew(&run, SETTINGS("training.seed=77", "training.threads=2", "training.epochs=1"));
    nmt_model *model = load_model();
    snprintf(expected, sizeof expected, "model: %zu parameters; loss normalised per target token; seed 77, 2 threads",
             nmt_model_parameter_count(model));
    assert_contains(run.log, expected);
    assert_contains(run.log, "done: 4 updates in ");
    assert_contains(run.log, run_path("model.safetensors"));
    nmt_model_free(model);
    end_run(&run);
}

static void a_new_run_starts_a_new_log(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    train(&run, false, SETTINGS("training.epochs=1"));
    assert_trained(&run);
    assert_int_equal(count_events(), 1);
    end_run(&run);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static void a_start_that_fails_leaves_the_log_of_the_run_before(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS(NULL));
    end_run(&run);
    train(&run, false, SETTINGS("data.train_source=/nonexistent/text"));
    assert_fails(&run, NMT_IO);
    assert_contains(run.error.message, "/nonexistent/text");
    assert_int_equal(count_events(), 3);
    end_run(&run);
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    char setting[600];
    training_run run = {0};
    support_write("file", "");
    snprintf(setting, sizeof setting, "output.directory=%s/run", support_path("file"));
    train(&run, false, SETTINGS(setting));
    assert_fails(&run, NMT_IO);
    assert_contains(run.error.message, support_path("file"));
    assert_int_equal(run.updates, 0);
    snprintf(setting, sizeof setting, "output.directory=%s", support_path("file"));
    train(&run, false, SETTINGS(setting));
    assert_fails(&run, NMT_IO);
    assert_contains(run.error.message, support_path("file"));
    end_run(&run);
}

static void directories_are_made_with_their_parents(void **state)
{
    (void)state;
    char setting[600];
    training_run run = {0};
    snprintf(setting, sizeof setting, "output.directory=%s", support_path("deep/er"));
    train(&run, false, SETTINGS(setting, "training.epochs=1"));
    assert_trained(&run);
    assert_int_equal(unlink(support_path("deep/er/model.safetensors")), 0);
    assert_int_equal(unlink(support_path("deep/er/last.state")), 0);
    assert_int_equal(unlink(support_path("deep/er/log.jsonl")), 0);
    assert_int_equal(unlink(support_path("deep/er/curves.svg")), 0);
    assert_int_equal(rmdir(support_path("deep/er")), 0);
    assert_int_equal(rmdir(support_path("deep")), 0);
    end_run(&run);
}

static void files_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    static const char *const names[] = {"run/model.safetensors", "run/last.state", "run/log.jsonl"};
    for (size_t i = 0; i < 3; i++) {
        training_run run;
        char kept[64];
        train_anew(&run, SETTINGS("training.epochs=1"));
        end_run(&run);
        unlink(support_path(names[i]));
        assert_int_equal(mkdir(support_path(names[i]), 0777), 0);
        snprintf(kept, sizeof kept, "%s/kept", names[i]);
        support_write(kept, "");
        train(&run, false, SETTINGS("training.epochs=1"));
        assert_fails(&run, NMT_IO);
        assert_contains(run.error.message, support_path(names[i]));
        unlink(support_path(kept));
        rmdir(support_path(names[i]));
        end_run(&run);
    }
}

static void a_configuration_without_text_is_an_error(void **state)
{
    (void)state;
    json *object;
    nmt_config *config;
    nmt_error error;
    assert_int_equal(json_parse(&object, "{}", 2, "x", &error), NMT_OK);
    assert_int_equal(config_from_json(&config, object, "x", &error), NMT_OK);
    json_free(object);
    assert_int_equal(nmt_train(config, NULL, NULL, &error), NMT_INVALID);
    assert_contains(error.message, "data.train_source");
    nmt_config_free(config);
}

/* ---- numbers that are not finite -------------------------------------------------------------------------------- */

/* A run's files before it fails, which it must leave as they are. */
typedef struct good_files {
    file_bytes model, state;
} good_files;

static good_files remember_files(void)
{
    return (good_files){read_bytes(run_path("model.safetensors")), read_bytes(run_path("last.state"))};
}

static void assert_files_intact(good_files *before)
{
    good_files now = remember_files();
    assert_true(before->model.bytes == NULL ? now.model.bytes == NULL : same_bytes(before->model, now.model));
    assert_true(same_bytes(before->state, now.state));
    free(now.model.bytes);
    free(now.state.bytes);
    free(before->model.bytes);
    free(before->state.bytes);
}

/* A stretch of a tensor, element `first` and `count - 1` more at a distance of `stride`: start, start + step, ... */
typedef struct poison {
    const char *tensor; /* NULL: all parameters */
    size_t first, count, stride;
    double start, step;
} poison;

static void spread(real *block, const parameter_table *table, const poison *with)
{
    for (size_t t = 0; t < table->count && with->tensor != NULL; t++) {
        if (strcmp(table->tensors[t].name, with->tensor) == 0) {
            assert_true(with->first + (with->count - 1) * with->stride < tensor_size(&table->tensors[t]));
            block += table->tensors[t].offset;
        }
    }
    for (size_t i = 0; i < (with->tensor != NULL ? with->count : table->size); i++) {
        block[with->first + i * with->stride] = (real)(with->start + with->step * (double)i);
    }
}

/* Rewrites the parameters in the state of a run by SGD without momentum. `model` tells where they stand. */
static void poison_state(const nmt_model *model, const poison *with, size_t count)
{
    const parameter_table *table = &model->parameters;
    const char *path = run_path("last.state");
    real *block = malloc(table->size * sizeof *block);
    const state_block parameters = {.name = "parameters", .values = block};
    json *fields;
    nmt_error error;
    assert_int_equal(checkpoint_load_state(path, &fields, &parameters, 1, table->size, &error), NMT_OK);
    for (size_t i = 0; i < count; i++) {
        spread(block, table, &with[i]);
    }
    assert_int_equal(checkpoint_save_state(path, fields, &parameters, 1, table->size, &error), NMT_OK);
    json_free(fields);
    free(block);
}

/* Goes on from the poisoned state, and fails without another word to the files. */
static void go_on_to_fail(training_run *run, const char *const *settings)
{
    good_files before = remember_files();
    train(run, true, settings);
    assert_fails(run, NMT_NOT_FINITE);
    assert_files_intact(&before);
}

/* Makes the loss of a sentence infinite where the decoder reads `word`; the rest stays as it was, nearly. */
static void poison_word(const char *word)
{
    nmt_model *model = load_model();
    const size_t number = (size_t)vocabulary_find(model->target_words, word, strlen(word));
    const poison with[] = {{"decoder.embedding.weight", number * 4, 4, 1, 3e38, 0},
                           {"readout.output.weight", 0, 4 + 6 + 2 * 3, 1, 2, 0}};
    assert_int_not_equal(number, TOKEN_UNKNOWN);
    poison_state(model, with, 2);
    nmt_model_free(model);
}

/* Target word 5 stands in line 4 alone, and that is in the second batch of three. */
static void a_loss_that_is_not_finite_names_update_and_lines(void **state)
{
    (void)state;
    training_run run;
    const char *const *settings =
        SETTINGS("training.optimizer=sgd", "training.shuffle=false", "training.pool=1", "training.epochs=2");
    train_anew(&run,
               SETTINGS("training.optimizer=sgd", "training.shuffle=false", "training.pool=1", "training.epochs=1"));
    end_run(&run);
    poison_word("t5");
    go_on_to_fail(&run, settings);
    assert_int_equal(run.updates, 1);
    assert_contains(run.error.message, "update 6: ");
    assert_contains(run.error.message, "in the loss;");
    assert_contains(run.error.message, support_path("train.src"));
    assert_contains(run.error.message, run_path("model.safetensors"));
    unsigned lines[3];
    const char *list = strstr(run.error.message, "in the batch: ");
    assert_non_null(list);
    assert_int_equal(sscanf(list, "in the batch: %u, %u, %u;", &lines[0], &lines[1], &lines[2]), 3);
    assert_int_equal(lines[0] * lines[1] * lines[2], 4 * 5 * 6);
    assert_int_equal(lines[0] + lines[1] + lines[2], 4 + 5 + 6);
    end_run(&run);
}

static void many_lines_are_cut_short(void **state)
{
    (void)state;
    char text[200 * 3 + 1], source[600], target[600];
    training_run run;
    for (size_t i = 0; i < 200; i++) {
        memcpy(text + 3 * i, "s5\n", 4);
    }
    snprintf(source, sizeof source, "data.train_source=%s", support_write("many.src", text));
    snprintf(target, sizeof target, "data.train_target=%s", support_write("many.tgt", text));
    train_anew(&run, SETTINGS(source, target, "training.optimizer=sgd", "training.epochs=1", "training.batch_size=200",
                              "training.shuffle=false"));
    end_run(&run);
    nmt_model *model = load_model();
    poison_state(model, &(poison){NULL, 0, 0, 1, 3e38, 0}, 1);
    nmt_model_free(model);
    go_on_to_fail(&run, SETTINGS(source, target, "training.optimizer=sgd", "training.epochs=2",
                                 "training.batch_size=200", "training.shuffle=false"));
    assert_contains(run.error.message, "in the batch: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ");
    assert_contains(run.error.message, ", ...; ");
    assert_contains(run.error.message, run_path("model.safetensors"));
    end_run(&run);
}

/* The batch of target word 5 is left out in each epoch; the others go on being learned, and that again after a stop. */
static void a_batch_that_is_not_finite_can_be_left_out(void **state)
{
    (void)state;
    training_run run;
    const char *const *settings = SETTINGS("training.optimizer=sgd", "training.shuffle=false", "training.pool=1",
                                           "training.skip_not_finite=true", no_validation[0], no_validation[1]);
    const char *const *first =
        SETTINGS("training.optimizer=sgd", "training.shuffle=false", "training.pool=1", "training.skip_not_finite=true",
                 no_validation[0], no_validation[1], "training.epochs=1");
    train_anew(&run, first);
    assert_true(event_number(0, "skipped_batches") == 0);
    end_run(&run);
    poison_word("t5");
    file_bytes poisoned = read_bytes(run_path("last.state"));
    train(&run, true, settings);
    assert_trained(&run);
    assert_int_equal(run.updates, 6);
    assert_contains(run.log, "update 6: left out a batch, the 1. of this run: NaN or infinity in the loss; lines of ");
    assert_contains(run.log, "update 9: left out a batch, the 2. of this run: ");
    assert_true(event_number(1, "skipped_batches") == 1);
    assert_true(event_number(2, "skipped_batches") == 2);
    assert_true(event_number(2, "update") == 10);
    assert_true(isfinite(event_number(2, "train_loss")));
    end_run(&run);
    good_files whole = remember_files();
    for (uint64_t stop = 1; stop <= 6; stop++) {
        support_write_bytes("run/last.state", poisoned.bytes, poisoned.length);
        run.stop_after = stop;
        train(&run, true, settings);
        assert_fails(&run, NMT_INTERRUPTED);
        end_run(&run);
        train(&run, true, settings);
        assert_trained(&run);
        end_run(&run);
        good_files again = remember_files();
        assert_true(same_bytes(whole.model, again.model));
        assert_true(same_bytes(whole.state, again.state));
        free(again.model.bytes);
        free(again.state.bytes);
    }
    free(whole.model.bytes);
    free(whole.state.bytes);
    free(poisoned.bytes);
}

/* Leaving out whole epochs is no training: the run ends as it would without the option. */
static void leaving_out_everything_is_an_error(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.optimizer=sgd", "training.epochs=1", "training.skip_not_finite=true"));
    end_run(&run);
    nmt_model *model = load_model();
    poison_state(model, &(poison){NULL, 0, 0, 1, 3e38, 0}, 1);
    nmt_model_free(model);
    go_on_to_fail(&run, SETTINGS("training.optimizer=sgd", "training.epochs=9", "training.skip_not_finite=true"));
    assert_int_equal(run.updates, 0);
    assert_contains(run.log, "left out a batch, the 3. of this run");
    assert_lacks(run.log, "left out a batch, the 4. of this run");
    assert_contains(run.error.message, "update 5: expected finite numbers");
    end_run(&run);
}

/* The first column of the encoder's input reads zeros, so that its weights do not show in the loss. */
static void a_gradient_that_is_not_finite_names_its_tensor(void **state)
{
    (void)state;
    training_run run;
    train_anew(&run, SETTINGS("training.optimizer=sgd", "training.epochs=1"));
    end_run(&run);
    nmt_model *model = load_model();
    const size_t V = nmt_model_target_vocabulary_size(model), features = 4 + 6 + 2 * 3;
    const poison with[] = {
        {"encoder.embedding.weight", 0, nmt_model_source_vocabulary_size(model), 5, 0, 0},
        {"encoder.forward.weight_ih", 0, 9, 5, 3e38, 0},
        {"readout.output.weight", 0, V, features, 1e10, 1e10},
    };
    poison_state(model, with, 3);
    nmt_model_free(model);
    go_on_to_fail(&run, SETTINGS("training.optimizer=sgd", "training.epochs=2"));
    assert_contains(run.error.message, "update 5: ");
    assert_contains(run.error.message, "in the gradient of encoder.embedding.weight;");
    assert_contains(run.error.message, "in the batch: ");
    end_run(&run);
}

/*
 * All parameters 0 but the readout's of the decoder's state: the gradient of the decoder's biases is large, and an
 * unclipped step 1000 times as long leaves the range of single precision. `stop` asks to stop behind that step.
 */
static void check_overflow(const char *const *settings, uint64_t stop, bool saved)
{
    training_run run = {.stop_after = 1};
    remove_run();
    train(&run, false, settings);
    assert_fails(&run, NMT_INTERRUPTED);
    end_run(&run);
    nmt_config *config;
    nmt_model *model;
    vocabulary *source_words, *target_words;
    nmt_error error;
    static const char *const words[] = {"<unk>", "<s>", "</s>", "0", "1", "2", "3", "4", "5", "6"};
    assert_int_equal(nmt_config_load(&config, support_path("config.json"), NULL, 0, &error), NMT_OK);
    assert_int_equal(vocabulary_from_words(&source_words, words, 10, "x", &error), NMT_OK);
    assert_int_equal(vocabulary_from_words(&target_words, words, 10, "x", &error), NMT_OK);
    assert_int_equal(model_create(&model, config, source_words, target_words, &error), NMT_OK);
    const poison with[] = {{NULL, 0, 0, 1, 0, 0}, {"readout.output.weight", 0, 10, 4 + 6 + 2 * 3, 1e37, 1e37}};
    poison_state(model, with, 2);
    nmt_model_free(model);
    run.stop_after = stop;
    go_on_to_fail(&run, settings);
    assert_int_equal(run.updates, 1);
    assert_contains(run.error.message, "update 2: ");
    assert_contains(run.error.message, "in the parameters decoder.");
    assert_contains(run.error.message, saved ? "the last good model is as it was" : "no model of this run was saved");
    assert_contains(run.error.message, run_path("model.safetensors"));
    end_run(&run);
}

static void parameters_that_are_not_finite_reach_no_file(void **state)
{
    (void)state;
    check_overflow(
        SETTINGS("training.optimizer=sgd", "training.learning_rate=1000", "training.clip_norm=0", "validation.every=1"),
        0, true);
    check_overflow(SETTINGS("training.optimizer=sgd", "training.learning_rate=1000", "training.clip_norm=0",
                            "validation.every=1", no_validation[0], no_validation[1]),
                   0, true);
    check_overflow(SETTINGS("training.optimizer=sgd", "training.learning_rate=1000", "training.clip_norm=0"), 1, false);
}

/* A word that only the validation text has. */
static void a_validation_loss_that_is_not_finite_is_named(void **state)
{
    (void)state;
    char words[600], text[600];
    training_run run;
    snprintf(words, sizeof words, "vocabulary.target_file=%s",
             support_write("words", "t0\nt1\nt2\nt3\nt4\nt5\nt6\nt9\n"));
    snprintf(text, sizeof text, "data.validation_target=%s", support_write("held.tgt", "t9 t1\nt0\nt9\n"));
    train_anew(&run, SETTINGS(words, text, "training.optimizer=sgd", "training.epochs=1"));
    end_run(&run);
    poison_word("t9");
    go_on_to_fail(&run, SETTINGS(words, text, "training.optimizer=sgd", "training.epochs=2"));
    assert_int_equal(run.updates, 4);
    assert_contains(run.error.message, "update 8: expected a finite validation loss");
    assert_contains(run.error.message, "the last good model is as it was");
    assert_int_equal(count_events(), 1);
    end_run(&run);
}

/* Nothing but a rate that is far too large. What the run saved before it failed is a model. */
static void a_run_that_diverges_leaves_its_last_good_model(void **state)
{
    (void)state;
    training_run run = {0};
    remove_run();
    train(&run, false,
          SETTINGS("training.optimizer=sgd", "training.learning_rate=1000", "training.clip_norm=0",
                   "training.epochs=60", "validation.every=1"));
    assert_fails(&run, NMT_NOT_FINITE);
    assert_contains(run.error.message, "the last good model is as it was");
    file_bytes model = read_bytes(run_path("model.safetensors"));
    assert_true(same_bytes(model, run.model));
    free(model.bytes);
    end_run(&run);
    nmt_model *loaded = load_model();
    for (size_t i = 0; i < loaded->parameters.size; i++) {
        assert_true(isfinite(loaded->block[i]));
    }
    nmt_model_free(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(training_learns_the_text, remove_run_after),
        cmocka_unit_test_teardown(the_same_seed_gives_the_same_bytes, remove_run_after),
        cmocka_unit_test_teardown(another_seed_gives_another_model, remove_run_after),
        cmocka_unit_test_teardown(threads_change_rounding_at_the_most, remove_run_after),
        cmocka_unit_test_teardown(a_run_needs_no_observer, remove_run_after),
        cmocka_unit_test_teardown(progress_tells_every_update, remove_run_after),
        cmocka_unit_test_teardown(a_run_ends_with_its_last_update, remove_run_after),
        cmocka_unit_test_teardown(batches_are_counted_in_sentences_or_tokens, remove_run_after),
        cmocka_unit_test_teardown(the_loss_is_normalised_as_the_log_says, remove_run_after),
        cmocka_unit_test_teardown(an_update_moves_by_the_clipped_gradient, remove_run_after),
        cmocka_unit_test_teardown(dropout_draws_anew_for_each_update, remove_run_after),
        cmocka_unit_test_teardown(validation_loss_is_in_nats_per_target_token, remove_run_after),
        cmocka_unit_test_teardown(each_validation_is_an_event, remove_run_after),
        cmocka_unit_test_teardown(the_model_carries_its_history, remove_run_after),
        cmocka_unit_test_teardown(the_best_model_is_kept, remove_run_after),
        cmocka_unit_test_teardown(without_better_validations_patience_ends_the_run, remove_run_after),
        cmocka_unit_test_teardown(best_is_by_the_configured_metric, remove_run_after),
        cmocka_unit_test_teardown(without_validation_the_last_model_is_kept, remove_run_after),
        cmocka_unit_test_teardown(what_is_left_out_is_counted, remove_run_after),
        cmocka_unit_test_teardown(empty_validation_lines_are_counted, remove_run_after),
        cmocka_unit_test_teardown(unknown_words_are_counted, remove_run_after),
        cmocka_unit_test_teardown(the_log_names_what_the_run_is, remove_run_after),
        cmocka_unit_test_teardown(a_new_run_starts_a_new_log, remove_run_after),
        cmocka_unit_test_teardown(a_start_that_fails_leaves_the_log_of_the_run_before, remove_run_after),
        cmocka_unit_test_teardown(a_directory_that_cannot_be_made_is_named, remove_run_after),
        cmocka_unit_test_teardown(directories_are_made_with_their_parents, remove_run_after),
        cmocka_unit_test_teardown(files_that_cannot_be_written_are_named, remove_run_after),
        cmocka_unit_test_teardown(a_configuration_without_text_is_an_error, remove_run_after),
        cmocka_unit_test_teardown(a_loss_that_is_not_finite_names_update_and_lines, remove_run_after),
        cmocka_unit_test_teardown(many_lines_are_cut_short, remove_run_after),
        cmocka_unit_test_teardown(a_batch_that_is_not_finite_can_be_left_out, remove_run_after),
        cmocka_unit_test_teardown(leaving_out_everything_is_an_error, remove_run_after),
        cmocka_unit_test_teardown(a_gradient_that_is_not_finite_names_its_tensor, remove_run_after),
        cmocka_unit_test_teardown(parameters_that_are_not_finite_reach_no_file, remove_run_after),
        cmocka_unit_test_teardown(a_validation_loss_that_is_not_finite_is_named, remove_run_after),
        cmocka_unit_test_teardown(a_run_that_diverges_leaves_its_last_good_model, remove_run_after)};
    return cmocka_run_group_tests(tests, training_setup, support_teardown);
}
