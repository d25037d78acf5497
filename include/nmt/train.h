/** Training a model from parallel text, as a configuration says. */
#ifndef NMT_TRAIN_H
#define NMT_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nmt/config.h>
#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where training stands; losses in nats per target token. */
typedef struct nmt_progress {
    size_t epoch, epochs;     /**< the current epoch, from 1, and how many there will be */
    uint64_t update;          /**< updates done since the start of the run */
    uint64_t updates;         /**< updates of the whole run as planned */
    double loss;              /**< mean over the target tokens since the last report */
    double tokens_per_second; /**< target tokens */
    double gradient_norm;     /**< before clipping, of the last update */
    double learning_rate;
    double seconds_left; /**< estimate; negative when there is none yet */
} nmt_progress;

/** Called on the thread that called nmt_train. Any may be NULL. */
typedef struct nmt_train_observer {
    void *context;
    void (*log)(void *context, const char *line);                  /**< a line of the log, no newline */
    void (*progress)(void *context, const nmt_progress *progress); /**< after every update */
    bool (*should_stop)(void *context); /**< asked before the first update and after every one: true stops, and saves
                                             what was done */
} nmt_train_observer;

/** What to do with a run that the output directory holds already. By default it is an error: nothing is overwritten. */
typedef struct nmt_train_options {
    bool resume;    /**< go on from its state, and end with the bytes of an uninterrupted run */
    bool overwrite; /**< start anew: its state is removed first, its model stays until there is a new one */
} nmt_train_options;

/**
 * Trains as `config` says and writes `model.safetensors` (the best model by the configured metric),
 * `last.state` (what a resumed run needs), `log.jsonl` and at its end `curves.svg` into the configured output
 * directory. `options` and `observer` may be NULL. Returns NMT_INVALID when another run, which is named, is using that
 * directory, or when it holds a model or a state and neither option is set; NMT_INTERRUPTED when the observer
 * asked to stop, after saving or before anything was changed; NMT_NOT_FINITE when loss or gradient was NaN or infinite
 * (the last good model stays as it is).
 */
NMT_API nmt_status nmt_train(const nmt_config *config, const nmt_train_options *options,
                             const nmt_train_observer *observer, nmt_error *error);

#ifdef __cplusplus
}
#endif
#endif
