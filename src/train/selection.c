#include "train/selection.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/quote.h"
#include "model/checkpoint.h"

nmt_status selection_save_state(trainer *run, nmt_error *error)
{
    const run_parts parts = trainer_parts(run);
    return run_state_save(&run->state, &parts, run->state_path, error);
}

/* The parameters that are validated and kept: those that are learned, or their average. */
static real *chosen_block(const trainer *run)
{
    return run->average != NULL ? run->average : run->model->block;
}

/* The model file carries the history up to the validation that chose it. */
static nmt_status save_model(const trainer *run, const json *history, const real *block, nmt_error *error)
{
    free(run->model->history);
    run->model->history = json_print(history, false);
    if (run->model->history == NULL) {
        return error_set(error, NMT_NO_MEMORY, "%s: out of memory: the history", run->model_path);
    }
    return checkpoint_save_model(run->model, block, run->model_path, error);
}

static bool add_result(const trainer *run, json *entry, const validation_result *result)
{
    return json_add(entry, "validation_loss", json_new_number(result->loss)) &&
           json_add(entry, "validation_perplexity", json_new_number(exp(result->loss))) &&
           (!run->validation.bleu || json_add(entry, "validation_bleu", json_new_number(result->bleu)));
}

/* Model and state hold the last so many validations, all that reading them again allows; the log holds all. */
enum { HISTORY_LIMIT = 100000 };

static nmt_status remember(trainer *run, const validation_result *result, nmt_error *error)
{
    const run_state *state = &run->state;
    json *entry = json_new_object();
    bool complete = entry != NULL && json_add(entry, "epoch", json_new_number((double)state->epoch)) &&
                    json_add(entry, "update", json_new_number((double)state->update)) &&
                    json_add(entry, "train_loss", json_new_number(state->nats / state->tokens)) &&
                    json_add(entry, "learning_rate", json_new_number(state->learning_rate));
    if (complete && run->config->training.skip_not_finite) {
        complete = json_add(entry, "skipped_batches", json_new_number((double)state->skipped));
    }
    if (complete && run->validates) {
        complete = add_result(run, entry, result);
    }
    json *event = complete ? json_copy(entry) : NULL;
    if (!complete || !json_append(state->history, entry)) {
        json_free(event);
        return error_set(error, NMT_NO_MEMORY, "out of memory: the history");
    }
    if (json_count(state->history) > HISTORY_LIMIT) {
        json_drop_first(state->history);
    }
    if (event != NULL) {
        json_add(event, "seconds", json_new_number(trainer_clock() - run->started));
        json_add(event, "update_seconds", json_new_number(run->update_seconds));
        json_add(event, "update_tokens", json_new_number(run->update_tokens));
    }
    run->update_seconds = run->update_tokens = 0;
    return run_log_event(&run->log, event, error);
}

static double metric_of(const trainer *run, const validation_result *result)
{
    return run->config->validation.metric == METRIC_BLEU ? result->bleu : result->loss;
}

static bool is_better(const trainer *run, const validation_result *result)
{
    const double metric = metric_of(run, result);
    if (!run->validates || !run->state.has_best) {
        return true;
    }
    return run->config->validation.metric == METRIC_BLEU ? metric > run->state.best : metric < run->state.best;
}

/* "validation loss 1.0000 (perplexity 2.72), BLEU 30.00" */
typedef struct result_text {
    char text[160];
} result_text;

static const char *describe(result_text *to, const trainer *run, const validation_result *result)
{
    char bleu[32] = "";
    if (run->validation.bleu) {
        snprintf(bleu, sizeof bleu, ", BLEU %.2f", result->bleu);
    }
    snprintf(to->text, sizeof to->text, "validation loss %.4f (perplexity %.2f)%s", result->loss, exp(result->loss),
             bleu);
    return to->text;
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
    run_log_line(&run->log, "epoch %" PRIu64 ", update %" PRIu64 ": training loss %.4f (perplexity %.2f), %s%s, %.1f s",
                 state->epoch, state->update, loss, exp(loss), describe(&(result_text){{0}}, run, result),
                 better ? ", best so far" : "", seconds);
}

/* The update itself may leave the range of numbers, and nothing but numbers may reach the files. */
nmt_status selection_check_parameters(const trainer *run, nmt_error *error)
{
    const char *where = trainer_find_not_finite(run, run->model->block);
    return where == NULL ? NMT_OK
                         : error_set(error, NMT_NOT_FINITE,
                                     "update %" PRIu64 ": expected finite numbers, found NaN or infinity in the "
                                     "parameters %s; %s%s",
                                     run->state.update, where, trainer_last_good(run),
                                     quote_path(&(path_quotation){{0}}, run->model_path));
}

/* Measures `block` as the model's parameters. */
static nmt_status measure(trainer *run, real *block, validation_result *result, nmt_error *error)
{
    real *own = run->model->block;
    run->model->block = block;
    model_changed(run->model);
    const nmt_status status = validation_run(&run->validation, run->model, result, error);
    run->model->block = own;
    model_changed(run->model);
    TRY(status);
    return isfinite(result->loss)
               ? NMT_OK
               : error_set(error, NMT_NOT_FINITE,
                           "update %" PRIu64 ": expected a finite validation loss, found NaN or infinity; %s%s",
                           run->state.update, trainer_last_good(run),
                           quote_path(&(path_quotation){{0}}, run->model_path));
}

/* The plateau schedule's count of validations. */
static void watch_plateau(trainer *run, bool better)
{
    run_state *state = &run->state;
    state->on_plateau = better ? 0 : state->on_plateau + 1;
    if (run->config->training.schedule == SCHEDULE_PLATEAU &&
        state->on_plateau >= run->config->training.plateau_patience) {
        state->reductions++;
        state->on_plateau = 0;
        run_log_line(&run->log, "learning rate times %g: %zu validations without a better one",
                     run->config->training.plateau_factor, run->config->training.plateau_patience);
    }
}

static void watch_patience(trainer *run)
{
    const size_t patience = run->config->validation.patience;
    if (patience > 0 && run->state.without_better >= patience) {
        run->state.finished = true;
        run_log_line(&run->log, "stopping: %" PRIu64 " validations without a better one", run->state.without_better);
    }
}

nmt_status selection_validate(trainer *run, nmt_error *error)
{
    run_state *state = &run->state;
    validation_result result = {0};
    const double begun = trainer_clock();
    TRY(selection_check_parameters(run, error));
    if (run->validates) {
        TRY(measure(run, chosen_block(run), &result, error));
    }
    TRY(remember(run, &result, error));
    const bool better = is_better(run, &result);
    log_validation(run, &result, better, trainer_clock() - begun);
    state->nats = state->tokens = 0;
    state->without_better = better ? 0 : state->without_better + 1;
    if (better) {
        state->has_best = true;
        state->best = metric_of(run, &result);
        TRY(save_model(run, state->history, chosen_block(run), error));
    }
    TRY(best_models_offer(&run->kept, chosen_block(run), state->update, metric_of(run, &result), error));
    watch_plateau(run, better);
    watch_patience(run);
    return NMT_OK;
}

/* ---- the average of the best ------------------------------------------------------------------------------------ */

static nmt_status no_memory(nmt_error *error)
{
    return error_set(error, NMT_NO_MEMORY, "out of memory: the history");
}

/* What was known when the best model was saved, which may have made room for an average that is none any more. */
static nmt_status save_best_again(const trainer *run, nmt_error *error)
{
    json *history = json_new_array();
    bool complete = history != NULL;
    const json *entry = json_first(run->state.history);
    for (; entry != NULL && complete; entry = json_next(entry)) {
        if (json_number(json_get(entry, "update")) <= (double)run->kept.list[0].update) {
            complete = json_append(history, json_copy(entry));
        }
    }
    const nmt_status status = complete ? save_model(run, history, run->kept.list[0].block, error) : no_memory(error);
    json_free(history);
    return status;
}

static json *event_of_average(const trainer *run, const validation_result *result)
{
    json *event = json_new_object();
    const bool complete = event != NULL && json_add(event, "epoch", json_new_number((double)run->state.epoch)) &&
                          json_add(event, "update", json_new_number((double)run->state.update)) &&
                          json_add(event, "averaged", json_new_number((double)run->kept.count)) &&
                          add_result(run, event, result);
    if (!complete) {
        json_free(event);
        return NULL;
    }
    return event;
}

static nmt_status save_average(const trainer *run, const json *event, const real *mean, nmt_error *error)
{
    json *history = json_copy(run->state.history);
    const bool complete = history != NULL && json_append(history, json_copy(event));
    const nmt_status status = complete ? save_model(run, history, mean, error) : no_memory(error);
    json_free(history);
    return status;
}

static nmt_status judge_average(trainer *run, real *mean, nmt_error *error)
{
    validation_result result;
    best_models_mean(&run->kept, mean);
    TRY(measure(run, mean, &result, error));
    const bool better = is_better(run, &result);
    run_log_line(&run->log, "average of the best %zu: %s, %s", run->kept.count,
                 describe(&(result_text){{0}}, run, &result), better ? "which is kept" : "no better than the best");
    json *event = event_of_average(run, &result);
    if (event == NULL) {
        return no_memory(error);
    }
    const nmt_status status = better ? save_average(run, event, mean, error) : save_best_again(run, error);
    if (status != NMT_OK) {
        json_free(event);
        return status;
    }
    return run_log_event(&run->log, event, error);
}

nmt_status selection_finish(trainer *run, nmt_error *error)
{
    real *mean;
    if (run->kept.count < 2) {
        return NMT_OK;
    }
    TRY(memory_new(&mean, run->kept.size, sizeof *mean, "the average of the best models", error));
    const nmt_status status = judge_average(run, mean, error);
    free(mean);
    return status;
}
