/* The part of nmt/model.h that only looks at a model. */
#include <nmt/model.h>

#include "model/checkpoint.h"
#include "model/model.h"

nmt_status nmt_model_load(nmt_model **model, const char *path, nmt_error *error)
{
    return checkpoint_load_model(model, path, error);
}

const nmt_config *nmt_model_config(const nmt_model *model)
{
    return model->config;
}

size_t nmt_model_tensor_count(const nmt_model *model)
{
    return model->parameters.count;
}

nmt_tensor_info nmt_model_tensor(const nmt_model *model, size_t index)
{
    const tensor *entry = &model->parameters.tensors[index];
    return (nmt_tensor_info){entry->name, entry->rows, entry->columns};
}

size_t nmt_model_parameter_count(const nmt_model *model)
{
    return model->parameters.size;
}

size_t nmt_model_source_vocabulary_size(const nmt_model *model)
{
    return vocabulary_size(model->source_words);
}

size_t nmt_model_target_vocabulary_size(const nmt_model *model)
{
    return vocabulary_size(model->target_words);
}

const char *nmt_model_history(const nmt_model *model)
{
    return model->history != NULL ? model->history : "[]";
}

const char *nmt_model_version(const nmt_model *model)
{
    return model->version != NULL ? model->version : NMT_VERSION;
}
