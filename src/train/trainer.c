/*
 * A training run: open the text, make or resume a model, then make updates (update.c); now and then validate, keep the
 * best model and save the state (selection.c).
 */
#include "train/trainer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/cpu.h"
#include "core/io.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/quote.h"
#include "data/epoch.h"
#include "layers/init.h"
#include "train/clipping.h"
#include "train/run_curves.h"
#include "train/run_notes.h"
#include "train/selection.h"
#include "train/text.h"
#include "train/update.h"

double trainer_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

run_parts trainer_parts(trainer *run)
{
    return (run_parts){.model = run->model,
                       .rule = &run->rule,
                       .average = run->average,
                       .kept = &run->kept,
                       .training_fingerprint = corpus_summarise(run->pairs).fingerprint,
                       .validation_fingerprint =
                           run->validates ? corpus_summarise(run->validation.pairs).fingerprint : 0};
}

const char *trainer_last_good(const trainer *run)
{
    return run->state.has_best ? "the last good model is as it was: " : "no model of this run was saved yet in ";
}

const char *trainer_find_not_finite(const trainer *run, const real *block)
{
    for (size_t t = 0; t < run->model->parameters.count; t++) {
        const tensor *entry = &run->model->parameters.tensors[t];
        if (!isfinite(gradient_norm(block + entry->offset, tensor_size(entry)))) {
            return entry->name;
        }
    }
    return NULL;
}

/* ---- setting up ------------------------------------------------------------------------------------------------- */

static nmt_status set_threads(const nmt_config *config, nmt_error *error)
{
    const size_t threads = config->training.threads;
    return parallel_set_threads(threads > 0 ? threads : cpu_count(), error);
}

static optimizer_options optimizer_options_of(const nmt_config *config)
{
    return (optimizer_options){.kind = config->training.optimizer == OPTIMIZER_ADADELTA ? OPTIMIZE_ADADELTA
                                       : config->training.optimizer == OPTIMIZER_SGD    ? OPTIMIZE_SGD
                                                                                        : OPTIMIZE_ADAM,
                               .beta1 = config->training.beta1,
                               .beta2 = config->training.beta2,
                               .epsilon = config->training.epsilon,
                               .rho = config->training.rho,
                               .adadelta_epsilon = config->training.adadelta_epsilon,
                               .momentum = config->training.momentum};
}

/* Room for what is kept of the parameters besides themselves. */
static nmt_status make_averages(trainer *run, nmt_error *error)
{
    const size_t size = run->model->parameters.size;
    run->kept = (best_models){.capacity = run->config->output.average_best,
                              .size = size,
                              .higher_is_better = run->config->validation.metric == METRIC_BLEU};
    if (run->config->training.average_decay > 0) {
        TRY(memory_new(&run->average, size, sizeof(real), "the average of the parameters", error));
        memcpy(run->average, run->model->block, size * sizeof(real));
    }
    return NMT_OK;
}

static bool asked_to_stop(const nmt_train_observer *observer)
{
    return observer != NULL && observer->should_stop != NULL && observer->should_stop(observer->context);
}

/* The text and a model for it, without numbers yet. */
static nmt_status open_text(trainer *run, segmenters *by, nmt_error *error)
{
    vocabulary *source_words, *target_words;
    nmt_config *config;
    TRY(training_text_open(&run->pairs, &source_words, &target_words, run->config, by, error));
    const nmt_status copied = config_copy(&config, run->config, error);
    if (copied != NMT_OK) {
        vocabulary_free(source_words);
        vocabulary_free(target_words);
        return copied;
    }
    TRY(model_create(&run->model, config, source_words, target_words, error));
    const corpus_summary text = corpus_summarise(run->pairs);
    run->model->length_ratio = fmin((double)text.target_tokens / (double)text.source_tokens, MODEL_LENGTH_RATIO_LIMIT);
    const segmenters own = *by;
    *by = (segmenters){NULL, NULL};
    return model_segment(run->model, own, error);
}

static nmt_status make_model(trainer *run, bool resume, nmt_error *error)
{
    segmenters by;
    const bool learned = resume && run->config->segmentation.type == SEGMENT_PIECES;
    TRY(learned ? run_state_load_segmenters(&by, run->config, run->state_path, error)
                : training_segmenters(&by, run->config, error));
    const nmt_status status = open_text(run, &by, error);
    segmenters_free(&by);
    TRY(status);
    const nmt_config *config = run->model->config;
    const init_options init = {.glorot = config->initialization.weights == WEIGHT_INIT_GLOROT,
                               .scale = config->initialization.scale,
                               .orthogonal = config->initialization.recurrent == RECURRENT_INIT_ORTHOGONAL,
                               .seed = config->training.seed};
    TRY(init_parameters(run->model->block, &run->model->parameters, &init, error));
    pretrained_freeze(run->model);
    if (!resume) {
        TRY(pretrained_read(run->model, &run->coverage, error));
    }
    TRY(memory_new(&run->gradient, run->model->parameters.size, sizeof(real), "the gradient", error));
    TRY(make_averages(run, error));
    const optimizer_options options = optimizer_options_of(config);
    return optimizer_create(&run->rule, &options, run->model->parameters.size, error);
}

/* What comes is held against the best model, which nothing else has. */
static nmt_status check_best_model(const trainer *run, nmt_error *error)
{
    if (!run->state.has_best || access(run->model_path, R_OK) == 0) {
        return NMT_OK;
    }
    const int cause = errno;
    path_quotation model, state;
    return error_set(error, NMT_IO, "%s: the best model of the run that %s goes on with cannot be read: %s",
                     quote_path(&model, run->model_path), quote_path(&state, run->state_path), strerror(cause));
}

static nmt_status start_state(trainer *run, bool resume, nmt_error *error)
{
    if (resume) {
        const run_parts parts = trainer_parts(run);
        TRY(run_state_load(&run->state, &parts, run->state_path, error));
        return check_best_model(run, error);
    }
    run->state = (run_state){.epoch = 1, .history = json_new_array()};
    return run->state.history != NULL ? NMT_OK : error_set(error, NMT_NO_MEMORY, "out of memory: the history");
}

/* What is there already stays, unless the caller says otherwise. */
static nmt_status check_overwriting(const trainer *run, const nmt_train_options *options, nmt_error *error)
{
    const char *const paths[] = {run->model_path, run->state_path};
    struct stat facts;
    for (size_t i = 0; i < 2 && !options->resume && !options->overwrite; i++) {
        if (lstat(paths[i], &facts) == 0) {
            return error_set(error, NMT_INVALID,
                             "%s: is there already; resume its run (--resume) or overwrite it (--overwrite)",
                             quote_path(&(path_quotation){{0}}, paths[i]));
        }
        if (errno != ENOENT) {
            return io_failure(error, paths[i], "cannot be looked for", errno);
        }
    }
    return NMT_OK;
}

/* The output directory is this run's from here on. */
static nmt_status enter_directory(trainer *run, const nmt_train_options *options, nmt_error *error)
{
    const char *directory = run->config->output.directory;
    TRY(io_make_directories(directory, error));
    TRY(io_join(&run->model_path, directory, "model.safetensors", error));
    TRY(io_join(&run->state_path, directory, "last.state", error));
    TRY(run_lock_take(&run->lock, directory, error));
    return check_overwriting(run, options, error);
}

/* The log is opened last, so that a start that fails leaves that of the run before. The state of a run that is
 * overwritten goes as well: resumed beside the new run's first model it would seem to be of that run. */
static nmt_status open_log(trainer *run, bool resume, const nmt_train_observer *observer, nmt_error *error)
{
    TRY(run_log_open(&run->log, observer, run->config->output.directory, resume ? &run->state.update : NULL, error));
    if (!resume && unlink(run->state_path) != 0 && errno != ENOENT) {
        return io_failure(error, run->state_path, "cannot be removed", errno);
    }
    return NMT_OK;
}

static nmt_status set_up(trainer *run, const nmt_train_options *options, const nmt_train_observer *observer,
                         nmt_error *error)
{
    const nmt_config *config = run->config;
    TRY(set_threads(config, error));
    TRY(enter_directory(run, options, error));
    TRY(make_model(run, options->resume, error));
    run->loader = (loader){
        .pairs = run->pairs, .source_words = run->model->source_words, .target_words = run->model->target_words};
    run->validates = config->data.validation_source != NULL;
    if (run->validates) {
        TRY(validation_open(&run->validation, run->model, error));
    }
    TRY(start_state(run, options->resume, error));
    if (asked_to_stop(observer)) {
        return error_set(error, NMT_INTERRUPTED, "stopped before the first update; nothing was changed");
    }
    return open_log(run, options->resume, observer, error);
}

static void tear_down(trainer *run)
{
    validation_close(&run->validation);
    loader_free(&run->loader);
    optimizer_free(&run->rule);
    best_models_free(&run->kept);
    free(run->average);
    free(run->gradient);
    nmt_model_free(run->model);
    corpus_close(run->pairs);
    json_free(run->state.history);
    free(run->model_path);
    free(run->state_path);
    run_log_close(&run->log, NULL);
    run_lock_release(&run->lock);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static nmt_status stop_early(trainer *run, nmt_error *error)
{
    TRY(selection_check_parameters(run, error));
    TRY(selection_save_state(run, error));
    return error_set(error, NMT_INTERRUPTED,
                     "stopped behind update %" PRIu64 "; the state is saved in %s, --resume goes on", run->state.update,
                     quote_path(&(path_quotation){{0}}, run->state_path));
}

static bool has_all_updates(const trainer *run)
{
    const size_t most = run->config->training.max_updates;
    return most > 0 && run->state.update >= most;
}

/* The rest of the current epoch. */
static nmt_status run_epoch(trainer *run, const epoch_plan *plan, nmt_error *error)
{
    const size_t every = run->config->validation.every;
    while (run->state.batch < plan->batches && !run->state.finished && !has_all_updates(run)) {
        const uint64_t before = run->state.update;
        TRY(update_make(run, plan, error));
        const bool moved = run->state.update > before, last = run->state.batch == plan->batches;
        if (every > 0 ? moved && run->state.update % every == 0 : last) {
            TRY(selection_validate(run, error));
            TRY(selection_save_state(run, error));
        }
        if (asked_to_stop(run->log.observer)) {
            return stop_early(run, error);
        }
    }
    return NMT_OK;
}

static nmt_status run_epochs(trainer *run, nmt_error *error)
{
    const nmt_config *config = run->config;
    const epoch_options options = {.unit = config->training.batch_unit == BATCH_UNIT_TOKENS ? BATCH_TOKENS
                                                                                            : BATCH_SENTENCES,
                                   .batch_size = config->training.batch_size,
                                   .pool = config->training.pool,
                                   .shuffle = config->training.shuffle,
                                   .seed = config->training.seed};
    run_state *state = &run->state;
    while (state->epoch <= config->training.epochs && !state->finished) {
        epoch_plan plan;
        TRY(epoch_plan_create(&plan, run->pairs, &options, state->epoch, error));
        const nmt_status status = run_epoch(run, &plan, error);
        epoch_plan_free(&plan);
        TRY(status);
        if (state->epoch == config->training.epochs || state->finished || has_all_updates(run)) {
            break;
        }
        state->epoch++;
        state->batch = 0;
    }
    /* Updates behind the last validation count too. */
    if (state->tokens > 0) {
        TRY(selection_validate(run, error));
    }
    TRY(selection_save_state(run, error));
    return selection_finish(run, error);
}

nmt_status nmt_train(const nmt_config *config, const nmt_train_options *options, const nmt_train_observer *observer,
                     nmt_error *error)
{
    static const nmt_train_options none = {0};
    trainer run = {.config = config};
    options = options != NULL ? options : &none;
    if (options->resume && options->overwrite) {
        return error_set(error, NMT_INVALID, "a run can be resumed or overwritten, not both");
    }
    TRY(config_check_training(config, "the configuration", error));
    nmt_status status = set_up(&run, options, observer, error);
    if (status == NMT_OK) {
        run.started = run.reported = trainer_clock();
        run.resumed_updates = (double)run.state.update;
        status = run_notes_start(&run, error);
    }
    if (status == NMT_OK) {
        status = run_epochs(&run, error);
    }
    if (status == NMT_OK) {
        status = run_curves_save(run.state.history, config, error);
    }
    if (status == NMT_OK) {
        status = run_log_close(&run.log, error);
    }
    if (status == NMT_OK) {
        run_notes_end(&run);
    }
    tear_down(&run);
    return status;
}
