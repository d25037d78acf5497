/*
 * A training run: open the text, make or resume a model, then for each batch loss and gradient, clip, update; now and
 * then validate, keep the best model and save the state.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <nmt/train.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/io.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/quote.h"
#include "data/corpus.h"
#include "data/epoch.h"
#include "layers/init.h"
#include "model/checkpoint.h"
#include "train/clipping.h"
#include "train/loader.h"
#include "train/optimizer.h"
#include "train/run_curves.h"
#include "train/run_lock.h"
#include "train/run_log.h"
#include "train/run_state.h"
#include "train/schedule.h"
#include "train/text.h"
#include "train/validation.h"

typedef struct trainer {
    const nmt_config *config;
    run_lock lock;
    run_log log;
    char *model_path, *state_path;
    corpus *pairs;
    nmt_model *model;
    optimizer rule;
    real *gradient;
    loader loader;
    validation validation;
    bool validates;
    run_state state;

    /* For reports only; nothing that is computed depends on them. */
    double started, reported, reported_nats, reported_tokens;
    double update_seconds, update_tokens; /* of the updates since the last validation */
    double resumed_updates;
} trainer;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- setting up ------------------------------------------------------------------------------------------------- */

static nmt_status set_threads(const nmt_config *config, nmt_error *error)
{
    size_t threads = config->training.threads;
    if (threads == 0) {
        const long processors = sysconf(_SC_NPROCESSORS_ONLN);
        threads = processors > 0 ? (size_t)processors : 1;
    }
    return parallel_set_threads(threads, error);
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

static nmt_status make_model(trainer *run, vocabulary *source_words, vocabulary *target_words, nmt_error *error)
{
    nmt_config *config;
    const nmt_status copied = config_copy(&config, run->config, error);
    if (copied != NMT_OK) {
        vocabulary_free(source_words);
        vocabulary_free(target_words);
        return copied;
    }
    TRY(model_create(&run->model, config, source_words, target_words, error));
    const init_options init = {.glorot = config->initialization.weights == WEIGHT_INIT_GLOROT,
                               .scale = config->initialization.scale,
                               .orthogonal = config->initialization.recurrent == RECURRENT_INIT_ORTHOGONAL,
                               .seed = config->training.seed};
    TRY(init_parameters(run->model->block, &run->model->parameters, &init, error));
    TRY(memory_new(&run->gradient, run->model->parameters.size, sizeof(real), "the gradient", error));
    const optimizer_options options = optimizer_options_of(config);
    return optimizer_create(&run->rule, &options, run->model->parameters.size, error);
}

static nmt_status start_state(trainer *run, bool resume, nmt_error *error)
{
    if (resume) {
        return run_state_load(&run->state, run->model, &run->rule, corpus_summarise(run->pairs).fingerprint,
                              run->state_path, error);
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
    vocabulary *source_words, *target_words;
    TRY(set_threads(config, error));
    TRY(enter_directory(run, options, error));
    TRY(training_text_open(&run->pairs, &source_words, &target_words, config, error));
    TRY(make_model(run, source_words, target_words, error));
    run->loader = (loader){
        .pairs = run->pairs, .source_words = run->model->source_words, .target_words = run->model->target_words};
    run->validates = config->data.validation_source != NULL;
    if (run->validates) {
        TRY(validation_open(&run->validation, run->model, error));
    }
    TRY(start_state(run, options->resume, error));
    return open_log(run, options->resume, observer, error);
}

static void tear_down(trainer *run)
{
    validation_close(&run->validation);
    loader_free(&run->loader);
    optimizer_free(&run->rule);
    free(run->gradient);
    nmt_model_free(run->model);
    corpus_close(run->pairs);
    json_free(run->state.history);
    free(run->model_path);
    free(run->state_path);
    run_log_close(&run->log, NULL);
    run_lock_release(&run->lock);
}

/* ---- what the log says at the start and at the end -------------------------------------------------------------- */

static nmt_status log_unknown(const trainer *run, corpus *pairs, const char *what, nmt_error *error)
{
    double source, target;
    TRY(corpus_unknown_rates(pairs, run->model->source_words, run->model->target_words, &source, &target, error));
    run_log_line(&run->log, "%s: %.2f %% of source tokens and %.2f %% of target tokens are out of vocabulary", what,
                 100 * source, 100 * target);
    return NMT_OK;
}

static void log_lock(const trainer *run)
{
    if (run->lock.unsupported) {
        run_log_line(&run->log, "%s: the file system has no locks: do not start a second run there",
                     run->config->output.directory);
    }
    if (run->lock.dead != 0) {
        run_log_line(&run->log, "%s: taken over from process %ld, which is gone; unfinished files removed: %zu",
                     run->config->output.directory, run->lock.dead, run->lock.removed);
    }
}

static nmt_status log_start(const trainer *run, nmt_error *error)
{
    const run_log *log = &run->log;
    const corpus_summary text = corpus_summarise(run->pairs);
    log_lock(run);
    run_log_line(log,
                 "training text: %" PRIu64 " pairs, %" PRIu64 " source and %" PRIu64
                 " target tokens; left out: %" PRIu64 " with an empty side, %" PRIu64 " over %zu tokens",
                 text.kept, text.source_tokens, text.target_tokens, text.empty, text.too_long,
                 run->config->data.max_length);
    run_log_line(log, "vocabulary: %zu source and %zu target words with the three special entries",
                 vocabulary_size(run->model->source_words), vocabulary_size(run->model->target_words));
    TRY(log_unknown(run, run->pairs, "training text", error));
    if (run->validates) {
        const corpus_summary held_out = corpus_summarise(run->validation.pairs);
        run_log_line(log, "validation text: %" PRIu64 " pairs; left out of the loss: %" PRIu64 " with an empty side",
                     held_out.kept, held_out.empty);
        TRY(log_unknown(run, run->validation.pairs, "validation text", error));
    }
    run_log_line(log, "model: %zu parameters; loss normalised per %s; seed %" PRIu64 ", %zu threads",
                 run->model->parameters.size,
                 run->config->training.loss_normalization == LOSS_PER_SENTENCE ? "sentence" : "target token",
                 run->config->training.seed, parallel_threads());
    if (run->state.update > 0) {
        run_log_line(log, "resumed behind update %" PRIu64 ", in epoch %" PRIu64, run->state.update, run->state.epoch);
    }
    return NMT_OK;
}

static void log_end(const trainer *run)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    run_log_line(&run->log, "done: %" PRIu64 " updates in %.1f s, peak memory %.1f MB; model: %s", run->state.update,
                 now() - run->started, (double)usage.ru_maxrss / 1024, run->model_path);
}

/* ---- validation, best model, saving ----------------------------------------------------------------------------- */

static nmt_status save_state(const trainer *run, nmt_error *error)
{
    return run_state_save(&run->state, run->model, &run->rule, corpus_summarise(run->pairs).fingerprint,
                          run->state_path, error);
}

/* The model file carries the history up to the validation that chose it. */
static nmt_status save_model(const trainer *run, nmt_error *error)
{
    free(run->model->history);
    run->model->history = json_print(run->state.history, false);
    if (run->model->history == NULL) {
        return error_set(error, NMT_NO_MEMORY, "%s: out of memory: the history", run->model_path);
    }
    return checkpoint_save_model(run->model, run->model->block, run->model_path, error);
}

static nmt_status remember(trainer *run, const validation_result *result, nmt_error *error)
{
    const run_state *state = &run->state;
    json *entry = json_new_object();
    bool complete = entry != NULL && json_add(entry, "epoch", json_new_number((double)state->epoch)) &&
                    json_add(entry, "update", json_new_number((double)state->update)) &&
                    json_add(entry, "train_loss", json_new_number(state->nats / state->tokens));
    if (complete && run->config->training.skip_not_finite) {
        complete = json_add(entry, "skipped_batches", json_new_number((double)state->skipped));
    }
    if (complete && run->validates) {
        complete = json_add(entry, "validation_loss", json_new_number(result->loss)) &&
                   json_add(entry, "validation_perplexity", json_new_number(exp(result->loss)));
    }
    if (complete && run->validates && run->validation.bleu) {
        complete = json_add(entry, "validation_bleu", json_new_number(result->bleu));
    }
    json *event = complete ? json_copy(entry) : NULL;
    if (!complete || !json_append(state->history, entry)) {
        json_free(event);
        return error_set(error, NMT_NO_MEMORY, "out of memory: the history");
    }
    if (event != NULL) {
        json_add(event, "seconds", json_new_number(now() - run->started));
        json_add(event, "update_seconds", json_new_number(run->update_seconds));
        json_add(event, "update_tokens", json_new_number(run->update_tokens));
    }
    run->update_seconds = run->update_tokens = 0;
    return run_log_event(&run->log, event, error);
}

static bool is_better(const trainer *run, const validation_result *result)
{
    const bool bleu = run->config->validation.metric == METRIC_BLEU;
    const double metric = bleu ? result->bleu : result->loss;
    if (!run->validates || !run->state.has_best) {
        return true;
    }
    return bleu ? metric > run->state.best : metric < run->state.best;
}

static void log_validation(const trainer *run, const validation_result *result, bool better, double seconds)
{
    const run_state *state = &run->state;
    const double loss = state->nats / state->tokens;
    if (!run->validates) {
        run_log_line(&run->log, "epoch %" PRIu64 ", update %" PRIu64 ": training loss %.4f (perplexity %.2f)",
                     state->epoch, state->update, loss, exp(loss));
        return;
    }
    char bleu[32] = "";
    if (run->validation.bleu) {
        snprintf(bleu, sizeof bleu, ", BLEU %.2f", result->bleu);
    }
    run_log_line(&run->log,
                 "epoch %" PRIu64 ", update %" PRIu64 ": training loss %.4f (perplexity %.2f), validation loss %.4f "
                 "(perplexity %.2f)%s%s, %.1f s",
                 state->epoch, state->update, loss, exp(loss), result->loss, exp(result->loss), bleu,
                 better ? ", best so far" : "", seconds);
}

/* What a failed run says of the model file. */
static const char *last_good(const trainer *run)
{
    return run->state.has_best ? "the last good model is as it was: " : "no model of this run was saved yet in ";
}

/* The tensor of a block laid out as the parameters that holds NaN or infinity; NULL when all of it is finite. */
static const char *find_not_finite(const trainer *run, const real *block)
{
    for (size_t t = 0; t < run->model->parameters.count; t++) {
        const tensor *entry = &run->model->parameters.tensors[t];
        if (!isfinite(gradient_norm(block + entry->offset, tensor_size(entry)))) {
            return entry->name;
        }
    }
    return NULL;
}

/* The update itself may leave the range of numbers, and nothing but numbers may reach the files. */
static nmt_status check_parameters(const trainer *run, nmt_error *error)
{
    const char *where = find_not_finite(run, run->model->block);
    return where == NULL ? NMT_OK
                         : error_set(error, NMT_NOT_FINITE,
                                     "update %" PRIu64 ": expected finite numbers, found NaN or infinity in the "
                                     "parameters %s; %s%s",
                                     run->state.update, where, last_good(run),
                                     quote_path(&(path_quotation){{0}}, run->model_path));
}

static nmt_status validate(trainer *run, nmt_error *error)
{
    run_state *state = &run->state;
    validation_result result = {0};
    const double begun = now();
    TRY(check_parameters(run, error));
    if (run->validates) {
        TRY(validation_run(&run->validation, run->model, &result, error));
        if (!isfinite(result.loss)) {
            return error_set(error, NMT_NOT_FINITE,
                             "update %" PRIu64 ": expected a finite validation loss, found NaN or infinity; %s%s",
                             state->update, last_good(run), quote_path(&(path_quotation){{0}}, run->model_path));
        }
    }
    TRY(remember(run, &result, error));
    const bool better = is_better(run, &result);
    log_validation(run, &result, better, now() - begun);
    state->nats = state->tokens = 0;
    if (better) {
        state->has_best = true;
        state->best = run->config->validation.metric == METRIC_BLEU ? result.bleu : result.loss;
        state->without_better = 0;
        TRY(save_model(run, error));
    } else {
        state->without_better++;
    }
    const size_t patience = run->config->validation.patience;
    if (patience > 0 && state->without_better >= patience) {
        state->finished = true;
        run_log_line(&run->log, "stopping: %" PRIu64 " validations without a better one", state->without_better);
    }
    return NMT_OK;
}

/* ---- updates ---------------------------------------------------------------------------------------------------- */

/* What is not finite (the loss, or the first tensor whose gradient is not), and the batch's lines. */
typedef struct finding {
    char text[900];
} finding;

static const char *find_fault(finding *found, const trainer *run, const uint32_t *pair, size_t count, double loss)
{
    const char *where = isfinite(loss) ? find_not_finite(run, run->gradient) : NULL;
    char lines[256] = "";
    size_t used = 0, listed = 0;
    for (; listed < count && used < sizeof lines - 32; listed++) {
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%" PRIu64, listed > 0 ? ", " : "",
                                 corpus_line(run->pairs, pair[listed]));
    }
    snprintf(found->text, sizeof found->text, "NaN or infinity in %s%s; lines of %s in the batch: %s%s",
             where != NULL ? "the gradient of " : "the loss", where != NULL ? where : "",
             quote_path(&(path_quotation){{0}}, run->config->data.train_source), lines, listed < count ? ", ..." : "");
    return found->text;
}

/* The batch ends the run; or is left out, unless the whole epoch has been. */
static nmt_status not_finite(trainer *run, const epoch_plan *plan, const char *found, nmt_error *error)
{
    run_state *state = &run->state;
    if (!run->config->training.skip_not_finite || state->skipped_in_a_row + 1 >= plan->batches) {
        return error_set(error, NMT_NOT_FINITE, "update %" PRIu64 ": expected finite numbers, found %s; %s%s",
                         state->update + 1, found, last_good(run), quote_path(&(path_quotation){{0}}, run->model_path));
    }
    memset(run->gradient, 0, run->model->parameters.size * sizeof *run->gradient);
    state->batch++;
    state->skipped++;
    state->skipped_in_a_row++;
    run_log_line(&run->log, "update %" PRIu64 ": left out a batch, the %" PRIu64 ". of this run: %s", state->update + 1,
                 state->skipped, found);
    return NMT_OK;
}

static void report(trainer *run, const batch_loss *loss, double norm, double rate, size_t batches)
{
    const nmt_train_observer *observer = run->log.observer;
    run->reported_nats += loss->nats;
    run->reported_tokens += (double)loss->tokens;
    if (observer == NULL || observer->progress == NULL) {
        return;
    }
    const run_state *state = &run->state;
    const double time = now(), elapsed = time - run->reported;
    const double limit = run->config->training.max_updates > 0 ? (double)run->config->training.max_updates : INFINITY;
    const double updates = fmin((double)run->config->training.epochs * (double)batches, limit);
    const double done = (double)state->update - run->resumed_updates;
    const nmt_progress progress = {.epoch = state->epoch,
                                   .epochs = run->config->training.epochs,
                                   .update = state->update,
                                   .updates = (uint64_t)updates,
                                   .loss = run->reported_nats / run->reported_tokens,
                                   .tokens_per_second = elapsed > 0 ? run->reported_tokens / elapsed : 0,
                                   .gradient_norm = norm,
                                   .learning_rate = rate,
                                   .seconds_left = (time - run->started) / done * (updates - (double)state->update)};
    observer->progress(observer->context, &progress);
    if (elapsed > 10) {
        run->reported = time;
        run->reported_nats = run->reported_tokens = 0;
    }
}

static nmt_status update(trainer *run, const epoch_plan *plan, size_t index, nmt_error *error)
{
    const nmt_config *config = run->config;
    const uint32_t *pair = plan->pair + plan->start[index];
    const size_t count = plan->start[index + 1] - plan->start[index];
    const double begun = now();
    const double rate = learning_rate(config->training.learning_rate, config->training.halve_every, run->state.epoch);
    TRY(loader_load(&run->loader, pair, count, error));
    const batch *pairs = &run->loader.batch;
    const double units =
        config->training.loss_normalization == LOSS_PER_SENTENCE ? (double)count : (double)pairs->input.tokens;
    batch_loss loss;
    TRY(model_loss_and_gradient(run->model, pairs, run->gradient, (real)(1 / units), run->state.update + 1, &loss,
                                error));
    const double norm = gradient_norm(run->gradient, run->model->parameters.size);
    if (!isfinite(loss.nats) || !isfinite(norm)) {
        return not_finite(run, plan, find_fault(&(finding){{0}}, run, pair, count, loss.nats), error);
    }
    optimizer_update(&run->rule, run->model->block, run->gradient, rate,
                     clipping_scale(norm, config->training.clip_norm));
    run->state.update++;
    run->state.batch++;
    run->state.skipped_in_a_row = 0;
    run->state.nats += loss.nats;
    run->state.tokens += (double)loss.tokens;
    run->update_seconds += now() - begun;
    run->update_tokens += (double)loss.tokens;
    report(run, &loss, norm, rate, plan->batches);
    return NMT_OK;
}

static bool asked_to_stop(const trainer *run)
{
    const nmt_train_observer *observer = run->log.observer;
    return observer != NULL && observer->should_stop != NULL && observer->should_stop(observer->context);
}

static nmt_status stop_early(const trainer *run, nmt_error *error)
{
    TRY(check_parameters(run, error));
    TRY(save_state(run, error));
    return error_set(error, NMT_INTERRUPTED, "stopped behind update %" PRIu64 "; resume from %s", run->state.update,
                     run->state_path);
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
        TRY(update(run, plan, run->state.batch, error));
        const bool moved = run->state.update > before, last = run->state.batch == plan->batches;
        if (every > 0 ? moved && run->state.update % every == 0 : last) {
            TRY(validate(run, error));
            TRY(save_state(run, error));
        }
        if (asked_to_stop(run)) {
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
        TRY(validate(run, error));
    }
    return save_state(run, error);
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
        run.started = run.reported = now();
        run.resumed_updates = (double)run.state.update;
        status = log_start(&run, error);
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
        log_end(&run);
    }
    tear_down(&run);
    return status;
}
