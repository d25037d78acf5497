/*
 * The options of a command: one table that parses them and prints them for --help, the same for every command.
 * `--name value` and `--name=value` are the same; `--` ends the options; a single operand may stand anywhere. Every
 * command has --help and --blas-core besides.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char * */
    OPTION_LIST,   /* text_list: the only kind that may be given more than once */
    OPTION_COUNT,  /* uint64_t, decimal digits, at least `least`, at most `most` (0: no bound) */
    OPTION_NUMBER, /* double, over 0 */
    OPTION_SIGNED, /* double, of either sign */
    OPTION_CHOICE  /* size_t: the place in `choices` */
} option_kind;

typedef struct option {
    const char *name; /* without its dashes */
    option_kind kind;
    void *value;          /* of the type that the kind says */
    const char *argument; /* what --help calls the value: "FILE" */
    const char *help;     /* further lines after '\n' */
    bool required;
    uint64_t least, most;
    const char *const *choices; /* ends with NULL */
} option;

typedef struct text_list {
    const char **items;
    size_t count;
} text_list;

/* Everything about a command's line. */
typedef struct syntax {
    const char *command;
    const char *usage;   /* what follows "nmt COMMAND " */
    const char *summary; /* first paragraph of --help */
    const char *notes;   /* last paragraph of --help; NULL: none */
    const option *options;
    size_t option_count;
    const char *operand;        /* NULL: the command takes none */
    const char **operand_value; /* stays NULL where it was not given: the command says whether it must be */
    bool no_products;           /* the command multiplies no matrices, so that --blas-core is all the same to it */
} syntax;

enum { OPTIONS_CAPACITY = 32 };

/* Fills the values of what was given; the others keep what they were. `argv` starts behind the command's name. Then
 * BLAS is made to have the right kernels (cli/kernels.h), for which the program may start again.
 * Returns true to go on. False: --help was printed or the misuse was told, and `*status` is the exit status.
 * Lists are the caller's, also then: text_list_free. */
bool options_parse(const syntax *line, int argc, char **argv, int *status);

/* Adds a text that is borrowed; false when out of memory. */
bool text_list_add(text_list *list, const char *text);
void text_list_free(text_list *list);

/* A finite number in decimal digits; false for any other text. */
bool options_number(double *value, const char *text);

/* 0, or the status of misuse, which is told, when a --set has no KEY=. */
int options_check_setting(const syntax *line, const char *setting);

/* Tells what is wrong with the line in one line, and where help is; returns the exit status of misuse. */
int options_misuse(const syntax *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
