/*
 * Lines from a file descriptor. The buffer is our own, and not stdio's, because would_wait has to know whether a whole
 * line is in it. A line is copied out before it is handed on, so that looking for more input never moves it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/gzip.h"
#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"

enum { READ_SIZE = 1 << 16 };

static const char byte_order_mark[] = "\xef\xbb\xbf";

struct nmt_reader {
    int file;
    bool owned;   /* standard input stays open */
    bool ended;   /* read() has said that nothing follows */
    char *path;   /* for messages */
    char *buffer; /* bytes start .. end-1 are read and not handed out; no newline before `searched` */
    size_t start, searched, end, capacity;
    uint64_t position; /* in the file, of buffer[start] */
    char *line;        /* the line handed out */
    size_t line_length, line_capacity;
    uint64_t line_offset;
    bool recognised; /* as plain text or gzip */
    gzip *from_gzip; /* NULL: plain */
    char *raw;       /* [READ_SIZE] of the compressed file; bytes raw_start .. raw_end-1 are not inflated yet */
    size_t raw_start, raw_end;
    size_t line_number;
};

nmt_status nmt_reader_open(nmt_reader **reader, const char *path, nmt_error *error)
{
    static const char standard_input[] = "standard input";
    TRY(memory_new(reader, 1, sizeof **reader, "a reader", error));
    const char *name = path != NULL ? path : standard_input;
    nmt_status status = memory_copy_text(&(*reader)->path, name, strlen(name), "a path", error);
    (*reader)->file = STDIN_FILENO;
    if (status == NMT_OK && path != NULL) {
        (*reader)->file = open(path, O_RDONLY | O_CLOEXEC);
        (*reader)->owned = (*reader)->file >= 0;
        status = (*reader)->owned ? NMT_OK : io_failure(error, path, "cannot be opened", errno);
    }
    if (status != NMT_OK) {
        nmt_reader_close(*reader);
        *reader = NULL;
    }
    return status;
}

void nmt_reader_close(nmt_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->owned) {
        close(reader->file);
    }
    free(reader->path);
    gzip_free(reader->from_gzip);
    free(reader->raw);
    free(reader->buffer);
    free(reader->line);
    free(reader);
}

/* Whether read() would return at once, with bytes, the end of the file or an error; waits for that if asked to. */
static bool is_readable(const nmt_reader *reader, bool wait)
{
    struct pollfd poller = {.fd = reader->file, .events = POLLIN};
    return poll(&poller, 1, wait ? -1 : 0) != 0;
}

/* Reads once, up to `room` bytes; `*count` is 0 at the end of the file. */
static nmt_status read_some(nmt_reader *reader, char *to, size_t room, size_t *count, nmt_error *error)
{
    for (;;) {
        const ssize_t found = read(reader->file, to, room);
        if (found >= 0) {
            *count = (size_t)found;
            return NMT_OK;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            is_readable(reader, true);
        } else if (errno != EINTR) {
            return io_failure(error, reader->path, "cannot be read", errno);
        }
    }
}

/* Inflates into the buffer, reading on until that gives something. */
static nmt_status fill_from_gzip(nmt_reader *reader, nmt_error *error)
{
    size_t given = 0;
    while (given == 0) {
        if (reader->raw_start == reader->raw_end) {
            reader->raw_start = reader->raw_end = 0;
            TRY(read_some(reader, reader->raw, READ_SIZE, &reader->raw_end, error));
            if (reader->raw_end == 0) {
                TRY(gzip_end(reader->from_gzip, error));
                reader->ended = true;
                return NMT_OK;
            }
        }
        size_t taken = reader->raw_end - reader->raw_start;
        given = reader->capacity - reader->end;
        TRY(gzip_inflate(reader->from_gzip, reader->raw + reader->raw_start, &taken, reader->buffer + reader->end,
                         &given, error));
        reader->raw_start += taken;
    }
    reader->end += given;
    return NMT_OK;
}

/* Looks at the first bytes of the file, once there are enough: compressed ones go where they are inflated from. */
static nmt_status recognise(nmt_reader *reader, nmt_error *error)
{
    if (reader->end < GZIP_MAGIC_SIZE && !reader->ended) {
        return NMT_OK;
    }
    if (!gzip_is(reader->buffer, reader->end)) {
        reader->recognised = true;
        return NMT_OK;
    }
    TRY(gzip_create(&reader->from_gzip, reader->path, error));
    TRY(memory_new(&reader->raw, reader->end > READ_SIZE ? reader->end : READ_SIZE, 1, "a line of text", error));
    memcpy(reader->raw, reader->buffer, reader->end);
    reader->raw_end = reader->end;
    reader->end = 0;
    reader->recognised = true;
    reader->ended = false; /* of what it holds, nothing has been read yet */
    return NMT_OK;
}

/* Reads once more into the buffer. */
static nmt_status fill(nmt_reader *reader, nmt_error *error)
{
    if (reader->start > 0 && reader->capacity - reader->end < READ_SIZE) {
        memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
        reader->searched -= reader->start;
        reader->end -= reader->start;
        reader->start = 0;
    }
    TRY(memory_grow(&reader->buffer, &reader->capacity, reader->end + READ_SIZE, 1, "a line of text", error));
    if (reader->from_gzip != NULL) {
        return fill_from_gzip(reader, error);
    }
    size_t count = 0;
    TRY(read_some(reader, reader->buffer + reader->end, reader->capacity - reader->end, &count, error));
    reader->end += count;
    reader->ended = count == 0;
    return reader->recognised ? NMT_OK : recognise(reader, error);
}

/* The newline that ends the next line, or NULL when it is not in the buffer. */
static const char *find_newline(nmt_reader *reader)
{
    if (reader->searched == reader->end) {
        return NULL;
    }
    const char *newline = memchr(reader->buffer + reader->searched, '\n', reader->end - reader->searched);
    reader->searched = newline != NULL ? (size_t)(newline - reader->buffer) : reader->end;
    return newline;
}

/* `skipped` bytes of the line stood before what is handed out. */
static nmt_status check_line(const nmt_reader *reader, size_t skipped, nmt_error *error)
{
    const char *text = reader->line;
    const char *nul = memchr(text, '\0', reader->line_length);
    const size_t limit = nul != NULL ? (size_t)(nul - text) : reader->line_length;
    const size_t at = utf8_error(text, limit);
    if (at == reader->line_length) {
        return NMT_OK;
    }
    const char *name = quote_path(&(path_quotation){{0}}, reader->path);
    if (at == limit) {
        return error_set(error, NMT_INVALID, "%s:%zu: byte %zu is a NUL, which no text holds", name,
                         reader->line_number, skipped + at + 1);
    }
    return error_set(error, NMT_INVALID, "%s:%zu: byte %zu is not valid UTF-8 (0x%02x)", name, reader->line_number,
                     skipped + at + 1, (unsigned)(unsigned char)text[at]);
}

/* Hands out the first `length` bytes of the buffer, of which `consumed` (with the newline) are used up. */
static nmt_status take_line(nmt_reader *reader, size_t length, size_t consumed, nmt_error *error)
{
    const char *text = reader->buffer + reader->start;
    const size_t mark = sizeof byte_order_mark - 1;
    const bool first = reader->line_number == 0;
    const size_t skipped = first && length >= mark && memcmp(text, byte_order_mark, mark) == 0 ? mark : 0;
    TRY(memory_grow(&reader->line, &reader->line_capacity, length + 1, 1, "a line of text", error));
    reader->line_length = length - skipped;
    memcpy(reader->line, text + skipped, reader->line_length);
    reader->line[reader->line_length] = '\0';
    reader->line_number++;
    reader->line_offset = reader->position + skipped;
    reader->start += consumed;
    reader->searched = reader->start;
    reader->position += consumed;
    return check_line(reader, skipped, error);
}

/* What stands between the last newline and the end of the file is a line as well, unless it is nothing. */
static bool has_last_line(const nmt_reader *reader)
{
    const size_t length = reader->end - reader->start;
    const size_t mark = sizeof byte_order_mark - 1;
    const bool only_mark = reader->line_number == 0 && length == mark &&
                           memcmp(reader->buffer + reader->start, byte_order_mark, mark) == 0;
    return length > 0 && !only_mark;
}

nmt_status nmt_reader_next(nmt_reader *reader, const char **line, size_t *length, nmt_error *error)
{
    *line = NULL;
    *length = 0;
    const char *newline = NULL;
    while (!reader->recognised || ((newline = find_newline(reader)) == NULL && !reader->ended)) {
        TRY(fill(reader, error));
    }
    if (newline == NULL && !has_last_line(reader)) {
        return NMT_OK;
    }
    const char *text = reader->buffer + reader->start;
    size_t consumed = reader->end - reader->start;
    size_t text_length = consumed;
    if (newline != NULL) {
        text_length = (size_t)(newline - text);
        consumed = text_length + 1;
        text_length -= text_length > 0 && newline[-1] == '\r';
    }
    TRY(take_line(reader, text_length, consumed, error));
    *line = reader->line;
    *length = reader->line_length;
    return NMT_OK;
}

bool nmt_reader_would_wait(nmt_reader *reader)
{
    while (!reader->recognised || (find_newline(reader) == NULL && !reader->ended)) {
        if (reader->raw_start == reader->raw_end && !is_readable(reader, false)) {
            return true;
        }
        if (fill(reader, NULL) != NMT_OK) {
            return false; /* the next call of nmt_reader_next meets the same fault and reports it */
        }
    }
    return false;
}

size_t nmt_reader_line(const nmt_reader *reader)
{
    return reader->line_number;
}

uint64_t io_reader_offset(const nmt_reader *reader)
{
    return reader->line_offset;
}
