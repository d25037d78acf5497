/* nmt gradcheck: are the gradients of this configuration right? A table, a row a tensor. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"

typedef struct gradcheck_options {
    const char *config;
    text_list settings;
    uint64_t elements;
} gradcheck_options;

static bool parse(gradcheck_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "set",
         .kind = OPTION_LIST,
         .value = &chosen->settings,
         .argument = "KEY=VALUE",
         .help = "override a key of the configuration; may be given many times"},
        {.name = "elements",
         .kind = OPTION_COUNT,
         .value = &chosen->elements,
         .argument = "N",
         .help = "check at most N elements a tensor; 0: all; default: 20"},
    };
    const syntax line = {
        .command = "gradcheck",
        .usage = "CONFIG [--set KEY=VALUE]... [--elements N]",
        .summary = "Builds the model that CONFIG describes in double precision, takes a few sentences of its training\n"
                   "text, and compares the gradient of the loss with central differences. An element agrees when\n"
                   "|analytic - numeric| <= 1e-8 + 1e-6 max(|analytic|, |numeric|). Exit status 1 when one does not.",
        .notes =
            "Below the table: how much of the gradient at the annotations arrives through the Value path (the sum\n"
            "of annotations) and how much through the Score path (the weights of that sum).",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand = "CONFIG",
        .operand_value = &chosen->config,
    };
    if (!options_parse(&line, argc, argv, status)) {
        return false;
    }
    if (chosen->config == NULL) {
        *status = options_misuse(&line, "the CONFIG file is missing");
    }
    for (size_t i = 0; i < chosen->settings.count && *status == 0; i++) {
        *status = options_check_setting(&line, chosen->settings.items[i]);
    }
    return *status == 0;
}

static void write_row(FILE *file, const nmt_gradcheck_row *row)
{
    char shape[48];
    snprintf(shape, sizeof shape, row->columns > 0 ? "%zux%zu" : "%zu", row->rows, row->columns);
    fprintf(file, "%-40s %11s %8zu %7zu %10.3g %10.3g %10.3g\n", row->name, shape, row->checked, row->failed,
            row->largest, row->worst_absolute, row->worst_relative);
}

static void write_paths(FILE *file, const nmt_gradcheck_report *report)
{
    const double both = report->value_norm + report->score_norm;
    const double unit = both > 0 ? 100 / both : 0;
    fprintf(file,
            "gradient at the annotations: Value path %.6g (%.1f %%), Score path %.6g (%.1f %%), together %.6g\n"
            "largest |Value + Score - together|: %.3g\n",
            report->value_norm, unit * report->value_norm, report->score_norm, unit * report->score_norm,
            report->total_norm, report->path_residual);
}

/* Writes the report and returns how many elements disagree. */
static size_t write_report(FILE *file, const nmt_gradcheck_report *report)
{
    size_t checked = 0;
    size_t failed = 0;
    fprintf(file, "%-40s %11s %8s %7s %10s %10s %10s\n", "tensor", "shape", "checked", "failed", "largest", "absolute",
            "relative");
    for (size_t i = 0; i < report->row_count; i++) {
        write_row(file, &report->rows[i]);
        checked += report->rows[i].checked;
        failed += report->rows[i].failed;
    }
    fprintf(file, "\n%zu sentences, %zu source tokens, %zu target tokens; loss %.6g nats\n", report->sentences,
            report->source_tokens, report->target_tokens, report->loss);
    write_paths(file, report);
    fprintf(file, "%zu of %zu elements disagree\n", failed, checked);
    return failed;
}

static int gradcheck(const gradcheck_options *chosen)
{
    nmt_error error;
    nmt_gradcheck_report report;
    nmt_status status = nmt_gradcheck(&report, chosen->config, chosen->settings.items, chosen->settings.count,
                                      (size_t)chosen->elements, &error);
    if (status != NMT_OK) {
        return command_end("gradcheck", status, &error);
    }
    size_t failed = 0;
    nmt_writer *writer;
    status = nmt_writer_open(&writer, NULL, &error);
    if (status == NMT_OK) {
        failed = write_report(nmt_writer_file(writer), &report);
        status = nmt_writer_commit(writer, &error);
    }
    nmt_gradcheck_clear(&report);
    if (status == NMT_OK && failed > 0) {
        message("gradcheck", "%zu element%s of the gradient %s", failed, failed == 1 ? "" : "s",
                failed == 1 ? "disagrees" : "disagree");
        return EXIT_FAILURE;
    }
    return command_end("gradcheck", status, &error);
}

int cmd_gradcheck(int argc, char **argv)
{
    gradcheck_options chosen = {.elements = 20};
    int status;
    if (parse(&chosen, argc, argv, &status)) {
        status = gradcheck(&chosen);
    }
    text_list_free(&chosen.settings);
    return status;
}
