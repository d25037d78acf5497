#include "cli/lines.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/signals.h"

enum { WINDOW_BYTES = 1 << 20, WAIT_MILLISECONDS = 100 };

static nmt_status out_of_memory(size_t bytes, nmt_error *error)
{
    error->status = NMT_NO_MEMORY;
    snprintf(error->message, sizeof error->message, "out of memory: lines of text need %zu bytes", bytes);
    return NMT_NO_MEMORY;
}

nmt_status lines_add(line_list *list, const char *line, size_t length, nmt_error *error)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        char **grown = realloc(list->lines, capacity * sizeof *grown);
        if (grown == NULL) {
            return out_of_memory(capacity * sizeof *grown, error);
        }
        list->lines = grown;
        list->capacity = capacity;
    }
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        return out_of_memory(length + 1, error);
    }
    memcpy(copy, line, length);
    copy[length] = '\0';
    list->lines[list->count++] = copy;
    list->bytes += length;
    return NMT_OK;
}

void lines_clear(line_list *list)
{
    while (list->count > 0) {
        free(list->lines[--list->count]);
    }
    list->bytes = 0;
}

void lines_free(line_list *list)
{
    lines_clear(list);
    free(list->lines);
    *list = (line_list){0};
}

nmt_status lines_read_all(line_list *list, nmt_reader *reader, nmt_error *error)
{
    for (;;) {
        const char *line;
        size_t length;
        nmt_status status = nmt_reader_next(reader, &line, &length, error);
        if (status == NMT_OK && line != NULL) {
            status = lines_add(list, line, length, error);
        }
        if (status != NMT_OK || line == NULL) {
            return status;
        }
    }
}

nmt_status lines_count_rest(size_t *count, nmt_reader *reader, nmt_error *error)
{
    *count = 0;
    for (;;) {
        const char *line;
        size_t length;
        const nmt_status status = nmt_reader_next(reader, &line, &length, error);
        if (status != NMT_OK || line == NULL) {
            return status;
        }
        ++*count;
    }
}

bool lines_have_room(const line_list *list, size_t most)
{
    return list->count < most && list->bytes < WINDOW_BYTES;
}

nmt_status lines_wait(nmt_reader *reader, const char *path, nmt_error *error)
{
    struct pollfd input = {.fd = path == NULL ? STDIN_FILENO : -1, .events = POLLIN};
    while (signals_caught() == 0) {
        if (!nmt_reader_would_wait(reader)) {
            return NMT_OK;
        }
        poll(&input, 1, WAIT_MILLISECONDS);
    }
    error->status = NMT_INTERRUPTED;
    snprintf(error->message, sizeof error->message, "stopped by signal %d", signals_caught());
    return NMT_INTERRUPTED;
}
