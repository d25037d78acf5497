#include "cli/link_file.h"

#include <stdio.h>

#include "cli/command.h"

nmt_status link_file_open(link_file *from, nmt_error *error)
{
    const nmt_status status = nmt_reader_open(&from->reader, command_path(from->path), error);
    if (status != NMT_OK) {
        from->reader = NULL;
    }
    return status;
}

nmt_status link_file_next(link_file *from, bool *ended, nmt_error *error)
{
    const char *line;
    size_t length;
    nmt_status status = nmt_reader_next(from->reader, &line, &length, error);
    if (status != NMT_OK) {
        return status;
    }
    *ended = line == NULL;
    status = nmt_links_parse(&from->links, *ended ? "" : line, from->gold, error);
    if (status != NMT_OK) {
        const nmt_error inner = *error;
        snprintf(error->message, sizeof error->message, "%.400s:%zu: %.600s", command_input_name(from->path),
                 nmt_reader_line(from->reader), inner.message);
    } else if (from->swap) {
        nmt_links_swap(&from->links);
    }
    return status;
}

void link_file_close(link_file *from)
{
    nmt_reader_close(from->reader);
    nmt_links_clear(&from->links);
}

void link_file_write(FILE *file, const nmt_links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        fprintf(file, "%s%lu-%lu", i > 0 ? " " : "", (unsigned long)links->items[i].source,
                (unsigned long)links->items[i].target);
    }
    putc('\n', file);
}
