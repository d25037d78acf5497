/* nmt gradcheck: are the gradients of this configuration right? A table, a row a tensor. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/result.h"

typedef struct gradcheck_options {
    const char *config, *model, *svg;
    bool paths;
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
        {.name = "model",
         .kind = OPTION_TEXT,
         .value = &chosen->model,
         .argument = "FILE",
         .help = "check this trained model; of CONFIG only the text is taken"},
        {.name = "paths",
         .kind = OPTION_FLAG,
         .value = &chosen->paths,
         .help = "show the paths of the gradient by room and by source token (below)"},
        {.name = "svg", .kind = OPTION_TEXT, .value = &chosen->svg, .argument = "FILE", .help = "draw these paths"},
    };
    const syntax line = {
        .command = "gradcheck",
        .usage = "CONFIG [OPTIONS]",
        .summary = "Builds the model that CONFIG describes in double precision, takes a few sentences of its training\n"
                   "text, and compares the gradient of the loss with central differences. An element agrees when\n"
                   "|analytic - numeric| <= 1e-8 + 1e-6 max(|analytic|, |numeric|). Exit status 1 when one does not.",
        .notes =
            "Below the table: how much of the gradient at the annotations arrives through the Value path (the sum\n"
            "of annotations) and how much through the Score path (the weights of that sum).\n\n"
            "--paths adds two tables of norms. By room, which is a group of tensors: upstream of attention, the path\n"
            "by which gradient reached the annotations, or neither: through the decoder's first state; downstream,\n"
            "what came back through the queries of the Score path, or neither. By source token: at its annotation.\n"
            "Shares add up to the whole, their norms do not.",
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
    if (*status == 0 && chosen->svg != NULL && command_path(chosen->svg) == NULL) {
        *status = options_misuse(&line, "--svg - and the table cannot both go to standard output");
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

static void write_shares(FILE *file, double direct, double value, double score, double whole)
{
    fprintf(file, "%11.4g %11.4g %11.4g %11.4g", direct, value, score, whole);
}

static const char shares_header[] = "    neither       Value       Score       whole ";

static void write_path_tables(FILE *file, const nmt_gradcheck_report *report)
{
    fprintf(file, "\n%s room\n", shares_header);
    for (size_t r = 0; r < NMT_GRADCHECK_ROOMS; r++) {
        const nmt_gradcheck_room *room = &report->rooms[r];
        write_shares(file, room->direct, room->value, room->score, room->whole);
        fprintf(file, "  %s\n", room->name);
    }
    fprintf(file, "\n%s sentence, source token\n", shares_header);
    for (size_t i = 0; i < report->position_count; i++) {
        const nmt_gradcheck_position *at = &report->positions[i];
        write_shares(file, at->direct, at->value, at->score, at->whole);
        fprintf(file, "  %zu %s\n", at->sentence, at->word);
    }
    putc('\n', file);
}

/* Writes the report and returns how many elements disagree. */
static size_t write_report(FILE *file, const nmt_gradcheck_report *report, bool paths)
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
    if (paths) {
        write_path_tables(file, report);
    }
    fprintf(file, "%zu of %zu elements disagree\n", failed, checked);
    return failed;
}

static nmt_status write_drawing(const char *path, const nmt_gradcheck_report *report, nmt_error *error)
{
    result drawing = {0};
    const nmt_status status = result_open(&drawing, path, error);
    if (status == NMT_OK) {
        nmt_gradcheck_draw(nmt_writer_file(drawing.writer), report);
    }
    return result_close(&drawing, status, error);
}

/* Writes all that was asked for, and how many elements disagree. */
static nmt_status write_results(const gradcheck_options *chosen, const nmt_gradcheck_report *report, size_t *failed,
                                nmt_error *error)
{
    nmt_writer *writer;
    nmt_status status = chosen->svg != NULL ? write_drawing(chosen->svg, report, error) : NMT_OK;
    if (status == NMT_OK) {
        status = nmt_writer_open(&writer, NULL, error);
    }
    if (status == NMT_OK) {
        *failed = write_report(nmt_writer_file(writer), report, chosen->paths);
        status = nmt_writer_commit(writer, error);
    }
    return status;
}

static int gradcheck(const gradcheck_options *chosen)
{
    nmt_error error;
    nmt_gradcheck_report report;
    nmt_status status = nmt_gradcheck(&report, chosen->config, chosen->model, chosen->settings.items,
                                      chosen->settings.count, (size_t)chosen->elements, &error);
    if (status != NMT_OK) {
        return command_end("gradcheck", status, &error);
    }
    size_t failed = 0;
    status = write_results(chosen, &report, &failed, &error);
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
