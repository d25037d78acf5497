/*
 * Models on disk: safetensors (an 8-byte little-endian header length, a JSON header, the tensors' bytes), float32,
 * little-endian. The metadata holds "format" ("nmt"), "version", "config" (JSON), "source_vocabulary" and
 * "target_vocabulary" (JSON arrays of words), "history" (JSON array), "length_ratio" (a number): safetensors wants
 * every metadata value to be a string. SentencePiece models stand behind the parameters as rows of bytes:
 * "segmentation.joint", or "segmentation.source" and "segmentation.target". A file is never trusted: sizes are
 * multiplied with overflow checks, offsets must lie inside the file without gap or overlap, names and shapes must be
 * exactly the config's.
 */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "model/model.h"

/* Writes `model` with `block` as its parameters to `path`: to a temporary name, flushed to disk, renamed. */
nmt_status checkpoint_save_model(const nmt_model *model, const real *block, const char *path, nmt_error *error);

nmt_status checkpoint_load_model(nmt_model **model, const char *path, nmt_error *error);

/*
 * The state of a run, in the same format: `config` (to see that a resumed run has the same), a JSON object of whatever
 * the trainer needs, and blocks of `block_size` reals by name ("parameters", "optimizer.m", ...).
 */
typedef struct state_block {
    const char *name;
    real *values;
    const char *bytes; /* not NULL: `size` bytes instead, which loading only counts */
    size_t size;
} state_block;

/* The piece models of a model's segmenters as blocks of bytes, at most two; returns how many. */
size_t checkpoint_piece_blocks(state_block *blocks, const nmt_model *model);

/* The segmenters of a run with this configuration, from its state. The caller's: segmenters_free. */
nmt_status checkpoint_load_segmenters(segmenters *both, const nmt_config *config, const char *path, nmt_error *error);

nmt_status checkpoint_save_state(const char *path, const json *fields, const state_block *blocks, size_t block_count,
                                 size_t block_size, nmt_error *error);

/* The fields alone; `*fields` is the caller's: json_free. */
nmt_status checkpoint_load_fields(const char *path, json **fields, nmt_error *error);

/* Fills the blocks; `*fields` is the caller's: json_free. Names and sizes must match. */
nmt_status checkpoint_load_state(const char *path, json **fields, const state_block *blocks, size_t block_count,
                                 size_t block_size, nmt_error *error);

#endif
