#include "train/run_notes.h"

#include <inttypes.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "core/quote.h"

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
    path_quotation directory;
    if (run->lock.unsupported) {
        run_log_line(&run->log, "%s: the file system has no locks: do not start a second run there",
                     quote_path(&directory, run->config->output.directory));
    }
    if (run->lock.dead != 0) {
        run_log_line(&run->log, "%s: taken over from process %ld, which is gone; unfinished files removed: %zu",
                     quote_path(&directory, run->config->output.directory), run->lock.dead, run->lock.removed);
    }
}

nmt_status run_notes_start(const trainer *run, nmt_error *error)
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
    if (run->state.update == 0) {
        pretrained_log(run->model, &run->coverage, log);
    }
    if (run->state.update > 0) {
        run_log_line(log, "resumed behind update %" PRIu64 ", in epoch %" PRIu64, run->state.update, run->state.epoch);
    }
    return NMT_OK;
}

void run_notes_end(const trainer *run)
{
    run_log_line(&run->log, "done: %" PRIu64 " updates in %.1f s, peak memory %.1f MB; model: %s", run->state.update,
                 trainer_clock() - run->started, (double)memory_peak() / (1 << 20),
                 quote_path(&(path_quotation){{0}}, run->model_path));
}
