/**
 * Errors as values. Every function that can fail returns an nmt_status and, where the caller passes an
 * nmt_error, fills it with a message for a person: the path, the line, what was expected, what was found.
 * The library never prints and never exits.
 */
#ifndef NMT_ERROR_H
#define NMT_ERROR_H

#if defined(__GNUC__)
#define NMT_API __attribute__((visibility("default")))
#else
#define NMT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nmt_status {
    NMT_OK = 0,
    NMT_INVALID,     /**< input that breaks its format or its bounds: a config, a corpus, a model file */
    NMT_IO,          /**< the system refused: a file that cannot be opened, written, renamed */
    NMT_NO_MEMORY,   /**< an allocation failed; the message says how much was asked for */
    NMT_NOT_FINITE,  /**< NaN or infinity where a number was expected */
    NMT_UNSUPPORTED, /**< right input, but this build lacks the part that would serve it */
    NMT_INTERRUPTED  /**< the caller asked to stop; everything was saved first */
} nmt_status;

enum { NMT_ERROR_CAPACITY = 1024 };

/** Owned by the caller, usually on the stack; no cleanup. Zero-initialise it, or not: failure overwrites it. */
typedef struct nmt_error {
    nmt_status status;
    char message[NMT_ERROR_CAPACITY]; /**< one line, UTF-8, no newline at its end */
} nmt_error;

#ifdef __cplusplus
}
#endif
#endif
