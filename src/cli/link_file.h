/* A file of links, a line a sentence. */
#ifndef CLI_LINK_FILE_H
#define CLI_LINK_FILE_H

#include <nmt/io.h>
#include <nmt/links.h>
#include <stdbool.h>

typedef struct link_file {
    const char *path; /* "-": standard input */
    bool gold;        /* `ipj` is a possible link */
    bool swap;        /* the file names the target token first */
    nmt_reader *reader;
    nmt_links links; /* of the line last read */
} link_file;

/* With the first three set and the others zero. */
nmt_status link_file_open(link_file *from, nmt_error *error);

/* The next line's links, the source token first. Faults are told with path and line. */
nmt_status link_file_next(link_file *from, bool *ended, nmt_error *error);

void link_file_close(link_file *from);

/* Writes a line. */
void link_file_write(FILE *file, const nmt_links *links);

#endif
