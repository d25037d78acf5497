#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/kernels.h"
#include "cli/message.h"
#include "cli/suggest.h"

enum { SHARED_COUNT = 1 };

/* Where parsing stands. */
typedef struct parser {
    const syntax *line;
    int argc, next;
    char **argv;
    option shared[SHARED_COUNT]; /* the options that every command has */
    const char *blas_core;
    bool seen[OPTIONS_CAPACITY + SHARED_COUNT];
    bool help;
    int status; /* of misuse; 0 while all is well */
} parser;

int options_misuse(const syntax *line, const char *format, ...)
{
    char reason[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    message(line->command, "%s (see nmt %s --help)", reason, line->command);
    return EXIT_MISUSE;
}

int options_check_setting(const syntax *line, const char *setting)
{
    const char *equals = strchr(setting, '=');
    return equals != NULL && equals != setting
               ? 0
               : options_misuse(line, "option --set: expected KEY=VALUE, found '%s'", setting);
}

static bool parse_digits(uint64_t *value, const char *text)
{
    uint64_t sum = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        const unsigned digit = (unsigned)(*text - '0');
        if (digit > 9 || sum > (UINT64_MAX - digit) / 10) {
            return false;
        }
        sum = 10 * sum + digit;
    }
    *value = sum;
    return true;
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* Digits with a point among or around them, a sign before and an exponent behind them: none of what strtod would take
 * besides. */
bool options_number(double *value, const char *text)
{
    const char *start = text + (*text == '-');
    const char *cursor = skip_digits(start);
    size_t digits = (size_t)(cursor - start);
    if (*cursor == '.') {
        const char *fraction = ++cursor;
        cursor = skip_digits(cursor);
        digits += (size_t)(cursor - fraction);
    }
    if (digits > 0 && (*cursor == 'e' || *cursor == 'E')) {
        cursor += cursor[1] == '-' || cursor[1] == '+' ? 2 : 1;
        if (skip_digits(cursor) == cursor) {
            return false;
        }
        cursor = skip_digits(cursor);
    }
    *value = strtod(text, NULL); /* the program never leaves the "C" locale */
    return digits > 0 && *cursor == '\0' && isfinite(*value);
}

static int set_count(const syntax *line, const option *chosen, const char *text)
{
    const uint64_t most = chosen->most > 0 ? chosen->most : UINT64_MAX;
    uint64_t value;
    if (!parse_digits(&value, text) || value < chosen->least || value > most) {
        return options_misuse(line, "option --%s: expected a whole number from %llu to %llu, found '%s'", chosen->name,
                              (unsigned long long)chosen->least, (unsigned long long)most, text);
    }
    *(uint64_t *)chosen->value = value;
    return 0;
}

static int set_number(const syntax *line, const option *chosen, const char *text)
{
    const bool any = chosen->kind == OPTION_SIGNED;
    double value;
    if (!options_number(&value, text) || (!any && value <= 0)) {
        return options_misuse(line, "option --%s: expected a number%s, found '%s'", chosen->name, any ? "" : " over 0",
                              text);
    }
    *(double *)chosen->value = value;
    return 0;
}

static int set_choice(const syntax *line, const option *chosen, const char *text)
{
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; chosen->choices[i] != NULL; i++) {
        if (strcmp(chosen->choices[i], text) == 0) {
            *(size_t *)chosen->value = i;
            return 0;
        }
        if (used < sizeof known) {
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", chosen->choices[i]);
        }
    }
    return options_misuse(line, "option --%s: expected one of %s, found '%s'", chosen->name, known, text);
}

static int add_item(const syntax *line, text_list *list, const char *text)
{
    if (text_list_add(list, text)) {
        return 0;
    }
    message(line->command, "out of memory for the command line");
    return EXIT_FAILURE;
}

static int set_value(const syntax *line, const option *chosen, const char *text)
{
    switch (chosen->kind) {
    case OPTION_FLAG:
        *(bool *)chosen->value = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)chosen->value = text;
        return *text != '\0' ? 0 : options_misuse(line, "option --%s: its value is empty", chosen->name);
    case OPTION_LIST:
        return add_item(line, chosen->value, text);
    case OPTION_COUNT:
        return set_count(line, chosen, text);
    case OPTION_NUMBER:
    case OPTION_SIGNED:
        return set_number(line, chosen, text);
    case OPTION_CHOICE:
        return set_choice(line, chosen, text);
    }
    return 0;
}

static size_t option_count(const parser *state)
{
    return state->line->option_count + SHARED_COUNT;
}

/* The command's options, then those that every command has. */
static const option *option_at(const parser *state, size_t i)
{
    return i < state->line->option_count ? &state->line->options[i] : &state->shared[i - state->line->option_count];
}

static int unknown_option(const parser *state, const char *name, size_t length)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(length < sizeof typed ? length : sizeof typed - 1), name);
    suggestion nearest = {typed, NULL, 0};
    for (size_t i = 0; i < option_count(state); i++) {
        suggest(&nearest, option_at(state, i)->name);
    }
    suggest(&nearest, "help");
    if (nearest.best != NULL) {
        return options_misuse(state->line, "unknown option --%s; did you mean --%s?", typed, nearest.best);
    }
    return options_misuse(state->line, "unknown option --%s", typed);
}

/* The place of the option `text` (behind its dashes, up to '=' or the end), or the count of options. */
static size_t find_option(const parser *state, const char *text, size_t length)
{
    size_t i = 0;
    while (i < option_count(state) &&
           (strncmp(option_at(state, i)->name, text, length) != 0 || option_at(state, i)->name[length] != '\0')) {
        i++;
    }
    return i;
}

/* The value of an option: behind its '=', or the next argument. */
static const char *option_value(parser *state, const option *chosen, const char *equals)
{
    if (equals != NULL) {
        return equals + 1;
    }
    const char *next = state->next < state->argc ? state->argv[state->next] : NULL;
    if (next == NULL) {
        state->status = options_misuse(state->line, "option --%s needs a value %s", chosen->name, chosen->argument);
    } else if (strncmp(next, "--", 2) == 0) {
        state->status = options_misuse(state->line,
                                       "option --%s needs a value %s; one that starts with dashes is written "
                                       "--%s=%s",
                                       chosen->name, chosen->argument, chosen->name, next);
        next = NULL;
    } else {
        state->next++;
    }
    return next;
}

static void parse_option(parser *state, const char *text)
{
    const syntax *line = state->line;
    const char *equals = strchr(text, '=');
    const size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const size_t place = find_option(state, text, length);
    const option *chosen = place < option_count(state) ? option_at(state, place) : NULL;
    if (length == strlen("help") && strncmp(text, "help", length) == 0 && equals == NULL) {
        state->help = true;
    } else if (chosen == NULL) {
        state->status = unknown_option(state, text, length);
    } else if (chosen->kind == OPTION_FLAG && equals != NULL) {
        state->status = options_misuse(line, "option --%s takes no value", chosen->name);
    } else if (state->seen[place] && chosen->kind != OPTION_LIST) {
        state->status = options_misuse(line, "option --%s is given twice", chosen->name);
    } else {
        state->seen[place] = true;
        const char *value = chosen->kind == OPTION_FLAG ? "" : option_value(state, chosen, equals);
        if (value != NULL) {
            state->status = set_value(line, chosen, value);
        }
    }
}

static void take_operand(parser *state, const char *text)
{
    const syntax *line = state->line;
    if (line->operand == NULL || *line->operand_value != NULL) {
        state->status = options_misuse(line, "unexpected argument '%s'", text);
    } else {
        *line->operand_value = text;
    }
}

static void check_required(parser *state)
{
    for (size_t i = 0; i < state->line->option_count && state->status == 0; i++) {
        const option *entry = &state->line->options[i];
        if (entry->required && !state->seen[i]) {
            state->status = options_misuse(state->line, "option --%s %s is missing", entry->name, entry->argument);
        }
    }
}

static void print_option(FILE *file, const char *name, const char *argument, const char *help)
{
    enum { COLUMN = 28 };
    int used = fprintf(file, "  --%s%s%s", name, argument != NULL ? " " : "", argument != NULL ? argument : "");
    for (const char *rest = help; *rest != '\0';) {
        const size_t length = strcspn(rest, "\n");
        fprintf(file, "%*s%.*s\n", used < COLUMN ? COLUMN - used : 1, "", (int)length, rest);
        rest += length + (rest[length] == '\n');
        used = 0;
    }
}

static int print_help(const parser *state)
{
    const syntax *line = state->line;
    nmt_error error;
    nmt_writer *writer;
    nmt_status status = nmt_writer_open(&writer, NULL, &error);
    if (status == NMT_OK) {
        FILE *file = nmt_writer_file(writer);
        fprintf(file, "usage: nmt %s %s\n\n%s\n\noptions:\n", line->command, line->usage, line->summary);
        for (size_t i = 0; i < option_count(state); i++) {
            const option *entry = option_at(state, i);
            print_option(file, entry->name, entry->argument, entry->help);
        }
        print_option(file, "help", NULL, "this text");
        if (line->notes != NULL) {
            fprintf(file, "\n%s\n", line->notes);
        }
        status = nmt_writer_commit(writer, &error);
    }
    return command_end(line->command, status, &error);
}

bool options_parse(const syntax *line, int argc, char **argv, int *status)
{
    parser state = {.line = line, .argc = argc, .argv = argv, .blas_core = "auto"};
    state.shared[0] = (option){.name = "blas-core",
                               .kind = OPTION_TEXT,
                               .value = &state.blas_core,
                               .argument = "CORE",
                               .help = "OpenBLAS's kernels: auto (better ones where it chose poorly),\n"
                                       "keep, or a name, e.g. Haswell; default: auto"};
    bool only_operands = false;
    while (state.next < argc && state.status == 0 && !state.help) {
        const char *text = argv[state.next++];
        if (only_operands || text[0] != '-' || text[1] == '\0') {
            take_operand(&state, text);
        } else if (strcmp(text, "--") == 0) {
            only_operands = true;
        } else if (strcmp(text, "-h") == 0) {
            state.help = true;
        } else if (text[1] != '-') {
            state.status = options_misuse(line, "unknown option %s", text);
        } else {
            parse_option(&state, text + 2);
        }
    }
    if (state.status == 0 && state.help) {
        *status = print_help(&state);
        return false;
    }
    if (state.status == 0) {
        check_required(&state);
    }
    if (state.status == 0 && !line->no_products) {
        state.status = kernels_settle(state.blas_core);
    }
    *status = state.status;
    return state.status == 0;
}

bool text_list_add(text_list *list, const char *text)
{
    const char **grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    grown[list->count++] = text;
    list->items = grown;
    return true;
}

void text_list_free(text_list *list)
{
    free(list->items);
    *list = (text_list){0};
}
