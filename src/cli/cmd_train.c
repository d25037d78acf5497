/* nmt train: a configuration in, a model and its history out. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/signals.h"

typedef struct train_options {
    const char *config;
    text_list settings;
    const char *output;
    uint64_t threads, seed;
    bool resume, overwrite, quiet, help_config;
} train_options;

static const uint64_t unset = UINT64_MAX; /* of --threads and --seed: a number that cannot be typed */

static bool parse(train_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "set",
         .kind = OPTION_LIST,
         .value = &chosen->settings,
         .argument = "KEY=VALUE",
         .help = "override a key of the configuration, e.g. training.epochs=3;\nmay be given many times"},
        {.name = "output",
         .kind = OPTION_TEXT,
         .value = &chosen->output,
         .argument = "DIR",
         .help = "where model, state and log go (output.directory)"},
        {.name = "threads",
         .kind = OPTION_COUNT,
         .value = &chosen->threads,
         .argument = "N",
         .most = 1024,
         .help = "threads; 0: one a processor (training.threads)"},
        {.name = "seed",
         .kind = OPTION_COUNT,
         .value = &chosen->seed,
         .argument = "N",
         .most = UINT64_MAX - 1,
         .help = "seed of every random draw (training.seed)"},
        {.name = "resume",
         .kind = OPTION_FLAG,
         .value = &chosen->resume,
         .help = "go on from the state in the output directory"},
        {.name = "overwrite",
         .kind = OPTION_FLAG,
         .value = &chosen->overwrite,
         .help = "start anew where the output directory holds a run already"},
        {.name = "quiet", .kind = OPTION_FLAG, .value = &chosen->quiet, .help = "no log and no progress, only errors"},
        {.name = "help-config",
         .kind = OPTION_FLAG,
         .value = &chosen->help_config,
         .help = "print every key of a configuration with its meaning, default\nand range"},
    };
    const syntax line = {
        .command = "train",
        .usage = "CONFIG [OPTIONS]\n       nmt train --help-config",
        .summary =
            "Trains a model as the JSON file CONFIG says. The output directory gets model.safetensors (the best\n"
            "model so far), last.state (what --resume needs) and log.jsonl.",
        .notes = "SIGINT and SIGTERM end the current update, save the state and exit with 128 + n; a second one ends\n"
                 "at once and leaves the state saved before as it is.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand = "CONFIG",
        .operand_value = &chosen->config,
    };
    if (!options_parse(&line, argc, argv, status)) {
        return false;
    }
    if (chosen->config == NULL && !chosen->help_config) {
        *status = options_misuse(&line, "the CONFIG file is missing");
    } else if (chosen->resume && chosen->overwrite) {
        *status = options_misuse(&line, "--resume and --overwrite exclude each other");
    }
    for (size_t i = 0; i < chosen->settings.count && *status == 0; i++) {
        *status = options_check_setting(&line, chosen->settings.items[i]);
    }
    return *status == 0;
}

/* Options that stand for keys of the configuration, as overrides; they come last, behind every --set. */
typedef struct shorthands {
    char threads[64], seed[64];
    char *output; /* owned */
} shorthands;

/* output.directory="...", a JSON string, so that a directory named 3 or true stays a name. */
static char *output_override(const char *directory)
{
    static const char key[] = "output.directory=\"";
    char *text = malloc(sizeof key + 6 * strlen(directory) + 1);
    if (text == NULL) {
        return NULL;
    }
    size_t used = (size_t)sprintf(text, "%s", key);
    for (; *directory != '\0'; directory++) {
        const unsigned char byte = (unsigned char)*directory;
        if (byte == '"' || byte == '\\') {
            text[used++] = '\\';
            text[used++] = (char)byte;
        } else if (byte < 0x20) {
            used += (size_t)sprintf(text + used, "\\u%04x", byte);
        } else {
            text[used++] = (char)byte;
        }
    }
    text[used++] = '"';
    text[used] = '\0';
    return text;
}

static bool add_shorthands(shorthands *texts, train_options *chosen)
{
    bool added = true;
    if (chosen->output != NULL) {
        texts->output = output_override(chosen->output);
        added = texts->output != NULL && text_list_add(&chosen->settings, texts->output);
    }
    if (chosen->threads != unset) {
        snprintf(texts->threads, sizeof texts->threads, "training.threads=%llu", (unsigned long long)chosen->threads);
        added = added && text_list_add(&chosen->settings, texts->threads);
    }
    if (chosen->seed != unset) {
        snprintf(texts->seed, sizeof texts->seed, "training.seed=%llu", (unsigned long long)chosen->seed);
        added = added && text_list_add(&chosen->settings, texts->seed);
    }
    return added;
}

static nmt_status load_config(nmt_config **config, train_options *chosen, nmt_error *error)
{
    shorthands texts = {0};
    nmt_status status = NMT_NO_MEMORY;
    snprintf(error->message, sizeof error->message, "out of memory for the command line");
    if (add_shorthands(&texts, chosen)) {
        status = nmt_config_load(config, chosen->config, chosen->settings.items, chosen->settings.count, error);
    }
    free(texts.output);
    return status;
}

static bool should_stop(void *context)
{
    (void)context;
    return signals_caught() != 0;
}

static int train(train_options *chosen)
{
    nmt_error error = {0};
    nmt_config *config = NULL;
    nmt_status status = load_config(&config, chosen, &error);
    if (status == NMT_OK) {
        progress shown;
        progress_begin(&shown, chosen->quiet);
        signals_catch();
        const nmt_train_observer observer = {&shown, progress_log, progress_update, should_stop};
        const nmt_train_options options = {.resume = chosen->resume, .overwrite = chosen->overwrite};
        status = nmt_train(config, &options, &observer, &error);
        progress_end(&shown);
    }
    nmt_config_free(config);
    if (status == NMT_INTERRUPTED && !chosen->quiet) {
        message("train", "%s: %s", signals_caught() != 0 ? strsignal(signals_caught()) : "as asked", error.message);
    }
    return command_end("train", status, &error);
}

static int print_config_help(void)
{
    nmt_error error;
    nmt_writer *writer;
    nmt_status status = nmt_writer_open(&writer, NULL, &error);
    if (status == NMT_OK) {
        char *text = nmt_config_help();
        fputs(text != NULL ? text : "", nmt_writer_file(writer));
        status = nmt_writer_commit(writer, &error);
        if (text == NULL && status == NMT_OK) {
            status = NMT_NO_MEMORY;
            snprintf(error.message, sizeof error.message, "out of memory for the help text");
        }
        nmt_free(text);
    }
    return command_end("train", status, &error);
}

int cmd_train(int argc, char **argv)
{
    train_options chosen = {.threads = unset, .seed = unset};
    int status;
    if (parse(&chosen, argc, argv, &status)) {
        status = chosen.help_config ? print_config_help() : train(&chosen);
    }
    text_list_free(&chosen.settings);
    return status;
}
