#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/quote.h"

nmt_status io_failure(nmt_error *error, const char *path, const char *what, int cause)
{
    return error_set(error, NMT_IO, "%s: %s: %s", quote_path(&(path_quotation){{0}}, path), what, strerror(cause));
}

static nmt_status read_all(char **text, size_t *length, int file, const char *path, size_t limit, nmt_error *error)
{
    struct stat status;
    size_t capacity = 0;
    size_t expected = 1 << 16;
    if (fstat(file, &status) == 0 && status.st_size > 0 && (uintmax_t)status.st_size < limit) {
        expected = (size_t)status.st_size;
    }
    for (*length = 0;;) {
        /* One byte more than expected, to see the end of the file, and one for the NUL. */
        const size_t needed = *length < expected ? expected + 2 : *length + 2;
        TRY(memory_grow(text, &capacity, needed, 1, "the text of a file", error));
        const ssize_t count = read(file, *text + *length, capacity - 1 - *length);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return io_failure(error, path, "cannot be read", errno);
        }
        *length += (size_t)count;
        if (*length > limit) {
            return error_set(error, NMT_INVALID, "%s: larger than the %zu bytes that are expected at the most",
                             quote_path(&(path_quotation){{0}}, path), limit);
        }
        if (count == 0) {
            (*text)[*length] = '\0';
            return NMT_OK;
        }
    }
}

nmt_status io_read_file(char **text, size_t *length, const char *path, size_t limit, nmt_error *error)
{
    *text = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return io_failure(error, path, "cannot be opened", errno);
    }
    const nmt_status status = read_all(text, length, file, path, limit, error);
    close(file);
    if (status != NMT_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

bool io_write_all(int file, const char *bytes, size_t count)
{
    struct pollfd poller = {.fd = file, .events = POLLOUT};
    while (count > 0) {
        const ssize_t written = write(file, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&poller, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

nmt_status io_check_regular(const char *path, const char *because, nmt_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return io_failure(error, path, "cannot be opened", errno);
    }
    return S_ISREG(status.st_mode)
               ? NMT_OK
               : error_set(error, NMT_INVALID, "%s: a regular file was expected, because %s; this is %s",
                           quote_path(&(path_quotation){{0}}, path), because,
                           S_ISDIR(status.st_mode) ? "a directory" : "a pipe or a device");
}

bool io_flush(int file)
{
    int result;
    do {
        result = fsync(file);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

nmt_status io_directory_of(char **directory, const char *path, nmt_error *error)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return memory_copy_text(directory, ".", 1, "a path", error);
    }
    return memory_copy_text(directory, path, slash == path ? 1 : (size_t)(slash - path), "a path", error);
}

nmt_status io_flush_directory_of(const char *path, nmt_error *error)
{
    char *directory;
    TRY(io_directory_of(&directory, path, error));
    const int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int cause = file < 0 ? errno : io_flush(file) ? 0 : errno;
    /* One that may be written and not read cannot be flushed; and not every file system can do it. */
    const bool done = cause == 0 || (file < 0 ? cause == EACCES : cause == EINVAL || cause == ENOTSUP);
    if (file >= 0) {
        close(file);
    }
    free(directory);
    return done ? NMT_OK : io_failure(error, path, "cannot be flushed to disk", cause);
}

static nmt_status make_directory(const char *path, nmt_error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0) {
        return io_flush_directory_of(path, error);
    }
    const int cause = errno;
    if (stat(path, &status) != 0) {
        return io_failure(error, path, "cannot be created", cause);
    }
    return S_ISDIR(status.st_mode) ? NMT_OK : io_failure(error, path, "cannot be created", ENOTDIR);
}

nmt_status io_make_directories(const char *path, nmt_error *error)
{
    char *parent;
    TRY(memory_copy_text(&parent, path, strlen(path), "a path", error));
    nmt_status status = NMT_OK;
    for (char *slash = parent; status == NMT_OK && (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        status = make_directory(parent, error);
        *slash = '/';
    }
    free(parent);
    return status == NMT_OK ? make_directory(path, error) : status;
}

nmt_status io_join(char **path, const char *directory, const char *name, nmt_error *error)
{
    const size_t length = strlen(directory);
    const size_t slash = length > 0 && directory[length - 1] != '/';
    const size_t name_length = strlen(name);
    TRY(memory_new(path, length + slash + name_length + 1, 1, "a path", error));
    memcpy(*path, directory, length);
    if (slash) {
        (*path)[length] = '/';
    }
    memcpy(*path + length + slash, name, name_length);
    return NMT_OK;
}
