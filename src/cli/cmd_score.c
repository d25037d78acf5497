/* nmt score: how probable a model finds given translations, of sentence pairs or of the entries of an n-best list. Both
 * are worked on window by window, so that text of any size takes bounded memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/nbest.h"
#include "cli/options.h"
#include "cli/pairs.h"
#include "cli/result.h"
#include "cli/scores.h"

enum { WINDOW_BATCHES = 4 };

typedef struct score_options {
    text_list models;
    const char *source, *target, *nbest, *output, *feature;
    bool tokens;
    uint64_t batch_size, threads;
} score_options;

/* What scoring holds on to. */
typedef struct score_job {
    nmt_model *model;
    result output;
    pairs pairs;     /* with a list: source and list lines */
    line_list texts; /* with a list: the translations in its lines */
    line_list sources;
    const char *source, *list; /* names for messages */
    const char *source_line;   /* with a list: the one read last, borrowed from its reader */
    size_t source_length;
    const char *feature;
    bool tokens;
    size_t batch_size;
    nmt_pair_score *scores; /* [pairs.most] */
    size_t pair_count, token_count, unknown_count;
    double log_probability;
} score_job;

/* What the table of options cannot say. */
static int check(const syntax *line, const score_options *chosen)
{
    const char *other = chosen->nbest != NULL ? chosen->nbest : chosen->target;
    if ((chosen->target != NULL) == (chosen->nbest != NULL)) {
        return options_misuse(line, "expected one of --target and --nbest");
    }
    if (chosen->tokens && chosen->nbest != NULL) {
        return options_misuse(line, "option --tokens is of --target, an n-best list has a feature for each entry");
    }
    if (chosen->feature != NULL && chosen->nbest == NULL) {
        return options_misuse(line, "option --feature names what --nbest adds, which is missing");
    }
    if (chosen->feature != NULL && strpbrk(chosen->feature, " \t=|") != NULL) {
        return options_misuse(line, "option --feature: expected a name without space, '=' and '|', found '%s'",
                              chosen->feature);
    }
    if (command_path(chosen->source) == NULL && command_path(other) == NULL) {
        return options_misuse(line, "--source and --%s cannot both be standard input",
                              chosen->nbest != NULL ? "nbest" : "target");
    }
    return 0;
}

static bool parse(score_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        MODELS_OPTION(&chosen->models),
        {.name = "source",
         .kind = OPTION_TEXT,
         .value = &chosen->source,
         .argument = "FILE",
         .required = true,
         .help = "source text (required)"},
        {.name = "target",
         .kind = OPTION_TEXT,
         .value = &chosen->target,
         .argument = "FILE",
         .help = "its translation, as many lines"},
        {.name = "nbest",
         .kind = OPTION_TEXT,
         .value = &chosen->nbest,
         .argument = "FILE",
         .help = "or a list of translations, as translate --nbest writes them"},
        {.name = "output",
         .kind = OPTION_TEXT,
         .value = &chosen->output,
         .argument = "FILE",
         .help = "the scores; default: standard output"},
        {.name = "tokens",
         .kind = OPTION_FLAG,
         .value = &chosen->tokens,
         .help = "behind each log probability a tab and those of the target's tokens"},
        {.name = "feature",
         .kind = OPTION_TEXT,
         .value = &chosen->feature,
         .argument = "NAME",
         .help = "what --nbest calls the log probability; default: nmt"},
        BATCH_SIZE_OPTION(&chosen->batch_size, "pairs worked on together"),
        THREADS_OPTION(&chosen->threads),
    };
    const syntax line = {
        .command = "score",
        .usage = "--model FILE --source FILE (--target FILE | --nbest FILE) [OPTIONS]",
        .summary =
            "Writes the log probability (natural logarithm) of each target sentence given its source sentence: a\n"
            "line a pair. At the end it tells the perplexity of all target tokens, </s> among them.",
        .notes =
            "--nbest FILE is a list in the form of Moses, SENTENCE ||| TEXT ||| FEATURES ||| SCORE, whose\n"
            "sentences are lines of the source, counted from 0, and do not fall. It is written again with the log\n"
            "probability as one more feature; scores and order stay as they are. Text of a model that segments is\n"
            "cut as the model cuts it: the search may have found the same words in other pieces, or as <unk>, with\n"
            "another probability.\n\n"
            "A FILE of - is standard input or output. Another output file appears whole or not at all.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!options_parse(&line, argc, argv, status)) {
        return false;
    }
    *status = check(&line, chosen);
    return *status == 0;
}

/* ---- sentence pairs ------------------------------------------------------------------------------------------------
 */

static void write_pair(score_job *job, const nmt_pair_score *score)
{
    FILE *file = nmt_writer_file(job->output.writer);
    if (job->tokens) {
        scores_write_tokens(file, score->log_probability, score->token_log_probabilities, score->token_count);
    } else {
        scores_write(file, score->log_probability);
        putc('\n', file);
    }
    job->pair_count++;
    job->token_count += score->token_count;
    job->unknown_count += score->unknown_count;
    job->log_probability += score->log_probability;
}

static nmt_status score_window(score_job *job, const line_list *sources, const line_list *targets, nmt_error *error)
{
    return nmt_score(job->model, (const char *const *)sources->lines, (const char *const *)targets->lines,
                     sources->count, job->batch_size, job->scores, error);
}

static nmt_status answer_pairs(score_job *job, nmt_error *error)
{
    const size_t count = job->pairs.source.window.count;
    const nmt_status status = score_window(job, &job->pairs.source.window, &job->pairs.target.window, error);
    if (status != NMT_OK) {
        pairs_add_place(&job->pairs, error);
    }
    for (size_t i = 0; i < count && status == NMT_OK; i++) {
        write_pair(job, &job->scores[i]);
        nmt_pair_score_clear(&job->scores[i]);
    }
    pairs_clear(&job->pairs);
    return status == NMT_OK ? result_flush(&job->output, error) : status;
}

static nmt_status score_pairs(score_job *job, nmt_error *error)
{
    bool ended = false;
    while (!ended) {
        nmt_status status = pairs_fill(&job->pairs, &ended, error);
        if (status == NMT_OK && job->pairs.source.window.count > 0) {
            status = answer_pairs(job, error);
        }
        if (status != NMT_OK) {
            return status;
        }
    }
    return NMT_OK;
}

static void tell_summary(const score_job *job)
{
    const double tokens = job->token_count > 0 ? (double)job->token_count : 1;
    message("score", "%zu pair%s, %zu tokens with </s>, %zu of them unknown; log probability %.4f, perplexity %.4f",
            job->pair_count, job->pair_count == 1 ? "" : "s", job->token_count, job->unknown_count,
            job->log_probability, exp(-job->log_probability / tokens));
}

/* ---- n-best lists --------------------------------------------------------------------------------------------------
 */

/* Moves on to the source line of an entry, which is at the one in hand or behind it. */
static nmt_status find_source(score_job *job, size_t sentence, nmt_error *error)
{
    nmt_reader *reader = job->pairs.source.reader;
    const size_t line = nmt_reader_line(job->pairs.target.reader);
    if (job->source_line != NULL && sentence + 1 < nmt_reader_line(reader)) {
        error->status = NMT_INVALID;
        snprintf(error->message, sizeof error->message,
                 "%.400s:%zu: expected sentence %zu or one behind it, found sentence %zu", job->list, line,
                 nmt_reader_line(reader) - 1, sentence);
        return NMT_INVALID;
    }
    while (job->source_line == NULL || nmt_reader_line(reader) < sentence + 1) {
        const nmt_status status = nmt_reader_next(reader, &job->source_line, &job->source_length, error);
        if (status != NMT_OK) {
            return status;
        }
        if (job->source_line == NULL) {
            error->status = NMT_INVALID;
            snprintf(error->message, sizeof error->message,
                     "%.300s:%zu: sentence %zu (from 0) is not in %.300s, which has %zu line%s", job->list, line,
                     sentence, job->source, nmt_reader_line(reader), nmt_reader_line(reader) == 1 ? "" : "s");
            return NMT_INVALID;
        }
    }
    return NMT_OK;
}

static nmt_status take_entry(score_job *job, const char *line, size_t length, nmt_error *error)
{
    nbest_entry entry;
    nmt_status status = nbest_parse(&entry, line, length, job->list, nmt_reader_line(job->pairs.target.reader), error);
    if (status == NMT_OK && nbest_has_feature(line, &entry, job->feature)) {
        error->status = status = NMT_INVALID;
        snprintf(error->message, sizeof error->message,
                 "%.400s:%zu: expected no feature %.60s= yet, found one; --feature names another", job->list,
                 nmt_reader_line(job->pairs.target.reader), job->feature);
    }
    if (status == NMT_OK) {
        status = find_source(job, entry.sentence, error);
    }
    if (status == NMT_OK) {
        status = lines_add(&job->sources, job->source_line, job->source_length, error);
    }
    if (status == NMT_OK) {
        status = lines_add(&job->texts, entry.text, entry.text_length, error);
    }
    return status == NMT_OK ? lines_add(&job->pairs.target.window, line, length, error) : status;
}

static nmt_status answer_entries(score_job *job, nmt_error *error)
{
    const line_list *list = &job->pairs.target.window;
    const nmt_status status = score_window(job, &job->sources, &job->texts, error);
    if (status != NMT_OK) { /* a line of the list has its source's faults as well */
        command_add_place(error, job->list, job->list, nmt_reader_line(job->pairs.target.reader) - list->count + 1);
    }
    for (size_t i = 0; i < list->count && status == NMT_OK; i++) {
        nbest_entry entry;
        nbest_parse(&entry, list->lines[i], strlen(list->lines[i]), job->list, 0, error); /* a line that has passed */
        nbest_write_with(nmt_writer_file(job->output.writer), list->lines[i], &entry, job->feature,
                         job->scores[i].log_probability);
        nmt_pair_score_clear(&job->scores[i]);
    }
    lines_clear(&job->sources);
    lines_clear(&job->texts);
    pairs_clear(&job->pairs);
    return status == NMT_OK ? result_flush(&job->output, error) : status;
}

static nmt_status fill_entries(score_job *job, bool *ended, nmt_error *error)
{
    pair_side *list = &job->pairs.target;
    do {
        const char *line;
        size_t length;
        nmt_status status = lines_wait(list->reader, list->path, error);
        if (status == NMT_OK) {
            status = nmt_reader_next(list->reader, &line, &length, error);
        }
        if (status == NMT_OK && line == NULL) {
            *ended = true;
            return NMT_OK;
        }
        if (status == NMT_OK) {
            status = take_entry(job, line, length, error);
        }
        if (status != NMT_OK) {
            return status;
        }
    } while (lines_have_room(&list->window, job->pairs.most) && lines_have_room(&job->sources, job->pairs.most));
    return NMT_OK;
}

static nmt_status score_entries(score_job *job, nmt_error *error)
{
    bool ended = false;
    while (!ended) {
        nmt_status status = fill_entries(job, &ended, error);
        if (status == NMT_OK && job->sources.count > 0) {
            status = answer_entries(job, error);
        }
        if (status != NMT_OK) {
            return status;
        }
    }
    return NMT_OK;
}

/* ---- the command ---------------------------------------------------------------------------------------------------
 */

static nmt_status open_job(score_job *job, const score_options *chosen, nmt_error *error)
{
    nmt_status status = command_threads(chosen->threads, error);
    if (status == NMT_OK) {
        status = nmt_model_load_ensemble(&job->model, chosen->models.items, chosen->models.count, error);
    }
    if (status == NMT_OK) {
        status = pairs_open(&job->pairs, chosen->source, chosen->nbest != NULL ? chosen->nbest : chosen->target,
                            WINDOW_BATCHES * chosen->batch_size, error);
    }
    if (status == NMT_OK) {
        status = result_open(&job->output, command_path(chosen->output), error);
    }
    if (status == NMT_OK) {
        job->scores = calloc(job->pairs.most, sizeof *job->scores);
        status = job->scores != NULL ? NMT_OK : command_no_memory(error);
    }
    return status;
}

static int score(const score_options *chosen)
{
    nmt_error error;
    score_job job = {.source = command_input_name(chosen->source),
                     .list = command_input_name(chosen->nbest),
                     .feature = chosen->feature != NULL ? chosen->feature : "nmt",
                     .tokens = chosen->tokens,
                     .batch_size = chosen->batch_size};
    nmt_status status = open_job(&job, chosen, &error);
    if (status == NMT_OK) {
        status = chosen->nbest != NULL ? score_entries(&job, &error) : score_pairs(&job, &error);
    }
    status = result_close(&job.output, status, &error);
    if (status == NMT_OK && chosen->nbest == NULL) {
        tell_summary(&job);
    }
    free(job.scores);
    lines_free(&job.sources);
    lines_free(&job.texts);
    pairs_close(&job.pairs);
    nmt_model_free(job.model);
    return command_end("score", status, &error);
}

int cmd_score(int argc, char **argv)
{
    score_options chosen = {.batch_size = 64};
    int status;
    if (parse(&chosen, argc, argv, &status)) {
        status = score(&chosen);
    }
    text_list_free(&chosen.models);
    return status;
}
