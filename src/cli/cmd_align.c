/* nmt align: the attention weights over sentence pairs that are there already. Pairs are worked on window by window, so
 * that text of any size takes bounded memory. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/diagnostics.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/pairs.h"
#include "cli/result.h"

enum { WINDOW_BATCHES = 4 };

typedef struct align_options {
    text_list models;
    const char *source, *target, *output;
    size_t format;
    bool no_eos, shift;
    uint64_t batch_size, threads;
    diagnostics_options diagnostics;
} align_options;

static const size_t no_format = SIZE_MAX;

typedef struct align_job {
    nmt_model *model;
    pairs pairs;
    result output; /* not open where diagnostics take its place */
    diagnostics measures;
    bool shift;
    size_t batch_size;
    nmt_alignment *alignments; /* [pairs.most] */
} align_job;

/* Whether the diagnostics go to standard output, where the alignments would go. */
static bool diagnostics_take_output(const align_options *chosen)
{
    return chosen->diagnostics.path != NULL && command_path(chosen->diagnostics.path) == NULL && chosen->output == NULL;
}

/* What the table of options cannot say. */
static int check(const syntax *line, align_options *chosen)
{
    const char *const inputs[] = {chosen->source, chosen->target, chosen->diagnostics.gold};
    size_t standard_inputs = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        standard_inputs += inputs[i] != NULL && command_path(inputs[i]) == NULL;
    }
    if (standard_inputs > 1) {
        return chosen->diagnostics.gold == NULL
                   ? options_misuse(line, "--source and --target cannot both be standard input")
                   : options_misuse(line, "only one of --source, --target and --gold can be standard input");
    }
    if (diagnostics_take_output(chosen) && (chosen->format != no_format || chosen->no_eos)) {
        return options_misuse(line, "--%s is of the alignments, which --diagnostics - replaces without --output FILE",
                              chosen->no_eos ? "no-eos" : "format");
    }
    const output_file outputs[] = {{"the alignments", chosen->output}, {"--diagnostics", chosen->diagnostics.path}};
    const bool both = chosen->diagnostics.path != NULL && !diagnostics_take_output(chosen);
    const int misuse = outputs_check(line, outputs, both ? 2 : 1);
    chosen->diagnostics.shift = chosen->shift;
    return misuse != 0 ? misuse : diagnostics_check(line, &chosen->diagnostics);
}

static bool parse(align_options *chosen, int argc, char **argv, int *status)
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
         .required = true,
         .help = "its translation, as many lines (required)"},
        {.name = "output",
         .kind = OPTION_TEXT,
         .value = &chosen->output,
         .argument = "FILE",
         .help = "the alignments; default: standard output"},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &chosen->format,
         .argument = "FORMAT",
         .choices = alignment_format_names,
         .help = ALIGNMENT_FORMATS_HELP},
        {.name = "no-eos",
         .kind = OPTION_FLAG,
         .value = &chosen->no_eos,
         .help = "leave out the row and the column of </s>"},
        {.name = "shift",
         .kind = OPTION_FLAG,
         .value = &chosen->shift,
         .help =
             "read each target token from the row of the token behind it:\na row is chosen before its own token is"},
        DIAGNOSTICS_OPTIONS(&chosen->diagnostics),
        {.name = "gold",
         .kind = OPTION_TEXT,
         .value = &chosen->diagnostics.gold,
         .argument = "FILE",
         .help =
             "links i-j (sure) and ipj (possible), a line a pair: adds\nprecision, recall and AER to --diagnostics"},
        {.name = "swap-gold",
         .kind = OPTION_FLAG,
         .value = &chosen->diagnostics.swap_gold,
         .help = "the gold links name the target first"},
        BATCH_SIZE_OPTION(&chosen->batch_size, "pairs worked on together"),
        THREADS_OPTION(&chosen->threads),
    };
    const syntax line = {
        .command = "align",
        .usage = "--model FILE --source FILE --target FILE [OPTIONS]",
        .summary =
            "Writes how the model reads each source sentence while the given target sentence is fed in (teacher\n"
            "forcing): a weight for each target and source token.",
        .notes = ALIGNMENT_NOTES
        "\n\n" DIAGNOSTICS_NOTES "\n\n"
        "Diagnostics on standard output take the place of the alignments there. --shift moves rows of alignments\n"
        "and links; the measures of attention are those of the rows as they were.\n\n"
        "A FILE of - is standard input or output. Another output file appears whole or not at all.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (options_parse(&line, argc, argv, status)) {
        *status = check(&line, chosen);
        return *status == 0;
    }
    return false;
}

static nmt_status answer_pair(align_job *job, nmt_alignment *alignment, nmt_error *error)
{
    const nmt_status status = diagnostics_add(&job->measures, alignment, error);
    if (job->shift) {
        nmt_alignment_shift(alignment);
    }
    return status == NMT_OK && job->output.alignments != NULL
               ? nmt_alignment_writer_add(job->output.alignments, alignment, error)
               : status;
}

static nmt_status answer_window(align_job *job, nmt_error *error)
{
    const size_t count = job->pairs.source.window.count;
    nmt_status status =
        nmt_align(job->model, (const char *const *)job->pairs.source.window.lines,
                  (const char *const *)job->pairs.target.window.lines, count, job->batch_size, job->alignments, error);
    if (status != NMT_OK) {
        pairs_add_place(&job->pairs, error);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        if (status == NMT_OK) {
            status = answer_pair(job, &job->alignments[i], error);
        }
        nmt_alignment_clear(&job->alignments[i]);
    }
    pairs_clear(&job->pairs);
    if (status == NMT_OK) {
        status = result_flush(&job->measures.output, error);
    }
    return status == NMT_OK ? result_flush(&job->output, error) : status;
}

static nmt_status align_all(align_job *job, nmt_error *error)
{
    bool ended = false;
    while (!ended) {
        nmt_status status = pairs_fill(&job->pairs, &ended, error);
        if (status == NMT_OK && job->pairs.source.window.count > 0) {
            status = answer_window(job, error);
        }
        if (status != NMT_OK) {
            return status;
        }
    }
    return NMT_OK;
}

static nmt_status open_job(align_job *job, const align_options *chosen, nmt_error *error)
{
    nmt_status status = command_threads(chosen->threads, error);
    if (status == NMT_OK) {
        status = nmt_model_load_ensemble(&job->model, chosen->models.items, chosen->models.count, error);
    }
    if (status == NMT_OK) {
        status = pairs_open(&job->pairs, chosen->source, chosen->target, WINDOW_BATCHES * chosen->batch_size, error);
    }
    if (status == NMT_OK) {
        status = diagnostics_open(&job->measures, &chosen->diagnostics, error);
    }
    if (status == NMT_OK && !diagnostics_take_output(chosen)) {
        const size_t format = chosen->format != no_format ? chosen->format : NMT_ALIGNMENT_LONG;
        status = result_open_alignments(&job->output, command_path(chosen->output), format, !chosen->no_eos, error);
    }
    return status;
}

static int align(const align_options *chosen)
{
    nmt_error error;
    align_job job = {.shift = chosen->shift, .batch_size = chosen->batch_size};
    nmt_status status = open_job(&job, chosen, &error);
    if (status == NMT_OK) {
        job.alignments = calloc(job.pairs.most, sizeof *job.alignments);
        status = job.alignments != NULL ? align_all(&job, &error) : command_no_memory(&error);
    }
    status = diagnostics_close(&job.measures, status, &error);
    status = result_close(&job.output, status, &error);
    free(job.alignments);
    pairs_close(&job.pairs);
    nmt_model_free(job.model);
    return command_end("align", status, &error);
}

int cmd_align(int argc, char **argv)
{
    align_options chosen = {.format = no_format, .batch_size = 64, .diagnostics = DIAGNOSTICS_NO_OPTIONS};
    int status;
    if (parse(&chosen, argc, argv, &status)) {
        status = align(&chosen);
    }
    text_list_free(&chosen.models);
    return status;
}
