#include "cli/diagnostics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/lines.h"

static const double default_threshold = 0.2;

/* What is told of a sentence, or of all. */
typedef struct measures {
    size_t sentence;                /* from 1; 0: all */
    const nmt_alignment *alignment; /* NULL: all */
    const nmt_attention_sums *sums;
    const nmt_link_counts *counts; /* NULL: no gold links */
} measures;

int diagnostics_check(const syntax *line, const diagnostics_options *chosen)
{
    if (chosen->path == NULL && (chosen->format != SIZE_MAX || chosen->threshold > 0 || chosen->gold != NULL)) {
        return options_misuse(line, "option --%s is of --diagnostics FILE, which is missing",
                              chosen->format != SIZE_MAX ? "diagnostics-format"
                              : chosen->threshold > 0    ? "omission-threshold"
                                                         : "gold");
    }
    return chosen->swap_gold && chosen->gold == NULL
               ? options_misuse(line, "--swap-gold is of --gold FILE, which is missing")
               : 0;
}

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

static void write_tokens(FILE *file, const char *name, char *const *tokens, size_t count)
{
    fprintf(file, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", file);
        json_text(file, tokens[i]);
    }
    putc(']', file);
}

static void write_numbers(FILE *file, const char *name, const double *numbers, size_t count)
{
    fprintf(file, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s%.6g", i > 0 ? ", " : "", numbers[i]);
    }
    putc(']', file);
}

static void write_json(FILE *file, const diagnostics *from, const measures *what)
{
    const nmt_attention_means means = nmt_attention_means_of(what->sums);
    if (what->alignment != NULL) {
        fprintf(file, "{\"sentence\": %zu", what->sentence);
    } else {
        fprintf(file, "{\"sentences\": %zu, \"empty\": %zu", from->sentences, from->sentences - what->sums->sentences);
    }
    fprintf(file,
            ", \"source_tokens\": %zu, \"rows\": %zu, \"entropy\": %.6g, \"entropy_share\": %.6g, \"omission\": %.6g, "
            "\"repeated\": %.6g, \"distance\": %.6g",
            what->sums->words, what->sums->rows, means.entropy, means.entropy_share, means.omission_rate,
            means.repeated, means.distance);
    if (what->counts != NULL) {
        fprintf(file, ", \"precision\": %.10g, \"recall\": %.10g, \"aer\": %.10g", nmt_links_precision(what->counts),
                nmt_links_recall(what->counts), nmt_links_error_rate(what->counts));
    }
    if (what->alignment != NULL) {
        write_tokens(file, "source", what->alignment->source, what->alignment->source_count);
        write_numbers(file, "coverage", from->coverage, what->alignment->source_count);
        write_tokens(file, "target", what->alignment->target, what->alignment->target_count);
        write_numbers(file, "row_entropy", from->entropy, what->alignment->target_count);
    }
    fputs("}\n", file);
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

static void write_table_header(FILE *file, const diagnostics *from)
{
    fprintf(file, "%-8s %7s %7s %8s %8s %9s %9s %9s%s\n", "sentence", "source", "rows", "entropy", "share", "omission",
            "repeated", "distance", from->gold.reader != NULL ? " precision    recall       AER" : "");
}

static void write_table(FILE *file, const diagnostics *from, const measures *what)
{
    (void)from;
    const nmt_attention_means means = nmt_attention_means_of(what->sums);
    char name[24] = "all";
    if (what->alignment != NULL) {
        snprintf(name, sizeof name, "%zu", what->sentence);
    }
    fprintf(file, "%-8s %7zu %7zu %8.4f %8.4f %9.4f %9.4f %9.4f", name, what->sums->words, what->sums->rows,
            means.entropy, means.entropy_share, means.omission_rate, means.repeated, means.distance);
    if (what->counts != NULL) {
        fprintf(file, " %9.2f %9.2f %9.2f", nmt_links_precision(what->counts), nmt_links_recall(what->counts),
                nmt_links_error_rate(what->counts));
    }
    putc('\n', file);
}

/* ---- the formats ------------------------------------------------------------------------------------------------- */

typedef struct format_row {
    void (*header)(FILE *file, const diagnostics *from); /* NULL: none */
    void (*write)(FILE *file, const diagnostics *from, const measures *what);
} format_row;

enum { FORMAT_JSON, FORMAT_TABLE };

const char *const diagnostics_format_names[] = {[FORMAT_JSON] = "json", [FORMAT_TABLE] = "table", NULL};

static const format_row formats[] = {
    [FORMAT_JSON] = {NULL, write_json},
    [FORMAT_TABLE] = {write_table_header, write_table},
};

static const format_row *format_of(const diagnostics *from)
{
    return &formats[from->chosen->format != SIZE_MAX ? from->chosen->format : FORMAT_JSON];
}

/* ---- writing them ------------------------------------------------------------------------------------------------ */

nmt_status diagnostics_open(diagnostics *to, const diagnostics_options *chosen, nmt_error *error)
{
    to->chosen = chosen;
    if (chosen->path == NULL) {
        return NMT_OK;
    }
    nmt_status status = NMT_OK;
    if (chosen->gold != NULL) {
        to->gold = (link_file){.path = chosen->gold, .gold = true, .swap = chosen->swap_gold};
        status = link_file_open(&to->gold, error);
    }
    if (status == NMT_OK) {
        status = result_open(&to->output, command_path(chosen->path), error);
    }
    if (status == NMT_OK && format_of(to)->header != NULL) {
        format_of(to)->header(nmt_writer_file(to->output.writer), to);
    }
    return status;
}

static nmt_status reserve(double **numbers, size_t *capacity, size_t count, nmt_error *error)
{
    if (count > *capacity) {
        double *grown = realloc(*numbers, 2 * count * sizeof *grown);
        if (grown == NULL) {
            return command_no_memory(error);
        }
        *numbers = grown;
        *capacity = 2 * count;
    }
    return NMT_OK;
}

static size_t words(char *const *tokens, size_t count)
{
    return count > 0 && strcmp(tokens[count - 1], "</s>") == 0 ? count - 1 : count;
}

static nmt_status check_gold(const link_file *gold, const nmt_alignment *alignment, nmt_error *error)
{
    const size_t sources = words(alignment->source, alignment->source_count);
    const size_t targets = words(alignment->target, alignment->target_count);
    for (size_t i = 0; i < gold->links.count; i++) {
        const nmt_link link = gold->links.items[i];
        if (link.source >= sources || link.target >= targets) {
            error->status = NMT_INVALID;
            snprintf(error->message, sizeof error->message,
                     "%.400s:%zu: the link of source token %lu and target token %lu is outside the pair, which has %zu "
                     "and %zu tokens",
                     command_input_name(gold->path), nmt_reader_line(gold->reader), (unsigned long)link.source,
                     (unsigned long)link.target, sources, targets);
            return NMT_INVALID;
        }
    }
    return NMT_OK;
}

/* Counts of the sentence, which also join those of all. */
static nmt_status measure_links(diagnostics *to, const nmt_alignment *alignment, nmt_link_counts *counts,
                                nmt_error *error)
{
    bool ended;
    nmt_status status = link_file_next(&to->gold, &ended, error);
    if (status == NMT_OK && ended) {
        error->status = NMT_INVALID;
        snprintf(error->message, sizeof error->message, "%.400s ends behind line %zu, before the text does",
                 command_input_name(to->gold.path), nmt_reader_line(to->gold.reader));
        return NMT_INVALID;
    }
    if (status == NMT_OK) {
        status = check_gold(&to->gold, alignment, error);
    }
    if (status == NMT_OK) {
        status = nmt_links_from_attention(&to->links, alignment, to->chosen->shift, error);
    }
    if (status == NMT_OK) {
        nmt_link_counts_add(counts, &to->links, &to->gold.links);
        nmt_link_counts_add(&to->counts, &to->links, &to->gold.links);
    }
    return status;
}

nmt_status diagnostics_add(diagnostics *to, const nmt_alignment *alignment, nmt_error *error)
{
    if (to->output.writer == NULL) {
        return NMT_OK;
    }
    const bool gold = to->gold.reader != NULL;
    nmt_attention_sums sums;
    nmt_link_counts counts = {0};
    nmt_status status = reserve(&to->entropy, &to->entropy_capacity, alignment->target_count, error);
    if (status == NMT_OK) {
        status = reserve(&to->coverage, &to->coverage_capacity, alignment->source_count, error);
    }
    if (status == NMT_OK && gold) {
        status = measure_links(to, alignment, &counts, error);
    }
    if (status != NMT_OK) {
        return status;
    }
    const double threshold = to->chosen->threshold > 0 ? to->chosen->threshold : default_threshold;
    nmt_attention_measure(&sums, alignment, threshold, to->entropy, to->coverage);
    nmt_attention_sums_add(&to->sums, &sums);
    const measures what = {++to->sentences, alignment, &sums, gold ? &counts : NULL};
    format_of(to)->write(nmt_writer_file(to->output.writer), to, &what);
    return NMT_OK;
}

/* The gold links must end with the text. */
static nmt_status check_end(diagnostics *to, nmt_error *error)
{
    bool ended;
    const nmt_status status = link_file_next(&to->gold, &ended, error);
    if (status != NMT_OK || ended) {
        return status;
    }
    error->status = NMT_INVALID;
    snprintf(error->message, sizeof error->message, "%.400s goes on behind line %zu, where the text ends",
             command_input_name(to->gold.path), to->sentences);
    return NMT_INVALID;
}

nmt_status diagnostics_close(diagnostics *to, nmt_status status, nmt_error *error)
{
    const bool gold = to->gold.reader != NULL;
    if (to->output.writer != NULL && status == NMT_OK && gold) {
        status = check_end(to, error);
    }
    if (to->output.writer != NULL && status == NMT_OK) {
        const measures what = {0, NULL, &to->sums, gold ? &to->counts : NULL};
        format_of(to)->write(nmt_writer_file(to->output.writer), to, &what);
    }
    status = result_close(&to->output, status, error);
    link_file_close(&to->gold);
    nmt_links_clear(&to->links);
    free(to->entropy);
    free(to->coverage);
    return status;
}
