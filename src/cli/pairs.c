#include "cli/pairs.h"

#include "cli/command.h"

nmt_status pairs_open(pairs *from, const char *source, const char *target, size_t most, nmt_error *error)
{
    from->source.path = command_path(source);
    from->target.path = command_path(target);
    from->most = most;
    const nmt_status status = nmt_reader_open(&from->source.reader, from->source.path, error);
    return status == NMT_OK ? nmt_reader_open(&from->target.reader, from->target.path, error) : status;
}

static void close_side(pair_side *side)
{
    nmt_reader_close(side->reader);
    lines_free(&side->window);
}

void pairs_close(pairs *from)
{
    close_side(&from->source);
    close_side(&from->target);
}

/* One side has ended before the other, of which the line in hand is the last one read. */
static nmt_status unequal_lines(const pairs *from, bool source_ended, nmt_error *error)
{
    size_t rest;
    const nmt_status status = lines_count_rest(&rest, source_ended ? from->target.reader : from->source.reader, error);
    if (status != NMT_OK) {
        return status;
    }
    return command_unequal_lines(error, command_input_name(from->source.path), nmt_reader_line(from->source.reader),
                                 command_input_name(from->target.path), nmt_reader_line(from->target.reader));
}

static nmt_status read_line(pair_side *side, const char **line, nmt_error *error)
{
    size_t length;
    nmt_status status = lines_wait(side->reader, side->path, error);
    if (status == NMT_OK) {
        status = nmt_reader_next(side->reader, line, &length, error);
    }
    return status == NMT_OK && *line != NULL ? lines_add(&side->window, *line, length, error) : status;
}

static bool goes_on(const pairs *from)
{
    return lines_have_room(&from->source.window, from->most) && lines_have_room(&from->target.window, from->most) &&
           !nmt_reader_would_wait(from->source.reader) && !nmt_reader_would_wait(from->target.reader);
}

nmt_status pairs_fill(pairs *from, bool *ended, nmt_error *error)
{
    do {
        const char *source;
        const char *target;
        nmt_status status = read_line(&from->source, &source, error);
        if (status == NMT_OK) {
            status = read_line(&from->target, &target, error);
        }
        if (status != NMT_OK) {
            return status;
        }
        if ((source == NULL) != (target == NULL)) {
            return unequal_lines(from, source == NULL, error);
        }
        *ended = source == NULL;
    } while (!*ended && goes_on(from));
    return NMT_OK;
}

void pairs_clear(pairs *from)
{
    lines_clear(&from->source.window);
    lines_clear(&from->target.window);
}

void pairs_add_place(const pairs *from, nmt_error *error)
{
    const size_t last = nmt_reader_line(from->source.reader);
    command_add_place(error, from->source.path, from->target.path, last - from->source.window.count + 1);
}
