#include "train/pretrained.h"

#include <string.h>

#include "data/word_vectors.h"

/* Every model has a source embedding; where both sides share one matrix, it is the target's too. */
static tensor *find_embedding(nmt_model *model, const char *name)
{
    tensor *source = NULL;
    for (size_t t = 0; t < model->parameters.count; t++) {
        tensor *entry = &model->parameters.tensors[t];
        if (strcmp(entry->name, name) == 0) {
            return entry;
        }
        if (strcmp(entry->name, "encoder.embedding.weight") == 0) {
            source = entry;
        }
    }
    return source;
}

static tensor *source_embedding(nmt_model *model)
{
    return find_embedding(model, "encoder.embedding.weight");
}

static tensor *target_embedding(nmt_model *model)
{
    return find_embedding(model, "decoder.embedding.weight");
}

static nmt_status read_side(nmt_model *model, const tensor *embedding, const vocabulary *words, const char *path,
                            size_t *found, nmt_error *error)
{
    if (path == NULL) {
        return NMT_OK;
    }
    return word_vectors_read(model->block + embedding->offset, found, words, embedding->columns, path, error);
}

nmt_status pretrained_read(nmt_model *model, pretrained_coverage *coverage, nmt_error *error)
{
    const nmt_config *config = model->config;
    *coverage = (pretrained_coverage){0, 0};
    TRY(read_side(model, source_embedding(model), model->source_words, config->data.source_embeddings,
                  &coverage->source, error));
    return read_side(model, target_embedding(model), model->target_words, config->data.target_embeddings,
                     &coverage->target, error);
}

static void log_side(const run_log *log, const char *side, const char *path, const vocabulary *words, size_t found,
                     bool frozen)
{
    if (path != NULL) {
        run_log_line(log, "%s embeddings: %zu of %zu words found%s", side, found,
                     vocabulary_size(words) - TOKEN_FIRST_WORD, frozen ? "; frozen" : "");
    }
}

void pretrained_log(const nmt_model *model, const pretrained_coverage *coverage, const run_log *log)
{
    const nmt_config *config = model->config;
    log_side(log, "source", config->data.source_embeddings, model->source_words, coverage->source,
             config->training.freeze_source);
    log_side(log, "target", config->data.target_embeddings, model->target_words, coverage->target,
             config->training.freeze_target);
}

void pretrained_freeze(nmt_model *model)
{
    if (model->config->training.freeze_source) {
        source_embedding(model)->frozen = true;
    }
    if (model->config->training.freeze_target) {
        target_embedding(model)->frozen = true;
    }
}

void pretrained_clear_frozen(const parameter_table *table, real *gradient)
{
    for (size_t t = 0; t < table->count; t++) {
        const tensor *entry = &table->tensors[t];
        if (entry->frozen) {
            memset(gradient + entry->offset, 0, tensor_size(entry) * sizeof *gradient);
        }
    }
}
