#include "cli/command.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/signals.h"

const char *const alignment_format_names[] = {
    [NMT_ALIGNMENT_LONG] = "long",
    [NMT_ALIGNMENT_MATRIX] = "matrix",
    [NMT_ALIGNMENT_PHARAOH] = "pharaoh",
    [NMT_ALIGNMENT_TERMINAL] = "terminal",
    [NMT_ALIGNMENT_SVG] = "svg",
    [NMT_ALIGNMENT_HTML] = "html",
    NULL,
};

int command_end(const char *name, nmt_status status, const nmt_error *error)
{
    if (status == NMT_OK) {
        return EXIT_SUCCESS;
    }
    if (status == NMT_IO && signals_pipe_closed()) {
        return EXIT_SIGNAL + SIGPIPE;
    }
    if (status == NMT_INTERRUPTED && signals_caught() != 0) {
        return EXIT_SIGNAL + signals_caught();
    }
    message(name, "%s", error->message);
    return EXIT_FAILURE;
}

const char *command_path(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0 ? NULL : path;
}

const char *command_input_name(const char *path)
{
    return command_path(path) == NULL ? "standard input" : path;
}

nmt_status command_threads(uint64_t threads, nmt_error *error)
{
    nmt_system system;
    nmt_system_report(&system);
    return nmt_set_threads(threads > 0 ? (size_t)threads : system.processors, error);
}

nmt_status command_no_memory(nmt_error *error)
{
    error->status = NMT_NO_MEMORY;
    snprintf(error->message, sizeof error->message, "out of memory for a window of sentences");
    return NMT_NO_MEMORY;
}

nmt_status command_unequal_lines(nmt_error *error, const char *first, size_t first_lines, const char *second,
                                 size_t second_lines)
{
    error->status = NMT_INVALID;
    snprintf(error->message, sizeof error->message, "%s has %zu line%s and %s has %zu: expected as many in both", first,
             first_lines, first_lines == 1 ? "" : "s", second, second_lines);
    return NMT_INVALID;
}

/* What stands behind "PREFIX N: " at the start of the message, and N; NULL where it does not start so. */
static const char *behind_line(const char *message, const char *prefix, size_t *line)
{
    const size_t length = strlen(prefix);
    if (strncmp(message, prefix, length) != 0 || message[length] != ' ' ||
        !isdigit((unsigned char)message[length + 1])) {
        return NULL;
    }
    char *rest;
    *line = strtoul(message + length + 1, &rest, 10);
    return strncmp(rest, ": ", 2) == 0 ? rest + 2 : NULL;
}

size_t command_add_place(nmt_error *error, const char *source, const char *target, size_t first)
{
    static const char *const prefixes[] = {"line", "source line", "target line"};
    const char *const paths[] = {source, source, target};
    const nmt_error inner = *error;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t line;
        const char *rest = behind_line(inner.message, prefixes[i], &line);
        if (rest != NULL) {
            snprintf(error->message, sizeof error->message, "%.300s:%zu: %.690s", command_input_name(paths[i]),
                     first + line - 1, rest);
            return line - 1;
        }
    }
    snprintf(error->message, sizeof error->message, "%.300s: at line %zu or behind it: %.660s",
             command_input_name(source), first, inner.message);
    return SIZE_MAX;
}
