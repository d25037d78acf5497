/* What the commands share: the table's row, exit statuses, and how a command ends. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <nmt/nmt.h>
#include <stdint.h>
#include <stdlib.h>

/* 0 success, 1 failure (EXIT_FAILURE), 2 misuse, 128 + n: ended by signal n. */
enum { EXIT_MISUSE = 2, EXIT_SIGNAL = 128 };

typedef struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* arguments behind the name; returns the exit status */
} command;

int cmd_train(int argc, char **argv);
int cmd_translate(int argc, char **argv);
int cmd_align(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_score(int argc, char **argv);
int cmd_evaluate(int argc, char **argv);
int cmd_links(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_gradcheck(int argc, char **argv);

/* The exit status for `status`, whose message is told first. A reader that closed our output early is no failure to
 * tell: the end is quiet, as if SIGPIPE had ended the program. */
int command_end(const char *name, nmt_status status, const nmt_error *error);

/* NULL, which stands for standard input or output, where the path is NULL or "-". */
const char *command_path(const char *path);

/* For messages: the path, or "standard input". */
const char *command_input_name(const char *path);

/* Has the library use `threads` threads; 0: one a processor that this process may run on. */
nmt_status command_threads(uint64_t threads, nmt_error *error);

/* Rows of the options that several commands have: an ensemble's models (text_list), how many sentences are worked on
 * together, and the threads (uint64_t both). */
#define MODELS_OPTION(models)                                                                                          \
    {                                                                                                                  \
        .name = "model", .kind = OPTION_LIST, .value = (models), .argument = "FILE", .required = true,                 \
        .help = "the trained model (required); given more than once, the models work\n"                                \
                "together: each probability is the mean of theirs"                                                     \
    }
#define BATCH_SIZE_OPTION(size, what)                                                                                  \
    {                                                                                                                  \
        .name = "batch-size", .kind = OPTION_COUNT, .value = (size), .argument = "N", .least = 1, .most = 4096,        \
        .help = what "; changes the last digits at the most; default: 64"                                              \
    }
#define THREADS_OPTION(threads)                                                                                        \
    {                                                                                                                  \
        .name = "threads", .kind = OPTION_COUNT, .value = (threads), .argument = "N", .most = 1024,                    \
        .help = "threads; default, and 0: one a processor"                                                             \
    }

/* The names of nmt_alignment_format, in its order; ends with NULL. */
extern const char *const alignment_format_names[];

/* What --help says of them. */
#define ALIGNMENT_FORMATS_HELP "long, matrix, pharaoh, terminal, svg, html; default: long"
#define ALIGNMENT_NOTES                                                                                                \
    "formats:\n"                                                                                                       \
    "  long      CSV with the header sentence,target_index,target,source_index,source,weight;\n"                       \
    "            sentences count from 1, tokens from 0\n"                                                              \
    "  matrix    CSV, a block a sentence and an empty line between them: an empty cell and the source\n"               \
    "            tokens, then a row a target token; a sentence without a token is a block of \"\"\n"                   \
    "  pharaoh   a line a sentence of links i-j, source-target, from 0: for each target token the source\n"            \
    "            token of most weight; never </s>, and no link where most weight is on it\n"                           \
    "  terminal  shaded cells to look at, a row a target token\n"                                                      \
    "  svg       a drawing, one heatmap a sentence below the other; it is held in memory until the end\n"              \
    "  html      a page for the browser that needs no network: word by word, with table and measures\n"                \
    "Tokens are those of the model: words, or pieces or characters where it segments text.\n"                          \
    "CSV is quoted as RFC 4180 says; weights have nine significant digits and read back as the same floats."

/* Failures found here, written into `error`; each returns its status. */
nmt_status command_no_memory(nmt_error *error);
nmt_status command_unequal_lines(nmt_error *error, const char *first, size_t first_lines, const char *second,
                                 size_t second_lines);

/*
 * Says in a message about lines that were given to the library, which counts them from 1 in each call, where they
 * stand: the first one is line `first` of the files `source` and `target` (NULL: there is none; "-" is standard input).
 * Returns how many lines of the call stand before the one at fault; SIZE_MAX where that is not said.
 */
size_t command_add_place(nmt_error *error, const char *source, const char *target, size_t first);

#endif
