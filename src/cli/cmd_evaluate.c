/* nmt evaluate: translations against references, a score and how to get it again. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/lines.h"
#include "cli/options.h"

typedef struct evaluate_options {
    const char *reference, *input;
    bool json;
} evaluate_options;

static bool parse(evaluate_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "reference",
         .kind = OPTION_TEXT,
         .value = &chosen->reference,
         .argument = "FILE",
         .required = true,
         .help = "reference translations, a line a sentence (required)"},
        {.name = "input",
         .kind = OPTION_TEXT,
         .value = &chosen->input,
         .argument = "FILE",
         .help = "translations to score; default: standard input"},
        {.name = "json", .kind = OPTION_FLAG, .value = &chosen->json, .help = "the score and its counts as JSON"},
    };
    const syntax line = {
        .command = "evaluate",
        .usage = "--reference FILE [--input FILE] [--json]",
        .summary = "Corpus BLEU over whitespace tokens (0 to 100): no smoothing, case kept. Prints the score, the\n"
                   "precisions of 1- to 4-grams, brevity penalty, length ratio and lengths, then a signature.",
        .notes = "A FILE of - is standard input.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!options_parse(&line, argc, argv, status)) {
        return false;
    }
    if (command_path(chosen->reference) == NULL && command_path(chosen->input) == NULL) {
        *status = options_misuse(&line, "--reference and --input cannot both be standard input");
        return false;
    }
    return true;
}

static nmt_status read_lines(line_list *list, const char *path, nmt_error *error)
{
    nmt_reader *reader;
    nmt_status status = nmt_reader_open(&reader, command_path(path), error);
    if (status == NMT_OK) {
        status = lines_read_all(list, reader, error);
        nmt_reader_close(reader);
    }
    return status;
}

static double length_ratio(const nmt_bleu *bleu)
{
    return bleu->reference_length > 0 ? (double)bleu->hypothesis_length / (double)bleu->reference_length : 0.0;
}

static void write_text(FILE *file, const nmt_bleu *bleu)
{
    fprintf(file, "BLEU = %.4f ", bleu->score);
    for (size_t order = 0; order < NMT_BLEU_ORDER; order++) {
        fprintf(file, "%s%.1f", order > 0 ? "/" : "", bleu->precision[order]);
    }
    fprintf(file, " (BP = %.3f ratio = %.3f hyp_len = %zu ref_len = %zu)\n%s\n", bleu->brevity_penalty,
            length_ratio(bleu), bleu->hypothesis_length, bleu->reference_length, nmt_bleu_signature());
}

static void write_json(FILE *file, const nmt_bleu *bleu)
{
    fprintf(file, "{\"name\": \"BLEU\", \"score\": %.10g, \"precisions\": [", bleu->score);
    for (size_t order = 0; order < NMT_BLEU_ORDER; order++) {
        fprintf(file, "%s%.10g", order > 0 ? ", " : "", bleu->precision[order]);
    }
    fprintf(file, "], \"matches\": [");
    for (size_t order = 0; order < NMT_BLEU_ORDER; order++) {
        fprintf(file, "%s%zu", order > 0 ? ", " : "", bleu->matches[order]);
    }
    fprintf(file, "], \"totals\": [");
    for (size_t order = 0; order < NMT_BLEU_ORDER; order++) {
        fprintf(file, "%s%zu", order > 0 ? ", " : "", bleu->totals[order]);
    }
    fprintf(file,
            "], \"brevity_penalty\": %.10g, \"ratio\": %.10g, \"hypothesis_length\": %zu, \"reference_length\": %zu, "
            "\"signature\": \"%s\"}\n",
            bleu->brevity_penalty, length_ratio(bleu), bleu->hypothesis_length, bleu->reference_length,
            nmt_bleu_signature());
}

static nmt_status score(nmt_bleu *bleu, const line_list *hypotheses, const line_list *references,
                        const evaluate_options *chosen, nmt_error *error)
{
    if (hypotheses->count != references->count) {
        return command_unequal_lines(error, command_input_name(chosen->input), hypotheses->count,
                                     command_input_name(chosen->reference), references->count);
    }
    return nmt_bleu_corpus(bleu, (const char *const *)hypotheses->lines, (const char *const *)references->lines,
                           hypotheses->count, error);
}

static int evaluate(const evaluate_options *chosen)
{
    nmt_error error;
    nmt_bleu bleu;
    line_list references = {0};
    line_list hypotheses = {0};
    nmt_writer *writer;
    nmt_status status = read_lines(&references, chosen->reference, &error);
    if (status == NMT_OK) {
        status = read_lines(&hypotheses, chosen->input, &error);
    }
    if (status == NMT_OK) {
        status = score(&bleu, &hypotheses, &references, chosen, &error);
    }
    if (status == NMT_OK) {
        status = nmt_writer_open(&writer, NULL, &error);
    }
    if (status == NMT_OK) {
        (chosen->json ? write_json : write_text)(nmt_writer_file(writer), &bleu);
        status = nmt_writer_commit(writer, &error);
    }
    lines_free(&references);
    lines_free(&hypotheses);
    return command_end("evaluate", status, &error);
}

int cmd_evaluate(int argc, char **argv)
{
    evaluate_options chosen = {0};
    int status;
    return parse(&chosen, argc, argv, &status) ? evaluate(&chosen) : status;
}
