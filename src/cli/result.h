/* Where a command writes: its results, and alignments beside them. */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include <nmt/io.h>
#include <nmt/report.h>
#include <stdbool.h>

typedef struct result {
    nmt_writer *writer;
    nmt_alignment_writer *alignments; /* NULL where the result is something else */
} result;

/* Opens `path` (NULL: standard output). Where it is a file, signals are caught from now on, so that an interrupted
 * command can remove what it began. */
nmt_status result_open(result *to, const char *path, nmt_error *error);

/* The same for alignments. */
nmt_status result_open_alignments(result *to, const char *path, size_t format, bool end_of_sentence, nmt_error *error);

nmt_status result_flush(result *to, nmt_error *error);

/* Makes the result appear if `status`, how the command went, is NMT_OK, and else leaves nothing behind. Returns
 * `status`, or what went wrong here; a `result` that was never opened is left alone. */
nmt_status result_close(result *to, nmt_status status, nmt_error *error);

#endif
