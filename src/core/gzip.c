#include "core/gzip.h"

#include <string.h>

#include "core/quote.h"

static const char magic[] = "\x1f\x8b";

bool gzip_is(const char *bytes, size_t count)
{
    return count >= GZIP_MAGIC_SIZE && memcmp(bytes, magic, GZIP_MAGIC_SIZE) == 0;
}

#ifdef NMT_ZLIB_VERSION

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "core/io.h"
#include "core/memory.h"

struct gzip {
    z_stream stream;
    const char *path;
    bool within; /* a member that has not ended */
};

nmt_status gzip_create(gzip **made, const char *path, nmt_error *error)
{
    enum { GZIP_ONLY = 16 };
    TRY(memory_new(made, 1, sizeof **made, "a compressed text", error));
    (*made)->path = path;
    if (inflateInit2(&(*made)->stream, GZIP_ONLY + MAX_WBITS) != Z_OK) {
        free(*made);
        *made = NULL;
        return error_set(error, NMT_NO_MEMORY, "out of memory: a compressed text");
    }
    return NMT_OK;
}

void gzip_free(gzip *from)
{
    if (from != NULL) {
        inflateEnd(&from->stream);
        free(from);
    }
}

static nmt_status corrupt(const gzip *from, nmt_error *error)
{
    const char *why = from->stream.msg != NULL ? from->stream.msg : "wrong data";
    return error_set(error, NMT_INVALID, "%s: gzip: corrupt: %s", quote_path(&(path_quotation){{0}}, from->path), why);
}

static uInt bounded(size_t count)
{
    return count < INT_MAX ? (uInt)count : INT_MAX;
}

/* What follows a member is another one: anything else is corrupt. */
nmt_status gzip_inflate(gzip *from, const char *in, size_t *in_count, char *out, size_t *out_count, nmt_error *error)
{
    z_stream *stream = &from->stream;
    const uInt in_room = bounded(*in_count), out_room = bounded(*out_count);
    stream->next_in = (Bytef *)in; /* only read */
    stream->avail_in = in_room;
    stream->next_out = (Bytef *)out;
    stream->avail_out = out_room;
    while (stream->avail_in > 0 && stream->avail_out > 0) {
        from->within = true;
        const int result = inflate(stream, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) {
            return error_set(error, NMT_NO_MEMORY, "out of memory: a compressed text");
        }
        if (result == Z_STREAM_END) {
            from->within = false;
            inflateReset(stream);
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            return corrupt(from, error);
        } else if (result == Z_BUF_ERROR) {
            break;
        }
    }
    *in_count = in_room - stream->avail_in;
    *out_count = out_room - stream->avail_out;
    return NMT_OK;
}

nmt_status gzip_end(const gzip *from, nmt_error *error)
{
    return from->within ? error_set(error, NMT_INVALID, "%s: gzip: cut short: the end of the file came too early",
                                    quote_path(&(path_quotation){{0}}, from->path))
                        : NMT_OK;
}

/* ---- a whole file -------------------------------------------------------------------------------------------------
 */

/* Without a name from the start where the file system can do that, else from right behind its making. */
static nmt_status open_unnamed(int *file, nmt_error *error)
{
    const char *directory = getenv("TMPDIR");
    char path[PATH_MAX];
    directory = directory != NULL && *directory != '\0' ? directory : "/tmp";
#ifdef O_TMPFILE
    *file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*file >= 0) {
        return NMT_OK;
    }
#endif
    if (snprintf(path, sizeof path, "%s/nmt-XXXXXX", directory) >= (int)sizeof path) {
        return io_failure(error, directory, "cannot be written to", ENAMETOOLONG);
    }
    *file = mkstemp(path);
    if (*file < 0) {
        return io_failure(error, directory, "cannot be written to", errno);
    }
    unlink(path);
    return NMT_OK;
}

typedef struct expansion {
    gzip *from;
    int file, expanded;
    const char *path;
    char in[1 << 14], out[1 << 16];
} expansion;

/* Inflates `count` bytes of work->in. */
static nmt_status expand_part(expansion *work, size_t count, nmt_error *error)
{
    for (size_t at = 0; at < count;) {
        size_t taken = count - at, given = sizeof work->out;
        TRY(gzip_inflate(work->from, work->in + at, &taken, work->out, &given, error));
        at += taken;
        if (!io_write_all(work->expanded, work->out, given)) {
            return io_failure(error, work->path, "cannot be expanded into a temporary file", errno);
        }
    }
    return NMT_OK;
}

static nmt_status expand_all(expansion *work, nmt_error *error)
{
    for (off_t offset = 0;;) {
        const ssize_t count = pread(work->file, work->in, sizeof work->in, offset);
        if (count < 0 && errno != EINTR) {
            return io_failure(error, work->path, "cannot be read", errno);
        }
        if (count == 0) {
            return gzip_end(work->from, error);
        }
        if (count > 0) {
            TRY(expand_part(work, (size_t)count, error));
            offset += count;
        }
    }
}

static nmt_status expand(expansion *work, nmt_error *error)
{
    TRY(gzip_create(&work->from, work->path, error));
    TRY(open_unnamed(&work->expanded, error));
    return expand_all(work, error);
}

nmt_status gzip_expand(int *expanded, int file, const char *path, nmt_error *error)
{
    expansion *work;
    TRY(memory_new(&work, 1, sizeof *work, "a compressed text", error));
    work->file = file;
    work->expanded = -1;
    work->path = path;
    const nmt_status status = expand(work, error);
    if (status != NMT_OK && work->expanded >= 0) {
        close(work->expanded);
    }
    *expanded = work->expanded;
    gzip_free(work->from);
    free(work);
    return status;
}

#else

static nmt_status unsupported(const char *path, nmt_error *error)
{
    return error_set(error, NMT_UNSUPPORTED, "%s: compressed with gzip; plain text was expected (built without zlib)",
                     quote_path(&(path_quotation){{0}}, path));
}

nmt_status gzip_create(gzip **made, const char *path, nmt_error *error)
{
    *made = NULL;
    return unsupported(path, error);
}

void gzip_free(gzip *from)
{
    (void)from;
}

nmt_status gzip_inflate(gzip *from, const char *in, size_t *in_count, char *out, size_t *out_count, nmt_error *error)
{
    (void)from;
    (void)in;
    (void)in_count;
    (void)out;
    (void)out_count;
    return unsupported("", error);
}

nmt_status gzip_end(const gzip *from, nmt_error *error)
{
    (void)from;
    (void)error;
    return NMT_OK;
}

nmt_status gzip_expand(int *expanded, int file, const char *path, nmt_error *error)
{
    (void)expanded;
    (void)file;
    return unsupported(path, error);
}

#endif
