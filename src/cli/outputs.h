/* The files that a command writes, where it writes several: no two may be one. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include <stddef.h>

#include "cli/options.h"

typedef struct output_file {
    const char *name; /* for messages: its option, or what is written */
    const char *path; /* NULL or "-": standard output */
} output_file;

/* 0, or the status of misuse, which is told: two outputs are one file, or both standard output. What was written first
 * would be lost. */
int outputs_check(const syntax *line, const output_file *outputs, size_t count);

#endif
