/* Lines held at once: a window on a text of any size, or all of it. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <nmt/io.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct line_list {
    char **lines;
    size_t count, capacity;
    size_t bytes; /* of text */
} line_list;

nmt_status lines_add(line_list *list, const char *line, size_t length, nmt_error *error);
void lines_clear(line_list *list); /* keeps the room for the next window */
void lines_free(line_list *list);

/* All lines that follow. */
nmt_status lines_read_all(line_list *list, nmt_reader *reader, nmt_error *error);

/* Counts the lines that follow, which are not kept. */
nmt_status lines_count_rest(size_t *count, nmt_reader *reader, nmt_error *error);

/* Room in a window for another line: `most` lines, and a bound on their bytes, keep memory bounded. */
bool lines_have_room(const line_list *list, size_t most);

/* Waits until `reader` (on standard input where its path was NULL) has a line or its end. Errors: NMT_INTERRUPTED when
 * a signal came first (signals_caught). */
nmt_status lines_wait(nmt_reader *reader, const char *path, nmt_error *error);

#endif
