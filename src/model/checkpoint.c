#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "model/safetensors.h"

/* ---- models: writing --------------------------------------------------------------------------------------------- */

/* Adds `text`, which may be NULL (out of memory), and frees it. */
static bool add_text(json *metadata, const char *key, char *text)
{
    const bool added = text != NULL && json_add(metadata, key, json_new_string(text));
    free(text);
    return added;
}

/* The metadata's value is `value` as JSON text. Frees `value`. */
static bool add_json(json *metadata, const char *key, json *value)
{
    const bool added = add_text(metadata, key, json_print(value, false));
    json_free(value);
    return added;
}

static json *words_to_json(const vocabulary *words)
{
    json *list = json_new_array();
    for (size_t i = 0; i < vocabulary_size(words); i++) {
        if (!json_append(list, json_new_string(vocabulary_word(words, (int32_t)i)))) {
            json_free(list);
            return NULL;
        }
    }
    return list;
}

static json *model_metadata(const nmt_model *model)
{
    json *metadata = json_new_object();
    const bool made = json_add(metadata, "format", json_new_string("nmt")) &&
                      json_add(metadata, "version", json_new_string(NMT_VERSION)) &&
                      add_json(metadata, "config", config_to_json(model->config)) &&
                      add_json(metadata, "source_vocabulary", words_to_json(model->source_words)) &&
                      add_json(metadata, "target_vocabulary", words_to_json(model->target_words)) &&
                      json_add(metadata, "history", json_new_string(model->history != NULL ? model->history : "[]")) &&
                      add_json(metadata, "length_ratio", json_new_number(model->length_ratio));
    if (!made) {
        json_free(metadata);
        return NULL;
    }
    return metadata;
}

/* The tensors of a model in `list`, which has room for PARAMETERS_CAPACITY; `block` may be NULL. */
static void list_parameters(stored_tensor *list, const parameter_table *table, real *block)
{
    for (size_t i = 0; i < table->count; i++) {
        const tensor *each = &table->tensors[i];
        list[i] = (stored_tensor){.name = each->name,
                                  .rows = each->rows,
                                  .columns = each->columns,
                                  .values = block != NULL ? block + each->offset : NULL};
    }
}

/* Names of the piece models of both sides, NULL where there is none; of a joint one both are the same. */
typedef struct piece_names {
    const char *source, *target;
} piece_names;

static piece_names names_of(const nmt_config *config)
{
    piece_names names = {NULL, NULL};
    if (config->segmentation.type == SEGMENT_PIECES) {
        const bool joint = config->segmentation.joint && config->segmentation.sides == SEGMENT_BOTH;
        names.source = joint ? "segmentation.joint" : config_segments_source(config) ? "segmentation.source" : NULL;
        names.target = joint ? "segmentation.joint" : config_segments_target(config) ? "segmentation.target" : NULL;
    }
    return names;
}

size_t checkpoint_piece_blocks(state_block *blocks, const nmt_model *model)
{
    const piece_names names = names_of(model->config);
    size_t count = 0;
    if (names.source != NULL) {
        state_block *block = &blocks[count++];
        *block = (state_block){.name = names.source};
        block->bytes = segmenter_model(model->segmenters.source, &block->size);
    }
    if (names.target != NULL && names.target != names.source) {
        state_block *block = &blocks[count++];
        *block = (state_block){.name = names.target};
        block->bytes = segmenter_model(model->segmenters.target, &block->size);
    }
    return count;
}

enum { STORED_CAPACITY = PARAMETERS_CAPACITY + 2 };

/* Parameters and piece models; returns how many. */
static size_t list_model(stored_tensor *list, const nmt_model *model, real *block)
{
    state_block pieces[2];
    const size_t count = checkpoint_piece_blocks(pieces, model);
    list_parameters(list, &model->parameters, block);
    for (size_t i = 0; i < count; i++) {
        list[model->parameters.count + i] =
            (stored_tensor){.name = pieces[i].name, .rows = pieces[i].size, .bytes = pieces[i].bytes};
    }
    return model->parameters.count + count;
}

nmt_status checkpoint_save_model(const nmt_model *model, const real *block, const char *path, nmt_error *error)
{
    stored_tensor list[STORED_CAPACITY];
    const size_t count = list_model(list, model, (real *)block); /* only read */
    return safetensors_save(path, model_metadata(model), list, count, error);
}

/* ---- models: reading
 * ------------------------------------------------------------------------------------------------------ */

static nmt_status read_words(const safetensors *from, const char *key, vocabulary **words, nmt_error *error)
{
    const char *text;
    place where = {0};
    json_strings strings;
    TRY(safetensors_text(from, key, &text, error));
    safetensors_place(&where, from, key);
    TRY(json_parse_strings(&strings, text, strlen(text), where.text, error));
    const nmt_status status = vocabulary_from_words(words, strings.list, strings.count, where.text, error);
    json_strings_free(&strings);
    return status;
}

static nmt_status read_config(const safetensors *from, nmt_config **config, nmt_error *error)
{
    json *object;
    place where;
    TRY(safetensors_json(from, "config", JSON_OBJECT, &object, error));
    const nmt_status status = config_from_json(config, object, safetensors_place(&where, from, "config"), error);
    json_free(object);
    return status;
}

static nmt_status read_segmenter(safetensors *from, const char *name, segmenter **made, nmt_error *error)
{
    char *bytes;
    size_t size;
    place where;
    if (name == NULL) {
        return NMT_OK;
    }
    TRY(safetensors_read_bytes(from, name, &bytes, &size, error));
    const nmt_status status = segmenter_of_pieces(made, bytes, size, safetensors_place(&where, from, name), error);
    free(bytes);
    return status;
}

static nmt_status make_segmenters(safetensors *from, segmenters *both, const nmt_config *config, nmt_error *error)
{
    const piece_names names = names_of(config);
    if (config->segmentation.type == SEGMENT_CHARACTERS) {
        return segmenters_of_characters(both, config_segments_source(config), config_segments_target(config), error);
    }
    TRY(read_segmenter(from, names.source, &both->source, error));
    return read_segmenter(from, names.target, &both->target, error);
}

static nmt_status read_segmenters(safetensors *from, segmenters *both, const nmt_config *config, nmt_error *error)
{
    *both = (segmenters){NULL, NULL};
    const nmt_status status = make_segmenters(from, both, config, error);
    if (status != NMT_OK) {
        segmenters_free(both);
    }
    return status;
}

/* A model as the metadata describes it, without its block. */
static nmt_status create_described(const safetensors *from, nmt_model **model, nmt_error *error)
{
    nmt_config *config = NULL;
    vocabulary *source_words = NULL, *target_words = NULL;
    nmt_status status = read_config(from, &config, error);
    if (status == NMT_OK) {
        status = read_words(from, "source_vocabulary", &source_words, error);
    }
    if (status == NMT_OK) {
        status = read_words(from, "target_vocabulary", &target_words, error);
    }
    if (status == NMT_OK) {
        return model_describe(model, config, source_words, target_words, error);
    }
    nmt_config_free(config);
    vocabulary_free(source_words);
    vocabulary_free(target_words);
    return status;
}

/* Replaces `*text` by the metadata's value. */
static nmt_status keep_text(const safetensors *from, const char *key, char **text, nmt_error *error)
{
    const char *found;
    char *copy;
    TRY(safetensors_text(from, key, &found, error));
    TRY(memory_copy_text(&copy, found, strlen(found), "the history of a model", error));
    free(*text);
    *text = copy;
    return NMT_OK;
}

/* Files of older versions do not have it. */
static nmt_status read_length_ratio(const safetensors *from, double *ratio, nmt_error *error)
{
    json *value;
    place where;
    if (!safetensors_has(from, "length_ratio")) {
        return NMT_OK;
    }
    TRY(safetensors_json(from, "length_ratio", JSON_NUMBER, &value, error));
    const double found = json_number(value);
    json_free(value);
    if (!(found > 0 && found <= MODEL_LENGTH_RATIO_LIMIT)) {
        return error_set(error, NMT_INVALID, "%s: expected a number over 0 and at most %d, found %g",
                         safetensors_place(&where, from, "length_ratio"), MODEL_LENGTH_RATIO_LIMIT, found);
    }
    *ratio = found;
    return NMT_OK;
}

/* The block is made only when the file is known to hold as many numbers: what a file costs is bounded by its length. */
static nmt_status fill_model(safetensors *from, nmt_model *model, nmt_error *error)
{
    stored_tensor list[STORED_CAPACITY];
    segmenters both;
    json *history;
    TRY(safetensors_json(from, "history", JSON_ARRAY, &history, error));
    json_free(history);
    TRY(keep_text(from, "history", &model->history, error));
    TRY(keep_text(from, "version", &model->version, error));
    TRY(read_length_ratio(from, &model->length_ratio, error));
    TRY(read_segmenters(from, &both, model->config, error));
    TRY(model_segment(model, both, error));
    TRY(safetensors_check(from, list, list_model(list, model, NULL), error));
    TRY(model_allocate(model, error));
    return safetensors_read(from, list, list_model(list, model, model->block), error);
}

nmt_status checkpoint_load_model(nmt_model **model, const char *path, nmt_error *error)
{
    safetensors from;
    nmt_model *made = NULL;
    *model = NULL;
    nmt_status status = safetensors_open(&from, path, "nmt", error);
    if (status == NMT_OK) {
        status = create_described(&from, &made, error);
    }
    if (status == NMT_OK) {
        status = fill_model(&from, made, error);
        if (status == NMT_OK) {
            *model = made;
        } else {
            nmt_model_free(made);
        }
    }
    safetensors_close(&from);
    return status;
}

/* ---- the state of a run ------------------------------------------------------------------------------------------ */

static nmt_status list_blocks(stored_tensor **list, const state_block *blocks, size_t block_count, size_t block_size,
                              nmt_error *error)
{
    TRY(memory_new(list, block_count, sizeof **list, "the blocks of a state", error));
    for (size_t i = 0; i < block_count; i++) {
        (*list)[i] = (stored_tensor){.name = blocks[i].name,
                                     .rows = blocks[i].bytes != NULL ? blocks[i].size : block_size,
                                     .values = blocks[i].values,
                                     .bytes = blocks[i].bytes};
    }
    return NMT_OK;
}

static json *state_metadata(const json *fields)
{
    json *metadata = json_new_object();
    const bool made = json_add(metadata, "format", json_new_string("nmt-state")) &&
                      json_add(metadata, "version", json_new_string(NMT_VERSION)) &&
                      add_text(metadata, "fields", json_print(fields, false));
    if (!made) {
        json_free(metadata);
        return NULL;
    }
    return metadata;
}

nmt_status checkpoint_save_state(const char *path, const json *fields, const state_block *blocks, size_t block_count,
                                 size_t block_size, nmt_error *error)
{
    stored_tensor *list;
    TRY(list_blocks(&list, blocks, block_count, block_size, error));
    const nmt_status status = safetensors_save(path, state_metadata(fields), list, block_count, error);
    free(list);
    return status;
}

nmt_status checkpoint_load_fields(const char *path, json **fields, nmt_error *error)
{
    safetensors from;
    *fields = NULL;
    nmt_status status = safetensors_open(&from, path, "nmt-state", error);
    if (status == NMT_OK) {
        status = safetensors_json(&from, "fields", JSON_OBJECT, fields, error);
    }
    safetensors_close(&from);
    return status;
}

nmt_status checkpoint_load_state(const char *path, json **fields, const state_block *blocks, size_t block_count,
                                 size_t block_size, nmt_error *error)
{
    safetensors from;
    stored_tensor *list;
    *fields = NULL;
    TRY(list_blocks(&list, blocks, block_count, block_size, error));
    nmt_status status = safetensors_open(&from, path, "nmt-state", error);
    if (status == NMT_OK) {
        status = safetensors_json(&from, "fields", JSON_OBJECT, fields, error);
    }
    if (status == NMT_OK) {
        status = safetensors_read(&from, list, block_count, error);
        if (status != NMT_OK) {
            json_free(*fields);
            *fields = NULL;
        }
    }
    safetensors_close(&from);
    free(list);
    return status;
}

nmt_status checkpoint_load_segmenters(segmenters *both, const nmt_config *config, const char *path, nmt_error *error)
{
    safetensors from;
    *both = (segmenters){NULL, NULL};
    nmt_status status = safetensors_open(&from, path, "nmt-state", error);
    if (status == NMT_OK) {
        status = read_segmenters(&from, both, config, error);
    }
    safetensors_close(&from);
    return status;
}
