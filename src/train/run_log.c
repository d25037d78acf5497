#include "train/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/io.h"

/* Whether a line (without its newline) is an event up to `update`; that of the averaged model comes again at every end
 * of the run. */
static bool is_kept(const char *line, size_t length, uint64_t update)
{
    json *event;
    if (json_parse(&event, line, length, "log.jsonl", NULL) != NMT_OK) {
        return false;
    }
    const json *at = json_type_of(event) == JSON_OBJECT ? json_get(event, "update") : NULL;
    const bool ends = json_type_of(event) == JSON_OBJECT && json_get(event, "averaged") != NULL;
    const bool kept = !ends && (at == NULL || json_type_of(at) != JSON_NUMBER || json_number(at) <= (double)update);
    json_free(event);
    return kept;
}

/* Bytes of whole lines that are kept. */
static size_t kept_length(const char *text, size_t length, uint64_t update)
{
    const char *line = text, *newline;
    while ((newline = memchr(line, '\n', (size_t)(text + length - line))) != NULL &&
           is_kept(line, (size_t)(newline - line), update)) {
        line = newline + 1;
    }
    return (size_t)(line - text);
}

static nmt_status cut_off(const char *path, uint64_t update, nmt_error *error)
{
    char *text;
    size_t length;
    if (access(path, F_OK) != 0) {
        return NMT_OK;
    }
    TRY(io_check_regular(path, "what is behind the state is cut off", error));
    TRY(io_read_file(&text, &length, path, SIZE_MAX - 2, error));
    const size_t kept = kept_length(text, length, update);
    free(text);
    if (kept < length && truncate(path, (off_t)kept) != 0) {
        return io_failure(error, path, "cannot be cut off", errno);
    }
    return NMT_OK;
}

nmt_status run_log_open(run_log *log, const nmt_train_observer *observer, const char *directory,
                        const uint64_t *resumed_from, nmt_error *error)
{
    *log = (run_log){.observer = observer};
    TRY(io_join(&log->path, directory, "log.jsonl", error));
    nmt_status status = resumed_from != NULL ? cut_off(log->path, *resumed_from, error) : NMT_OK;
    if (status == NMT_OK) {
        const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (resumed_from != NULL ? 0 : O_TRUNC);
        log->file = open(log->path, flags, 0666);
        status = log->file >= 0 ? NMT_OK : io_failure(error, log->path, "cannot be opened", errno);
    }
    if (status != NMT_OK) {
        free(log->path);
        log->path = NULL;
    }
    return status;
}

nmt_status run_log_close(run_log *log, nmt_error *error)
{
    nmt_status status = NMT_OK;
    if (log->path != NULL && close(log->file) != 0) {
        status = io_failure(error, log->path, "cannot be written", errno);
    }
    free(log->path);
    log->path = NULL;
    return status;
}

void run_log_line(const run_log *log, const char *format, ...)
{
    if (log->observer == NULL || log->observer->log == NULL) {
        return;
    }
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log->observer->log(log->observer->context, line);
}

nmt_status run_log_event(run_log *log, json *event, nmt_error *error)
{
    char *text = event != NULL ? json_print(event, false) : NULL;
    json_free(event);
    if (text == NULL) {
        return error_set(error, NMT_NO_MEMORY, "out of memory: a line of %s", log->path);
    }
    const size_t length = strlen(text);
    text[length] = '\n'; /* in the place of the NUL: the line is written at once */
    const off_t before = lseek(log->file, 0, SEEK_END);
    const bool written = io_write_all(log->file, text, length + 1);
    const int cause = errno;
    free(text);
    if (written) {
        return NMT_OK;
    }
    const bool whole = before >= 0 && ftruncate(log->file, before) == 0;
    return io_failure(error, log->path, whole ? "cannot be written" : "cannot be written, half a line is left", cause);
}
