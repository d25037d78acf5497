/* Reading and writing files; the public part is nmt/io.h. */
#ifndef CORE_IO_H
#define CORE_IO_H

#include <nmt/io.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/* The whole file, with a NUL behind it; `*text` is the caller's: free(). Errors: NMT_IO; NMT_INVALID over `limit`
 * bytes. */
nmt_status io_read_file(char **text, size_t *length, const char *path, size_t limit, nmt_error *error);

/* Writes all of it, waiting where it must; false: errno says why not. */
bool io_write_all(int file, const char *bytes, size_t count);

/* Errors: NMT_IO; NMT_INVALID for anything but a regular file, which is expected "because ...". Asked by name: opening
 * a pipe would wait for somebody to write to it. */
nmt_status io_check_regular(const char *path, const char *because, nmt_error *error);

/* fsync, once more where a signal came. False with errno. */
bool io_flush(int file);

/* Flushes the directory that `path` is in to disk, so that what was made or renamed there lasts. */
nmt_status io_flush_directory_of(const char *path, nmt_error *error);

/* The directory part of `path`, "." where it has none. The caller's: free(). */
nmt_status io_directory_of(char **directory, const char *path, nmt_error *error);

/* Creates the directory and its parents where they are missing. */
nmt_status io_make_directories(const char *path, nmt_error *error);

/* `directory`/`name`; the caller's: free(). */
nmt_status io_join(char **path, const char *directory, const char *name, nmt_error *error);

/* NMT_IO saying that `path` `what` ("cannot be opened"), and why: `cause` is an errno. */
nmt_status io_failure(nmt_error *error, const char *path, const char *what, int cause);

/* Where the line last returned by nmt_reader_next starts in the file, in bytes (behind a byte-order mark). */
uint64_t io_reader_offset(const nmt_reader *reader);

#endif
