/* nmt links: word alignments of two directions joined, and measured against gold links. Line by line, so that text of
 * any size takes little memory. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/lines.h"
#include "cli/link_file.h"
#include "cli/options.h"
#include "cli/result.h"

static const size_t no_method = SIZE_MAX;

typedef struct links_options {
    const char *forward, *reverse, *gold, *output;
    size_t method;
    bool swap_gold, json;
} links_options;

typedef struct links_job {
    const links_options *chosen;
    link_file forward, reverse, gold;
    nmt_links joined;
    nmt_link_counts counts;
    size_t sentences;
    result output; /* of links */
} links_job;

static int check(const syntax *line, const links_options *chosen)
{
    const char *const paths[] = {chosen->forward, chosen->reverse, chosen->gold};
    size_t standard_inputs = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        standard_inputs += paths[i] != NULL && command_path(paths[i]) == NULL;
    }
    if (standard_inputs > 1) {
        return options_misuse(line, "only one FILE can be standard input");
    }
    if (chosen->reverse == NULL && chosen->method != no_method) {
        return options_misuse(line, "--method joins two directions: --reverse FILE is missing");
    }
    if (chosen->gold == NULL && (chosen->swap_gold || chosen->json)) {
        return options_misuse(line, "--%s is of --gold FILE, which is missing", chosen->json ? "json" : "swap-gold");
    }
    if (chosen->gold != NULL && chosen->output != NULL && command_path(chosen->output) == NULL) {
        return options_misuse(line, "--output - and the measures cannot both go to standard output");
    }
    return 0;
}

static bool parse(links_options *chosen, int argc, char **argv, int *status)
{
    static const char *const methods[] = {
        [NMT_SYMMETRIZATION_INTERSECTION] = "intersection",
        [NMT_SYMMETRIZATION_UNION] = "union",
        [NMT_SYMMETRIZATION_GROW_DIAG] = "grow-diag",
        [NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND] = "grow-diag-final-and",
        NULL,
    };
    const option options[] = {
        {.name = "forward",
         .kind = OPTION_TEXT,
         .value = &chosen->forward,
         .argument = "FILE",
         .required = true,
         .help = "links i-j, source-target, a line a sentence, as nmt align\n--format pharaoh writes them (required)"},
        {.name = "reverse",
         .kind = OPTION_TEXT,
         .value = &chosen->reverse,
         .argument = "FILE",
         .help = "links of a model of the other direction, as it writes them:\ntarget-source"},
        {.name = "method",
         .kind = OPTION_CHOICE,
         .value = &chosen->method,
         .argument = "METHOD",
         .choices = methods,
         .help = "how to join the two: intersection, union, grow-diag or\ngrow-diag-final-and; default: grow-diag"},
        {.name = "gold",
         .kind = OPTION_TEXT,
         .value = &chosen->gold,
         .argument = "FILE",
         .help = "links to measure against: i-j sure, ipj possible; writes\nmeasures instead of links"},
        {.name = "swap-gold",
         .kind = OPTION_FLAG,
         .value = &chosen->swap_gold,
         .help = "the gold links name the target first"},
        {.name = "output",
         .kind = OPTION_TEXT,
         .value = &chosen->output,
         .argument = "FILE",
         .help = "the links; default: standard output"},
        {.name = "json", .kind = OPTION_FLAG, .value = &chosen->json, .help = "the measures as JSON"},
    };
    const syntax line = {
        .command = "links",
        .usage = "--forward FILE [--reverse FILE] [OPTIONS]",
        .summary = "Joins the word alignments of two directions, and measures alignments against gold links.",
        .notes = "measures (per cent; Och and Ney 2003), for links A, sure links S, and sure or possible links P:\n"
                 "  precision  |A and P| / |A|\n"
                 "  recall     |A and S| / |S|\n"
                 "  AER        1 - (|A and S| + |A and P|) / (|A| + |S|)\n"
                 "\n"
                 "A FILE of - is standard input or output. Another output file appears whole or not at all.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .no_products = true,
    };
    if (options_parse(&line, argc, argv, status)) {
        *status = check(&line, chosen);
        return *status == 0;
    }
    return false;
}

/* `from` has ended before `longer` or the other way round; the line in hand is the last one read. */
static nmt_status unequal_lines(links_job *job, link_file *other, bool other_ended, nmt_error *error)
{
    size_t rest;
    const nmt_status status = lines_count_rest(&rest, other_ended ? job->forward.reader : other->reader, error);
    if (status != NMT_OK) {
        return status;
    }
    return command_unequal_lines(error, command_input_name(job->forward.path), nmt_reader_line(job->forward.reader),
                                 command_input_name(other->path), nmt_reader_line(other->reader));
}

/* The line of `other` that goes with the one of --forward in hand, where the file was asked for. */
static nmt_status read_beside(links_job *job, link_file *other, bool ended, nmt_error *error)
{
    bool other_ended = ended;
    nmt_status status = other->reader != NULL ? link_file_next(other, &other_ended, error) : NMT_OK;
    if (status == NMT_OK && other_ended != ended) {
        status = unequal_lines(job, other, other_ended, error);
    }
    return status;
}

static nmt_status read_sentence(links_job *job, bool *ended, nmt_error *error)
{
    nmt_status status = link_file_next(&job->forward, ended, error);
    if (status == NMT_OK) {
        status = read_beside(job, &job->reverse, *ended, error);
    }
    return status == NMT_OK ? read_beside(job, &job->gold, *ended, error) : status;
}

static nmt_status answer_sentence(links_job *job, nmt_error *error)
{
    const nmt_links *links = &job->forward.links;
    if (job->reverse.reader != NULL) {
        const size_t method = job->chosen->method;
        const nmt_status status = nmt_links_symmetrize(
            &job->joined, links, &job->reverse.links,
            method != no_method ? (nmt_symmetrization)method : NMT_SYMMETRIZATION_GROW_DIAG, error);
        if (status != NMT_OK) {
            return status;
        }
        links = &job->joined;
    }
    job->sentences++;
    if (job->gold.reader != NULL) {
        nmt_link_counts_add(&job->counts, links, &job->gold.links);
    }
    if (job->output.writer != NULL) {
        link_file_write(nmt_writer_file(job->output.writer), links);
    }
    return NMT_OK;
}

static nmt_status answer_all(links_job *job, nmt_error *error)
{
    for (;;) {
        bool ended;
        nmt_status status = read_sentence(job, &ended, error);
        if (status == NMT_OK && !ended) {
            status = answer_sentence(job, error);
        }
        if (status != NMT_OK || ended) {
            return status;
        }
    }
}

static nmt_status open_job(links_job *job, nmt_error *error)
{
    const links_options *chosen = job->chosen;
    nmt_status status = link_file_open(&job->forward, error);
    if (status == NMT_OK && chosen->reverse != NULL) {
        status = link_file_open(&job->reverse, error);
    }
    if (status == NMT_OK && chosen->gold != NULL) {
        status = link_file_open(&job->gold, error);
    }
    if (status == NMT_OK && (chosen->gold == NULL || chosen->output != NULL)) {
        status = result_open(&job->output, command_path(chosen->output), error);
    }
    return status;
}

static nmt_status write_measures(const links_job *job, nmt_error *error)
{
    nmt_writer *writer;
    const nmt_status status = nmt_writer_open(&writer, NULL, error);
    if (status != NMT_OK) {
        return status;
    }
    const char *format =
        job->chosen->json ? "{\"aer\": %.10g, \"precision\": %.10g, \"recall\": %.10g, \"links\": %zu, \"sure\": %zu, "
                            "\"sentences\": %zu}\n"
                          : "AER = %.2f (precision = %.2f recall = %.2f links = %zu sure = %zu sentences = %zu)\n";
    fprintf(nmt_writer_file(writer), format, nmt_links_error_rate(&job->counts), nmt_links_precision(&job->counts),
            nmt_links_recall(&job->counts), job->counts.links, job->counts.sure, job->sentences);
    return nmt_writer_commit(writer, error);
}

static int join_and_measure(const links_options *chosen)
{
    nmt_error error;
    links_job job = {
        .chosen = chosen,
        .forward.path = chosen->forward,
        .reverse = {.path = chosen->reverse, .swap = true},
        .gold = {.path = chosen->gold, .gold = true, .swap = chosen->swap_gold},
    };
    nmt_status status = open_job(&job, &error);
    if (status == NMT_OK) {
        status = answer_all(&job, &error);
    }
    status = result_close(&job.output, status, &error);
    if (status == NMT_OK && chosen->gold != NULL) {
        status = write_measures(&job, &error);
    }
    link_file_close(&job.forward);
    link_file_close(&job.reverse);
    link_file_close(&job.gold);
    nmt_links_clear(&job.joined);
    return command_end("links", status, &error);
}

int cmd_links(int argc, char **argv)
{
    links_options chosen = {.method = no_method};
    int status;
    return parse(&chosen, argc, argv, &status) ? join_and_measure(&chosen) : status;
}
