#include "train/run_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"

nmt_status run_log_open(run_log *log, const nmt_train_observer *observer, const char *directory, bool append,
                        nmt_error *error)
{
    *log = (run_log){.observer = observer};
    TRY(io_join(&log->path, directory, "log.jsonl", error));
    log->file = fopen(log->path, append ? "a" : "w");
    if (log->file == NULL) {
        const nmt_status status = error_set(error, NMT_IO, "%s: %s", log->path, strerror(errno));
        run_log_close(log);
        return status;
    }
    return NMT_OK;
}

void run_log_close(run_log *log)
{
    if (log->file != NULL) {
        fclose(log->file);
    }
    free(log->path);
    *log = (run_log){0};
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
    const bool written = fprintf(log->file, "%s\n", text) >= 0 && fflush(log->file) == 0;
    free(text);
    return written ? NMT_OK : error_set(error, NMT_IO, "%s: %s", log->path, strerror(errno));
}
