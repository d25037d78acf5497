/* nmt explain: translations step by step, as numbers. */
#include <math.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/result.h"

typedef struct explain_options {
    const char *model, *input, *output;
    uint64_t threads;
} explain_options;

typedef struct explain_job {
    nmt_model *model;
    nmt_reader *reader;
    const char *input;
    result output;
    size_t sentences;
} explain_job;

static bool parse(explain_options *chosen, int argc, char **argv, int *status)
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
         .help = "the explanation; default: standard output"},
        THREADS_OPTION(&chosen->threads),
    };
    const syntax line = {
        .command = "explain",
        .usage = "--model FILE [OPTIONS]",
        .summary = "Translates each line greedily and writes what each step did, "
                   "as numbers: the norm of the state that asked,\n"
                   "for each source token its score e, exp(e - max) and weight "
                   "alpha, the norm of the context that was\n"
                   "read, and the five most probable next tokens, of which the "
                   "first is taken.",
        .notes = "Scores are - where no single one made the weight: with several "
                 "heads, whose mean the weights are, with a\n"
                 "local window, and with a fixed context. Weights show how a "
                 "read was distributed; they are not by\n"
                 "themselves an explanation of the output.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return options_parse(&line, argc, argv, status);
}

static double largest(const double *values, size_t count)
{
    double most = values[0];
    for (size_t i = 1; i < count; i++) {
        most = fmax(most, values[i]);
    }
    return most;
}

static void write_reads(FILE *file, const nmt_explanation *from, const nmt_explained_step *step)
{
    const double most = step->energies != NULL ? largest(step->energies, from->source_count) : 0;
    fprintf(file, "  %3s  %9s  %10s  %8s  %s\n", "i", "e", "exp(e-max)", "alpha", "source");
    for (size_t s = 0; s < from->source_count; s++) {
        if (step->energies != NULL) {
            fprintf(file, "  %3zu  %9.3f  %10.3f  %8.3f  %s\n", s, step->energies[s], exp(step->energies[s] - most),
                    step->weights[s], from->source[s]);
        } else {
            fprintf(file, "  %3zu  %9s  %10s  %8.3f  %s\n", s, "-", "-", step->weights[s], from->source[s]);
        }
    }
}

static void write_step(FILE *file, const nmt_explanation *from, size_t t)
{
    const nmt_explained_step *step = &from->steps[t];
    fprintf(file, "\nstep %zu: %s\n  state norm %.3f\n", t + 1, step->candidates[0].token, step->state_norm);
    write_reads(file, from, step);
    fprintf(file, "  context norm %.3f\n  next:", step->context_norm);
    for (size_t i = 0; i < step->candidate_count; i++) {
        fprintf(file, "%s %s %.3f", i > 0 ? "," : "", step->candidates[i].token, step->candidates[i].probability);
    }
    putc('\n', file);
}

static nmt_status explain_line(explain_job *job, const char *line, nmt_error *error)
{
    nmt_explanation found;
    FILE *file = nmt_writer_file(job->output.writer);
    const nmt_status status = nmt_explain(job->model, line, &found, error);
    if (status != NMT_OK) {
        command_add_place(error, job->input, NULL, nmt_reader_line(job->reader));
        return status;
    }
    fprintf(file, "%ssentence %zu:", job->sentences > 0 ? "\n" : "", job->sentences + 1);
    for (size_t s = 0; s < found.source_count; s++) {
        fprintf(file, " %s", found.source[s]);
    }
    putc('\n', file);
    for (size_t t = 0; t < found.step_count; t++) {
        write_step(file, &found, t);
    }
    job->sentences++;
    nmt_explanation_clear(&found);
    return result_flush(&job->output, error);
}

static nmt_status explain_all(explain_job *job, nmt_error *error)
{
    for (;;) {
        const char *line;
        size_t length;
        nmt_status status = lines_wait(job->reader, job->input, error);
        if (status == NMT_OK) {
            status = nmt_reader_next(job->reader, &line, &length, error);
        }
        if (status != NMT_OK || line == NULL) {
            return status;
        }
        status = explain_line(job, line, error);
        if (status != NMT_OK) {
            return status;
        }
    }
}

static nmt_status open_job(explain_job *job, const explain_options *chosen, nmt_error *error)
{
    nmt_status status = command_threads(chosen->threads, error);
    if (status == NMT_OK) {
        status = nmt_model_load(&job->model, chosen->model, error);
    }
    if (status == NMT_OK) {
        status = nmt_reader_open(&job->reader, job->input, error);
    }
    return status == NMT_OK ? result_open(&job->output, command_path(chosen->output), error) : status;
}

int cmd_explain(int argc, char **argv)
{
    explain_options chosen = {0};
    int exit_status;
    if (!parse(&chosen, argc, argv, &exit_status)) {
        return exit_status;
    }
    nmt_error error;
    explain_job job = {.input = command_path(chosen.input)};
    nmt_status status = open_job(&job, &chosen, &error);
    if (status == NMT_OK) {
        status = explain_all(&job, &error);
    }
    status = result_close(&job.output, status, &error);
    nmt_reader_close(job.reader);
    nmt_model_free(job.model);
    return command_end("explain", status, &error);
}
