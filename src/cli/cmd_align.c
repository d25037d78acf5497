/* nmt align: the attention weights over sentence pairs that are there already. Pairs are worked on window by window, so
 * that text of any size takes bounded memory. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/diagnostics.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/result.h"

enum { WINDOW_BATCHES = 4 };

typedef struct align_options {
    const char *model, *source, *target, *output;
    size_t format;
    bool no_eos, shift;
    uint64_t batch_size, threads;
    diagnostics_options diagnostics;
} align_options;

static const size_t no_format = SIZE_MAX;

/* One side of the pairs. */
typedef struct side {
    const char *path; /* NULL: standard input */
    nmt_reader *reader;
    line_list window;
} side;

typedef struct align_job {
    nmt_model *model;
    side source, target;
    result output; /* not open where diagnostics take its place */
    diagnostics measures;
    bool shift;
    size_t batch_size, window_lines;
    nmt_alignment *alignments; /* [window_lines] */
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
    if (chosen->diagnostics.path != NULL && command_path(chosen->diagnostics.path) == NULL && chosen->output != NULL &&
        command_path(chosen->output) == NULL) {
        return options_misuse(line, "--diagnostics - and --output - cannot both go to standard output");
    }
    if (diagnostics_take_output(chosen) && (chosen->format != no_format || chosen->no_eos)) {
        return options_misuse(line, "--%s is of the alignments, which --diagnostics - replaces without --output FILE",
                              chosen->no_eos ? "no-eos" : "format");
    }
    chosen->diagnostics.shift = chosen->shift;
    return diagnostics_check(line, &chosen->diagnostics);
}

static bool parse(align_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "model",
         .kind = OPTION_TEXT,
         .value = &chosen->model,
         .argument = "FILE",
         .required = true,
         .help = "the trained model (required)"},
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
         .help = "read each target token from the row of the token behind it,\nwhich was chosen with the token known"},
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
        {.name = "batch-size",
         .kind = OPTION_COUNT,
         .value = &chosen->batch_size,
         .argument = "N",
         .least = 1,
         .most = 4096,
         .help = "pairs worked on together; changes no result; default: 64"},
        {.name = "threads",
         .kind = OPTION_COUNT,
         .value = &chosen->threads,
         .argument = "N",
         .most = 1024,
         .help = "threads; default, and 0: one a processor"},
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

/* One side has ended before the other, of which the line in hand is the last one read. */
static nmt_status unequal_lines(align_job *job, bool source_ended, nmt_error *error)
{
    size_t rest;
    const nmt_status status = lines_count_rest(&rest, source_ended ? job->target.reader : job->source.reader, error);
    if (status != NMT_OK) {
        return status;
    }
    return command_unequal_lines(error, command_input_name(job->source.path), nmt_reader_line(job->source.reader),
                                 command_input_name(job->target.path), nmt_reader_line(job->target.reader));
}

static nmt_status read_line(side *from, const char **line, nmt_error *error)
{
    size_t length;
    nmt_status status = lines_wait(from->reader, from->path, error);
    if (status == NMT_OK) {
        status = nmt_reader_next(from->reader, line, &length, error);
    }
    return status == NMT_OK && *line != NULL ? lines_add(&from->window, *line, length, error) : status;
}

static bool window_goes_on(align_job *job)
{
    return lines_have_room(&job->source.window, job->window_lines) &&
           lines_have_room(&job->target.window, job->window_lines) && !nmt_reader_would_wait(job->source.reader) &&
           !nmt_reader_would_wait(job->target.reader);
}

static nmt_status fill_window(align_job *job, bool *ended, nmt_error *error)
{
    do {
        const char *source;
        const char *target;
        nmt_status status = read_line(&job->source, &source, error);
        if (status == NMT_OK) {
            status = read_line(&job->target, &target, error);
        }
        if (status != NMT_OK) {
            return status;
        }
        if ((source == NULL) != (target == NULL)) {
            return unequal_lines(job, source == NULL, error);
        }
        *ended = source == NULL;
    } while (!*ended && window_goes_on(job));
    return NMT_OK;
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
    const size_t count = job->source.window.count;
    nmt_status status =
        nmt_align(job->model, (const char *const *)job->source.window.lines,
                  (const char *const *)job->target.window.lines, count, job->batch_size, job->alignments, error);
    if (status != NMT_OK) {
        const size_t last = nmt_reader_line(job->source.reader);
        command_add_place(error, last - count + 1, last);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        if (status == NMT_OK) {
            status = answer_pair(job, &job->alignments[i], error);
        }
        nmt_alignment_clear(&job->alignments[i]);
    }
    lines_clear(&job->source.window);
    lines_clear(&job->target.window);
    if (status == NMT_OK) {
        status = result_flush(&job->measures.output, error);
    }
    return status == NMT_OK ? result_flush(&job->output, error) : status;
}

static nmt_status align_all(align_job *job, nmt_error *error)
{
    bool ended = false;
    while (!ended) {
        nmt_status status = fill_window(job, &ended, error);
        if (status == NMT_OK && job->source.window.count > 0) {
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
        status = nmt_model_load(&job->model, chosen->model, error);
    }
    if (status == NMT_OK) {
        status = nmt_reader_open(&job->source.reader, job->source.path, error);
    }
    if (status == NMT_OK) {
        status = nmt_reader_open(&job->target.reader, job->target.path, error);
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

static void close_side(side *from)
{
    nmt_reader_close(from->reader);
    lines_free(&from->window);
}

static int align(const align_options *chosen)
{
    nmt_error error;
    align_job job = {.source.path = command_path(chosen->source),
                     .target.path = command_path(chosen->target),
                     .shift = chosen->shift,
                     .batch_size = chosen->batch_size,
                     .window_lines = WINDOW_BATCHES * chosen->batch_size};
    nmt_status status = open_job(&job, chosen, &error);
    if (status == NMT_OK) {
        job.alignments = calloc(job.window_lines, sizeof *job.alignments);
        status = job.alignments != NULL ? align_all(&job, &error) : command_no_memory(&error);
    }
    status = diagnostics_close(&job.measures, status, &error);
    status = result_close(&job.output, status, &error);
    free(job.alignments);
    close_side(&job.source);
    close_side(&job.target);
    nmt_model_free(job.model);
    return command_end("align", status, &error);
}

int cmd_align(int argc, char **argv)
{
    align_options chosen = {.format = no_format, .batch_size = 64, .diagnostics = DIAGNOSTICS_NO_OPTIONS};
    int status;
    return parse(&chosen, argc, argv, &status) ? align(&chosen) : status;
}
