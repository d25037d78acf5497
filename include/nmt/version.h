/** Version and build. */
#ifndef NMT_VERSION_H
#define NMT_VERSION_H

#include <stddef.h>

#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** E.g. "0.1.0". */
NMT_API const char *nmt_version(void);

/** One line a part: libraries with their versions, optional parts and whether they are in. Static storage. */
NMT_API const char *nmt_build_description(void);

/** Threads used by every later call of the library, at least 1; the result changes by float rounding at most. */
NMT_API nmt_status nmt_set_threads(size_t threads, nmt_error *error);

#ifdef __cplusplus
}
#endif
#endif
