/* Text compressed with gzip (RFC 1952), of one member or several: the one place that knows zlib. */
#ifndef CORE_GZIP_H
#define CORE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

enum { GZIP_MAGIC_SIZE = 2 };

/* Whether the bytes start as a gzip file does. */
bool gzip_is(const char *bytes, size_t count);

typedef struct gzip gzip;

/* `path` is for messages, borrowed. The caller's: gzip_free. NMT_UNSUPPORTED where this build has no zlib. */
nmt_status gzip_create(gzip **made, const char *path, nmt_error *error);
void gzip_free(gzip *from);

/* Takes up to `*in_count` bytes from `in` and gives up to `*out_count` to `out`; both become what was taken and given.
 * What found no room comes with the next bytes: a member ends in eight that give nothing.
 * Errors: NMT_INVALID that names the path. */
nmt_status gzip_inflate(gzip *from, const char *in, size_t *in_count, char *out, size_t *out_count, nmt_error *error);

/* The file has ended: NMT_INVALID in the midst of a member. */
nmt_status gzip_end(const gzip *from, nmt_error *error);

/* What the open file holds, in a file without a name in $TMPDIR or /tmp; `*expanded` is the caller's: close. */
nmt_status gzip_expand(int *expanded, int file, const char *path, nmt_error *error);

#endif
