#include "train/update.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/quote.h"
#include "train/average.h"
#include "train/clipping.h"
#include "train/schedule.h"
#include "train/weight_decay.h"

/* What is not finite (the loss, or the first tensor whose gradient is not), and the batch's lines. */
typedef struct finding {
    char text[900];
} finding;

static const char *find_fault(finding *found, const trainer *run, const uint32_t *pair, size_t count, double loss)
{
    const char *where = isfinite(loss) ? trainer_find_not_finite(run, run->gradient) : NULL;
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

/* The batches of one update: plan->start[first] .. plan->start[first + batches]. */
typedef struct portion {
    size_t first, batches;
    const uint32_t *pair;
    size_t count;   /* pairs */
    double divisor; /* of the summed loss */
} portion;

/* As one batch: what its loss is divided by are the tokens, or the sentences, of all of it. */
static portion next_portion(const trainer *run, const epoch_plan *plan)
{
    const size_t first = run->state.batch, left = plan->batches - first, most = run->config->training.accumulate;
    portion part = {.first = first, .batches = left < most ? left : most, .pair = plan->pair + plan->start[first]};
    part.count = plan->start[first + part.batches] - plan->start[first];
    part.divisor = (double)part.count; /* sentences; or each one's </s>, and then its words */
    for (size_t i = 0; i < part.count && run->config->training.loss_normalization == LOSS_PER_TOKEN; i++) {
        part.divisor += (double)corpus_target_length(run->pairs, part.pair[i]);
    }
    return part;
}

/* Loss and gradient over the portion; each batch has a number of its own for its random draws. */
static nmt_status accumulate(trainer *run, const epoch_plan *plan, const portion *part, batch_loss *sum,
                             nmt_error *error)
{
    const uint64_t draws = run->state.update * run->config->training.accumulate;
    *sum = (batch_loss){0};
    for (size_t i = 0; i < part->batches; i++) {
        const size_t begin = plan->start[part->first + i], end = plan->start[part->first + i + 1];
        batch_loss loss;
        TRY(loader_load(&run->loader, plan->pair + begin, end - begin, error));
        TRY(model_loss_and_gradient(run->model, &run->loader.batch, run->gradient, (real)(1 / part->divisor),
                                    draws + i + 1, &loss, error));
        sum->nats += loss.nats;
        sum->objective += loss.objective;
        sum->tokens += loss.tokens;
    }
    return NMT_OK;
}

/* The portion ends the run; or is left out, unless the whole epoch has been. */
static nmt_status not_finite(trainer *run, const epoch_plan *plan, const portion *part, const char *found,
                             nmt_error *error)
{
    run_state *state = &run->state;
    if (!run->config->training.skip_not_finite || state->skipped_in_a_row + part->batches >= plan->batches) {
        return error_set(error, NMT_NOT_FINITE, "update %" PRIu64 ": expected finite numbers, found %s; %s%s",
                         state->update + 1, found, trainer_last_good(run),
                         quote_path(&(path_quotation){{0}}, run->model_path));
    }
    memset(run->gradient, 0, run->model->parameters.size * sizeof *run->gradient);
    state->batch += part->batches;
    state->skipped += part->batches;
    state->skipped_in_a_row += part->batches;
    if (part->batches == 1) {
        run_log_line(&run->log, "update %" PRIu64 ": left out a batch, the %" PRIu64 ". of this run: %s",
                     state->update + 1, state->skipped, found);
    } else {
        run_log_line(&run->log, "update %" PRIu64 ": left out its %zu batches, now %" PRIu64 " in this run: %s",
                     state->update + 1, part->batches, state->skipped, found);
    }
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
    const double time = trainer_clock(), elapsed = time - run->reported;
    const double limit = run->config->training.max_updates > 0 ? (double)run->config->training.max_updates : INFINITY;
    const size_t n = run->config->training.accumulate;
    const size_t of_epoch = batches / n + (batches % n > 0);
    const double updates = fmin((double)run->config->training.epochs * (double)of_epoch, limit);
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

/* Where the run stands, of its epochs or of its updates, whichever end first. */
static schedule_position position(const trainer *run, const epoch_plan *plan)
{
    const run_state *state = &run->state;
    const size_t most = run->config->training.max_updates;
    const double epochs = (double)(state->epoch - 1) + (double)state->batch / (double)plan->batches;
    const double by_epochs = epochs / (double)run->config->training.epochs;
    const double by_updates = most > 0 ? (double)state->update / (double)most : 0;
    return (schedule_position){.update = state->update + 1,
                               .epoch = state->epoch,
                               .reductions = state->reductions,
                               .done = fmax(by_epochs, by_updates)};
}

/* Decay, step and average; clears the gradient. */
static void move(trainer *run, double norm, double rate)
{
    const nmt_config *config = run->config;
    const parameter_table *table = &run->model->parameters;
    real *block = run->model->block;
    weight_decay(block, table, rate * config->training.weight_decay);
    optimizer_update(&run->rule, block, run->gradient, rate, clipping_scale(norm, config->training.clip_norm));
    model_changed(run->model);
    run->state.update++;
    if (run->average != NULL) {
        average_follow(run->average, block, table->size, config->training.average_decay, run->state.update);
    }
}

nmt_status update_make(trainer *run, const epoch_plan *plan, nmt_error *error)
{
    run_state *state = &run->state;
    const double begun = trainer_clock();
    const schedule_position at = position(run, plan);
    const portion part = next_portion(run, plan);
    batch_loss loss;
    TRY(accumulate(run, plan, &part, &loss, error));
    pretrained_clear_frozen(&run->model->parameters, run->gradient);
    const double norm = gradient_norm(run->gradient, run->model->parameters.size);
    if (!isfinite(loss.nats) || !isfinite(norm)) {
        return not_finite(run, plan, &part, find_fault(&(finding){{0}}, run, part.pair, part.count, loss.nats), error);
    }
    state->learning_rate = learning_rate(run->config, &at);
    move(run, norm, state->learning_rate);
    state->batch += part.batches;
    state->skipped_in_a_row = 0;
    state->nats += loss.nats;
    state->tokens += (double)loss.tokens;
    run->update_seconds += trainer_clock() - begun;
    run->update_tokens += (double)loss.tokens;
    report(run, &loss, norm, state->learning_rate, plan->batches);
    return NMT_OK;
}
