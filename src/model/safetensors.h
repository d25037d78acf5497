/*
 * The safetensors format (https://github.com/huggingface/safetensors): the header's length in 8 little-endian bytes,
 * the header as JSON, the tensors' bytes. Of its types only float32, and U8 for rows of bytes. Reading trusts nothing:
 * every length, name, shape and offset is checked before the first number is read, and every number is finite.
 */
#ifndef MODEL_SAFETENSORS_H
#define MODEL_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/json.h"
#include "core/quote.h"
#include "core/real.h"

/* A tensor and where its numbers come from or go to. */
typedef struct stored_tensor {
    const char *name;
    size_t rows, columns; /* columns 0: a vector */
    real *values;
    const char *bytes; /* NULL, or `rows` bytes instead of values */
} stored_tensor;

/* Writes the file whole or not at all. Takes ownership of `metadata`, an object of strings; NULL means that memory ran
 * out. Errors: NMT_NOT_FINITE naming the tensor; NMT_IO. */
nmt_status safetensors_save(const char *path, json *metadata, const stored_tensor *list, size_t count,
                            nmt_error *error);

/* A file whose header has been read. */
typedef struct safetensors {
    const char *path; /* borrowed */
    FILE *file;
    json *header;
    const json *metadata;
    uint64_t data_start, data_size; /* bytes */
} safetensors;

/* `format` is what the metadata must say it is. The caller's, also on failure: safetensors_close. */
nmt_status safetensors_open(safetensors *from, const char *path, const char *format, nmt_error *error);
void safetensors_close(safetensors *from);

/* Whether the metadata has this key. */
bool safetensors_has(const safetensors *from, const char *key);

/* A value of the metadata: its text, borrowed; or the JSON of `type` that the text holds, the caller's: json_free. */
nmt_status safetensors_text(const safetensors *from, const char *key, const char **text, nmt_error *error);
nmt_status safetensors_json(const safetensors *from, const char *key, json_type type, json **value, nmt_error *error);

/* Whether the file holds exactly the tensors of `list`, and nothing else; their values are not touched. */
nmt_status safetensors_check(const safetensors *from, const stored_tensor *list, size_t count, nmt_error *error);

/* A row of bytes, in memory of their number, which is not 0; `*bytes` is the caller's: free(). */
nmt_status safetensors_read_bytes(safetensors *from, const char *name, char **bytes, size_t *size, nmt_error *error);

/* Fills exactly the tensors of `list`, in whatever order the file has them. Rows of bytes are checked and not
 * read. */
nmt_status safetensors_read(safetensors *from, const stored_tensor *list, size_t count, nmt_error *error);

/* "model.safetensors (config)": a text within the file, for messages. */
typedef struct place {
    char text[QUOTE_PATH_CAPACITY];
} place;
const char *safetensors_place(place *buffer, const safetensors *from, const char *what);

#endif
