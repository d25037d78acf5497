/** Lines in, files out: text read with its faults named, files that appear whole or not at all. */
#ifndef NMT_IO_H
#define NMT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nmt_reader nmt_reader;

/**
 * Opens UTF-8 text for reading line by line. `path` NULL reads standard input, named "standard input" in messages.
 * A byte-order mark at the start and the carriage return of a CRLF are stripped. Errors: NMT_IO.
 */
NMT_API nmt_status nmt_reader_open(nmt_reader **reader, const char *path, nmt_error *error);

/**
 * The next line without its newline, with a NUL behind it, borrowed until the next call of this function; `*line` is
 * NULL at the end of the text.
 * Errors: NMT_INVALID naming path, line and byte (from 1) for text that is not UTF-8 or holds a NUL, after which the
 * next call goes on with the next line; NMT_UNSUPPORTED for a compressed file; NMT_IO.
 */
NMT_API nmt_status nmt_reader_next(nmt_reader *reader, const char **line, size_t *length, nmt_error *error);

/** True when the next line cannot be had without waiting for its writer: the moment to answer what was read so far. */
NMT_API bool nmt_reader_would_wait(nmt_reader *reader);

/** Number of the line last returned, from 1. */
NMT_API size_t nmt_reader_line(const nmt_reader *reader);

NMT_API void nmt_reader_close(nmt_reader *reader);

typedef struct nmt_writer nmt_writer;

/**
 * Opens `path` for writing through a temporary file beside it; `path` NULL writes to standard output. A path that is
 * there and is not a regular file (a pipe, a terminal, /dev/null) is written directly. A new file gets the mode that
 * the process gives new files, a replaced one keeps its own. Errors: NMT_IO, naming the path and the cause.
 */
NMT_API nmt_status nmt_writer_open(nmt_writer **writer, const char *path, nmt_error *error);

/** The stream to write to; borrowed until commit or abandon. */
NMT_API FILE *nmt_writer_file(nmt_writer *writer);

/**
 * Flushes what was written so far towards the reader at the other end. Errors: NMT_IO, naming the path and the cause.
 */
NMT_API nmt_status nmt_writer_flush(nmt_writer *writer, nmt_error *error);

/**
 * Flushes to disk, renames the temporary file to its name, flushes the directory, and frees the writer, also on
 * failure (then the file that was there before is untouched). Errors: NMT_IO, naming the path and the cause.
 */
NMT_API nmt_status nmt_writer_commit(nmt_writer *writer, nmt_error *error);

/** Removes the temporary file and frees the writer. `nmt_writer_abandon(NULL)` is safe. */
NMT_API void nmt_writer_abandon(nmt_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
