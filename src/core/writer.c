/*
 * Files that appear whole or not at all: written under a temporary name in the directory of the target, flushed to
 * disk, renamed over it. A symbolic link is followed first, so that it goes on pointing at what is written.
 *
 * The stream calls back here to write, because a stream of the C library forgets why a write failed. Only a terminal,
 * which does not fill up, gets a stream of its own kind: it can be asked for its width.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/io.h"
#include "core/memory.h"

struct nmt_writer {
    FILE *file;
    int descriptor;  /* -1: the stream alone, or not open yet */
    bool standard;   /* standard output, which stays open */
    int cause;       /* errno of the first write that failed; none is tried behind it */
    char *path;      /* as the caller named it, for messages */
    char *target;    /* what is renamed to; NULL when written directly */
    char *temporary; /* NULL when written directly */
};

static void writer_free(nmt_writer *writer)
{
    free(writer->path);
    free(writer->target);
    free(writer->temporary);
    free(writer);
}

/* A new file in `directory` under a name that nobody has; unlike mkstemp's it gets the mode that the umask leaves. */
static int create_temporary(char **temporary, const char *directory, nmt_error *error)
{
    static unsigned counter;
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        const unsigned count = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
        char name[96];
        snprintf(name, sizeof name, ".nmt-%ld-%lx-%x", (long)getpid(), (unsigned long)now.tv_nsec, count);
        if (io_join(temporary, directory, name, error) != NMT_OK) {
            errno = ENOMEM;
            return -1;
        }
        const int file = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0) {
            return file;
        }
        const int cause = errno;
        free(*temporary);
        *temporary = NULL;
        errno = cause;
        if (cause != EEXIST) {
            return -1;
        }
    }
    return -1;
}

/* `existing` is the file to be replaced, or NULL. */
static int open_beside(nmt_writer *writer, const struct stat *existing, nmt_error *error)
{
    char *resolved = existing != NULL ? realpath(writer->path, NULL) : NULL;
    const char *target = resolved != NULL ? resolved : writer->path;
    char *directory = NULL;
    int file = -1;
    if (memory_copy_text(&writer->target, target, strlen(target), "a path", error) != NMT_OK ||
        io_directory_of(&directory, target, error) != NMT_OK) {
        errno = ENOMEM;
    } else if (existing != NULL && access(target, W_OK) != 0) {
        file = -1; /* protected: renaming would go round that */
    } else {
        file = create_temporary(&writer->temporary, directory, error);
    }
    const int cause = errno;
    if (file >= 0 && existing != NULL) {
        fchmod(file, existing->st_mode & 0777); /* a file system without modes may refuse */
    }
    free(directory);
    free(resolved);
    errno = cause;
    return file;
}

static ssize_t write_bytes(void *cookie, const char *bytes, size_t count)
{
    nmt_writer *writer = cookie;
    if (writer->cause == 0 && !io_write_all(writer->descriptor, bytes, count)) {
        writer->cause = errno;
    }
    return writer->cause == 0 ? (ssize_t)count : 0; /* 0 is how fopencookie is told */
}

static FILE *open_stream(nmt_writer *writer, int file)
{
    if (isatty(file)) {
        return file == STDOUT_FILENO ? stdout : fdopen(file, "w");
    }
    FILE *stream = fopencookie(writer, "w", (cookie_io_functions_t){.write = write_bytes});
    writer->descriptor = stream != NULL ? file : -1;
    return stream;
}

static nmt_status open_path(nmt_writer *writer, nmt_error *error)
{
    struct stat status;
    const bool exists = stat(writer->path, &status) == 0;
    if (!exists && lstat(writer->path, &status) == 0) {
        return io_failure(error, writer->path, "is a link to what is not there", ENOENT);
    }
    const int file = exists && !S_ISREG(status.st_mode) ? open(writer->path, O_WRONLY | O_CLOEXEC)
                                                        : open_beside(writer, exists ? &status : NULL, error);
    if (file < 0) {
        return io_failure(error, writer->path, "cannot be written", errno);
    }
    writer->file = open_stream(writer, file);
    if (writer->file == NULL) {
        const int cause = errno;
        close(file);
        return io_failure(error, writer->path, "cannot be written", cause);
    }
    return NMT_OK;
}

nmt_status nmt_writer_open(nmt_writer **writer, const char *path, nmt_error *error)
{
    const char *name = path != NULL ? path : "standard output";
    TRY(memory_new(writer, 1, sizeof **writer, "a writer", error));
    (*writer)->descriptor = -1;
    (*writer)->standard = path == NULL;
    nmt_status status = memory_copy_text(&(*writer)->path, name, strlen(name), "a path", error);
    if (status == NMT_OK && path != NULL) {
        status = open_path(*writer, error);
    } else if (status == NMT_OK) {
        (*writer)->file = open_stream(*writer, STDOUT_FILENO);
        status = (*writer)->file != NULL ? NMT_OK : io_failure(error, name, "cannot be written", errno);
    }
    if (status != NMT_OK) {
        nmt_writer_abandon(*writer);
        *writer = NULL;
    }
    return status;
}

FILE *nmt_writer_file(nmt_writer *writer)
{
    return writer->file;
}

nmt_status nmt_writer_flush(nmt_writer *writer, nmt_error *error)
{
    errno = 0;
    if (fflush(writer->file) == 0 && !ferror(writer->file)) {
        return NMT_OK;
    }
    const int cause = writer->cause != 0 ? writer->cause : errno;
    return io_failure(error, writer->path, "cannot be written", cause != 0 ? cause : EIO);
}

/* 0, or the errno of closing; standard output stays open. */
static int close_stream(nmt_writer *writer)
{
    int cause = 0;
    if (writer->file != NULL && writer->file != stdout && fclose(writer->file) != 0) {
        cause = errno;
    }
    if (writer->descriptor >= 0 && !writer->standard && close(writer->descriptor) != 0) {
        cause = errno;
    }
    writer->file = NULL;
    writer->descriptor = -1;
    return cause;
}

/* Frees the stream in any case. */
static nmt_status flush_and_close(nmt_writer *writer, nmt_error *error)
{
    nmt_status status = nmt_writer_flush(writer, error);
    if (status == NMT_OK && writer->temporary != NULL && !io_flush(writer->descriptor)) {
        status = io_failure(error, writer->path, "cannot be flushed to disk", errno);
    }
    const int cause = close_stream(writer);
    return status == NMT_OK && cause != 0 ? io_failure(error, writer->path, "cannot be written", cause) : status;
}

nmt_status nmt_writer_commit(nmt_writer *writer, nmt_error *error)
{
    nmt_status status = flush_and_close(writer, error);
    if (status == NMT_OK && writer->temporary != NULL) {
        if (rename(writer->temporary, writer->target) != 0) {
            status = io_failure(error, writer->path, "cannot be replaced", errno);
        } else {
            free(writer->temporary);
            writer->temporary = NULL;
            status = io_flush_directory_of(writer->target, error);
        }
    }
    nmt_writer_abandon(writer);
    return status;
}

void nmt_writer_abandon(nmt_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    close_stream(writer);
    if (writer->temporary != NULL) {
        unlink(writer->temporary);
    }
    writer_free(writer);
}
