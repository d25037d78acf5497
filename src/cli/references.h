/* What translations are scored against: texts of reference lines, or lists of accepted answers. */
#ifndef CLI_REFERENCES_H
#define CLI_REFERENCES_H

#include "cli/lines.h"
#include "cli/options.h"

typedef struct references {
    const char *const **texts; /* [count] texts of `lines` lines; a line may be NULL in all but the first */
    size_t count, lines;
    line_list *lists; /* [list_count] what the lines stand in */
    size_t list_count;
    const char **answers; /* [count][lines] where they are accepted answers */
} references;

/* All lines of `path` (or standard input). */
nmt_status references_read_lines(line_list *list, const char *path, nmt_error *error);

/* A text for each path, all of as many lines. */
nmt_status references_read(references *to, const text_list *paths, nmt_error *error);

/* A line a source, then its accepted answers, each behind a tab. */
nmt_status references_read_accepted(references *to, const char *path, nmt_error *error);

void references_free(references *it);

#endif
