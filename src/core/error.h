/* Errors as values: see nmt/error.h for the contract towards callers. */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include <nmt/error.h>

/* Fills `error` (which may be NULL) and returns `status`, so that a failing function reads `return error_set(...)`. */
nmt_status error_set(nmt_error *error, nmt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns from the calling function with the status of `call` unless it is NMT_OK; only where there is nothing to
 * clean up. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const nmt_status try_ = (call);                                                                                \
        if (try_ != NMT_OK) {                                                                                          \
            return try_;                                                                                               \
        }                                                                                                              \
    } while (0)

#endif
