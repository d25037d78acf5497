/*
 * Measures of attention beside what a command writes: --diagnostics FILE and the options that go with it. A command
 * puts DIAGNOSTICS_OPTIONS into its table, asks diagnostics_check, and then opens, adds each alignment and closes.
 */
#ifndef CLI_DIAGNOSTICS_H
#define CLI_DIAGNOSTICS_H

#include <nmt/diagnostics.h>
#include <nmt/links.h>

#include "cli/link_file.h"
#include "cli/options.h"
#include "cli/result.h"

typedef struct diagnostics_options {
    const char *path; /* NULL: not asked for */
    size_t format;
    double threshold; /* 0: not given */
    const char *gold; /* NULL: none; only where the target tokens are given */
    bool swap_gold;
    bool shift; /* how links are read from the attention */
} diagnostics_options;

/* The names of the formats; ends with NULL. */
extern const char *const diagnostics_format_names[];

#define DIAGNOSTICS_NO_OPTIONS ((diagnostics_options){.format = SIZE_MAX})

#define DIAGNOSTICS_OPTIONS(chosen)                                                                                    \
    {.name = "diagnostics",                                                                                            \
     .kind = OPTION_TEXT,                                                                                              \
     .value = &(chosen)->path,                                                                                         \
     .argument = "FILE",                                                                                               \
     .help = "measures of the attention, of each sentence and of all"},                                                \
        {.name = "diagnostics-format",                                                                                 \
         .kind = OPTION_CHOICE,                                                                                        \
         .value = &(chosen)->format,                                                                                   \
         .argument = "FORMAT",                                                                                         \
         .choices = diagnostics_format_names,                                                                          \
         .help = "json (a line a sentence) or table; default: json"},                                                  \
    {                                                                                                                  \
        .name = "omission-threshold", .kind = OPTION_NUMBER, .value = &(chosen)->threshold, .argument = "X",           \
        .help = "a source token read less than this in all counts as\nomitted; default: 0.2"                           \
    }

#define DIAGNOSTICS_NOTES                                                                                              \
    "diagnostics, of weights a[t][s] with T rows and S columns, those of </s> among them:\n"                           \
    "  entropy    of a row, -sum a ln a in nats, mean over rows; its share of ln S\n"                                  \
    "  coverage   of a source token: the sum of its column\n"                                                          \
    "  omission   share of the source tokens whose coverage is under --omission-threshold\n"                           \
    "  repeated   coverage beyond 1, mean over source tokens\n"                                                        \
    "  distance   from the diagonal: sum a |s/(S-1) - t/(T-1)|, mean over rows, 0 to 1"

/* What the table of options cannot say: 0, or the status of misuse, which is told. */
int diagnostics_check(const syntax *line, const diagnostics_options *chosen);

typedef struct diagnostics {
    const diagnostics_options *chosen;
    result output; /* nothing is done where it is not open */
    link_file gold;
    nmt_links links;
    double *entropy, *coverage; /* of the sentence */
    size_t entropy_capacity, coverage_capacity;
    size_t sentences; /* written */
    nmt_attention_sums sums;
    nmt_link_counts counts;
} diagnostics;

/* `chosen` stays the caller's and must outlive it. */
nmt_status diagnostics_open(diagnostics *to, const diagnostics_options *chosen, nmt_error *error);

/* The next sentence, as the model gave it. */
nmt_status diagnostics_add(diagnostics *to, const nmt_alignment *alignment, nmt_error *error);

/* Writes the corpus and closes, as result_close does; also without diagnostics_open. */
nmt_status diagnostics_close(diagnostics *to, nmt_status status, nmt_error *error);

#endif
