/** Configuration of a model and its training, read from JSON. */
#ifndef NMT_CONFIG_H
#define NMT_CONFIG_H

#include <stddef.h>

#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nmt_config nmt_config;

/**
 * Reads `path` and applies `override_count` overrides of the form "training.epochs=3" (the value is JSON; a bare
 * word is taken as a string). On success `*config` is owned by the caller: nmt_config_free.
 * Errors: NMT_IO, NMT_INVALID with the path of the key, what was expected and what was found.
 */
NMT_API nmt_status nmt_config_load(nmt_config **config, const char *path, const char *const *overrides,
                                   size_t override_count, nmt_error *error);

NMT_API void nmt_config_free(nmt_config *config);

/** The resolved configuration as JSON, every key present. Owned by the caller: nmt_free. NULL if out of memory. */
NMT_API char *nmt_config_json(const nmt_config *config);

/** Every key with meaning, default and range, ready to print. Owned by the caller: nmt_free. NULL if out of memory. */
NMT_API char *nmt_config_help(void);

/** Frees text that the library handed out. */
NMT_API void nmt_free(void *text);

#ifdef __cplusplus
}
#endif
#endif
