/*
 * nmt translate: text in, its translation out, line by line. Lines are read into a window that is answered when it is
 * full or when the next line would have to be waited for, so that memory is bounded and a conversation is not held up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/result.h"

enum { WINDOW_BATCHES = 4 };

typedef struct translate_options {
    const char *model, *input, *output, *alignment;
    size_t format;
    bool no_eos;
    uint64_t batch_size, threads;
    double max_length_ratio;
} translate_options;

/* What translating holds on to. */
typedef struct translate_job {
    nmt_model *model;
    nmt_reader *reader;
    const char *input;
    result output, alignments;
    nmt_translate_options options;
    line_list window;
    size_t window_lines;
    nmt_translation *translations; /* [window_lines] */
} translate_job;

static const size_t no_format = SIZE_MAX;

/* What the table of options cannot say. */
static int check(const syntax *line, const translate_options *chosen)
{
    const bool reports = chosen->alignment != NULL;
    if (!reports && (chosen->format != no_format || chosen->no_eos)) {
        return options_misuse(line, "option --%s says how to write --alignment, which is missing",
                              chosen->no_eos ? "no-eos" : "format");
    }
    if (reports && command_path(chosen->alignment) == NULL && command_path(chosen->output) == NULL) {
        return options_misuse(line, "--alignment - and the translations cannot both go to standard output");
    }
    return 0;
}

static bool parse(translate_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "model",
         .kind = OPTION_TEXT,
         .value = &chosen->model,
         .argument = "FILE",
         .required = true,
         .help = "the trained model (required)"},
        {.name = "input",
         .kind = OPTION_TEXT,
         .value = &chosen->input,
         .argument = "FILE",
         .help = "text to translate; default: standard input"},
        {.name = "output",
         .kind = OPTION_TEXT,
         .value = &chosen->output,
         .argument = "FILE",
         .help = "translations; default: standard output"},
        {.name = "alignment",
         .kind = OPTION_TEXT,
         .value = &chosen->alignment,
         .argument = "FILE",
         .help = "the attention weights of each translation as well"},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &chosen->format,
         .argument = "FORMAT",
         .choices = alignment_format_names,
         .help = "of --alignment: " ALIGNMENT_FORMATS_HELP},
        {.name = "no-eos",
         .kind = OPTION_FLAG,
         .value = &chosen->no_eos,
         .help = "leave the row and the column of </s> out of --alignment"},
        {.name = "batch-size",
         .kind = OPTION_COUNT,
         .value = &chosen->batch_size,
         .argument = "N",
         .least = 1,
         .most = 4096,
         .help = "sentences decoded together; changes no result; default: 64"},
        {.name = "max-length-ratio",
         .kind = OPTION_NUMBER,
         .value = &chosen->max_length_ratio,
         .argument = "X",
         .help = "at most X target tokens a source token, and ten more; default: 3"},
        {.name = "threads",
         .kind = OPTION_COUNT,
         .value = &chosen->threads,
         .argument = "N",
         .most = 1024,
         .help = "threads; default, and 0: one a processor"},
    };
    const syntax line = {
        .command = "translate",
        .usage = "--model FILE [OPTIONS]",
        .summary =
            "Translates text greedily: one line out for each line in, an empty one for an empty one, in the same\n"
            "order. When the input pauses, what was read so far is answered at once.",
        .notes = ALIGNMENT_NOTES
        "\n\nA FILE of - is standard input or output. Other output files appear whole or not at all.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (options_parse(&line, argc, argv, status)) {
        *status = check(&line, chosen);
    } else {
        return false;
    }
    return *status == 0;
}

/* Reads lines while there is room and they come without waiting. A fault may come behind lines that stand. */
static nmt_status fill_window(translate_job *job, bool *ended, nmt_error *error)
{
    do {
        const char *line;
        size_t length;
        nmt_status status = lines_wait(job->reader, job->input, error);
        if (status == NMT_OK) {
            status = nmt_reader_next(job->reader, &line, &length, error);
        }
        if (status == NMT_OK && line == NULL) {
            *ended = true;
            return NMT_OK;
        }
        if (status == NMT_OK) {
            status = lines_add(&job->window, line, length, error);
        }
        if (status != NMT_OK) {
            return status;
        }
    } while (lines_have_room(&job->window, job->window_lines) && !nmt_reader_would_wait(job->reader));
    return NMT_OK;
}

static nmt_status write_translation(translate_job *job, const nmt_translation *translation, nmt_error *error)
{
    FILE *file = nmt_writer_file(job->output.writer);
    fputs(translation->text, file);
    putc('\n', file);
    return job->alignments.alignments != NULL
               ? nmt_alignment_writer_add(job->alignments.alignments, &translation->alignment, error)
               : NMT_OK;
}

/* Translates and writes the window, and empties it. */
static nmt_status answer_window(translate_job *job, nmt_error *error)
{
    const size_t count = job->window.count;
    nmt_status status = nmt_translate(job->model, (const char *const *)job->window.lines, count, &job->options,
                                      job->translations, error);
    if (status != NMT_OK) {
        command_add_place(error, nmt_reader_line(job->reader) - count + 1, nmt_reader_line(job->reader));
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        if (status == NMT_OK) {
            status = write_translation(job, &job->translations[i], error);
        }
        nmt_translation_clear(&job->translations[i]);
    }
    lines_clear(&job->window);
    if (status == NMT_OK) {
        status = result_flush(&job->output, error);
    }
    return status == NMT_OK ? result_flush(&job->alignments, error) : status;
}

/* A fault in the text is told after the lines before it are answered. */
static nmt_status translate_all(translate_job *job, nmt_error *error)
{
    bool ended = false;
    while (!ended) {
        const nmt_status read_status = fill_window(job, &ended, error);
        if (job->window.count > 0 && read_status != NMT_INTERRUPTED) {
            nmt_error answer_error;
            const nmt_status status = answer_window(job, &answer_error);
            if (status != NMT_OK) {
                *error = answer_error;
                return status;
            }
        }
        if (read_status != NMT_OK) {
            return read_status;
        }
    }
    return NMT_OK;
}

static nmt_status open_job(translate_job *job, const translate_options *chosen, nmt_error *error)
{
    nmt_status status = command_threads(chosen->threads, error);
    if (status == NMT_OK) {
        status = nmt_model_load(&job->model, chosen->model, error);
    }
    if (status == NMT_OK) {
        status = nmt_reader_open(&job->reader, job->input, error);
    }
    if (status == NMT_OK) {
        status = result_open(&job->output, command_path(chosen->output), error);
    }
    if (status == NMT_OK && chosen->alignment != NULL) {
        status = result_open_alignments(&job->alignments, command_path(chosen->alignment),
                                        chosen->format != no_format ? chosen->format : NMT_ALIGNMENT_LONG,
                                        !chosen->no_eos, error);
    }
    return status;
}

static int translate(const translate_options *chosen)
{
    nmt_error error;
    translate_job job = {.input = command_path(chosen->input), .window_lines = WINDOW_BATCHES * chosen->batch_size};
    job.options = (nmt_translate_options){.batch_size = chosen->batch_size,
                                          .max_length_ratio = chosen->max_length_ratio,
                                          .alignment = chosen->alignment != NULL};
    nmt_status status = open_job(&job, chosen, &error);
    if (status == NMT_OK) {
        job.translations = calloc(job.window_lines, sizeof *job.translations);
        status = job.translations != NULL ? translate_all(&job, &error) : command_no_memory(&error);
    }
    status = result_close(&job.alignments, status, &error);
    status = result_close(&job.output, status, &error);
    free(job.translations);
    lines_free(&job.window);
    nmt_reader_close(job.reader);
    nmt_model_free(job.model);
    return command_end("translate", status, &error);
}

int cmd_translate(int argc, char **argv)
{
    translate_options chosen = {.format = no_format, .batch_size = 64};
    int status;
    return parse(&chosen, argc, argv, &status) ? translate(&chosen) : status;
}
