/* The command line: a table of commands. Results go to standard output, everything else to standard error. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/kernels.h"
#include "cli/message.h"
#include "cli/signals.h"
#include "cli/standard_files.h"
#include "cli/suggest.h"

static const command commands[] = {
    {"train", "train a model from parallel text", cmd_train},
    {"translate", "translate text, line by line", cmd_translate},
    {"align", "attention weights over given sentence pairs", cmd_align},
    {"explain", "one translation step by step, as numbers", cmd_explain},
    {"score", "log probabilities of given sentence pairs", cmd_score},
    {"evaluate", "score translations against references", cmd_evaluate},
    {"links", "join word alignments, measure them against gold links", cmd_links},
    {"info", "what a model file holds, or what the machine can do", cmd_info},
    {"gradcheck", "check every gradient of a configured model", cmd_gradcheck},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void write_usage(FILE *file)
{
    fputs("usage: nmt COMMAND [OPTIONS]\n\n"
          "Trains, runs and inspects attention-based translation models.\n\n"
          "commands:\n",
          file);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(file, "  %-11s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n`nmt COMMAND --help` explains a command, `nmt --version` tells the version and what it was built with.\n"
          "`nmt --blas-core CORE COMMAND` is `nmt COMMAND --blas-core CORE`.\n\n"
          "Results go to standard output, everything else to standard error. Exit status: 0 success, 1 failure,\n"
          "2 misuse of the command line, 128 + n ended by signal n (141: the reader of the output went away).\n",
          file);
}

static void write_version(FILE *file)
{
    fprintf(file, "nmt %s\n%s", nmt_version(), nmt_build_description());
}

static int print(void (*write)(FILE *file))
{
    nmt_error error;
    nmt_writer *writer;
    nmt_status status = nmt_writer_open(&writer, NULL, &error);
    if (status == NMT_OK) {
        write(nmt_writer_file(writer));
        status = nmt_writer_commit(writer, &error);
    }
    return command_end(NULL, status, &error);
}

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int misuse(const char *reason, const char *word)
{
    suggestion nearest = {word, NULL, 0};
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        suggest(&nearest, commands[i].name);
    }
    if (nearest.best != NULL) {
        message(NULL, "%s '%s'; did you mean '%s'? (see nmt --help)", reason, word, nearest.best);
    } else {
        message(NULL, "%s '%s' (see nmt --help)", reason, word);
    }
    return EXIT_MISUSE;
}

/* nmt help [COMMAND] */
static int help(int argc, char **argv)
{
    if (argc == 0) {
        return print(write_usage);
    }
    const command *chosen = find_command(argv[0]);
    if (chosen == NULL) {
        return misuse("unknown command", argv[0]);
    }
    if (argc > 1) {
        return misuse("unexpected argument", argv[1]);
    }
    char option[] = "--help";
    return chosen->run(1, (char *[]){option, NULL});
}

/* `nmt --blas-core CORE COMMAND ...` becomes `nmt COMMAND --blas-core CORE ...`: the option is one of each command. */
static void move_behind_command(int argc, char **argv)
{
    static const char name[] = "--blas-core";
    const char *rest = argc > 1 && strncmp(argv[1], name, strlen(name)) == 0 ? argv[1] + strlen(name) : "?";
    const int words = *rest == '=' ? 1 : *rest == '\0' ? 2 : 0;
    if (words > 0 && argc > 1 + words && find_command(argv[1 + words]) != NULL) {
        char *const command_name = argv[1 + words];
        memmove(&argv[2], &argv[1], (size_t)words * sizeof *argv);
        argv[1] = command_name;
    }
}

int main(int argc, char **argv)
{
    standard_files_fill();
    signals_note_closed_pipe();
    move_behind_command(argc, argv);
    kernels_remember_arguments(argv);
    if (argc < 2) {
        message(NULL, "a command is missing (see nmt --help)");
        return EXIT_MISUSE;
    }
    const char *first = argv[1];
    const bool asks_help = strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0;
    const bool asks_version = strcmp(first, "--version") == 0;
    if ((asks_help || asks_version) && argc > 2) {
        return misuse("unexpected argument", argv[2]);
    }
    if (asks_help) {
        return print(write_usage);
    }
    if (asks_version) {
        return print(write_version);
    }
    if (strcmp(first, "help") == 0) {
        return help(argc - 2, argv + 2);
    }
    const command *chosen = find_command(first);
    if (chosen == NULL) {
        return misuse(first[0] == '-' ? "unknown option" : "unknown command", first);
    }
    return chosen->run(argc - 2, argv + 2);
}
