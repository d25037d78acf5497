/** A trained model: parameters, vocabularies and the configuration that made it, loaded from one file. */
#ifndef NMT_MODEL_H
#define NMT_MODEL_H

#include <stddef.h>

#include <nmt/config.h>
#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nmt_model nmt_model;

/** Loads a model file (safetensors). On success `*model` is owned by the caller: nmt_model_free. */
NMT_API nmt_status nmt_model_load(nmt_model **model, const char *path, nmt_error *error);

/**
 * Loads several models as one, whose probabilities are the mean of theirs at every step, and its attention likewise.
 * They need not be of one size or kind, but must have the same vocabularies and prepare text alike. One path is the
 * same as nmt_model_load. The ensemble has no tensors of its own. On success `*model` is owned by the caller:
 * nmt_model_free. Errors: those of nmt_model_load; NMT_INVALID naming the path and the first word that differs.
 */
NMT_API nmt_status nmt_model_load_ensemble(nmt_model **model, const char *const *paths, size_t count, nmt_error *error);

/**
 * From now on nmt_translate, nmt_score and nmt_explain read the model's matrices in 8 bits, with a scale a row: a
 * quarter of the memory to read for each word, which is what translating few sentences at a time spends its time on.
 * Results differ slightly. Embeddings, vectors and what teaches or aligns (training, nmt_align) keep 32 bits. Takes a
 * quarter of the parameters' memory more. Errors: NMT_NO_MEMORY, and the model is as before.
 */
NMT_API nmt_status nmt_model_quantize(nmt_model *model, nmt_error *error);

NMT_API void nmt_model_free(nmt_model *model);

/** Borrowed from the model. */
NMT_API const nmt_config *nmt_model_config(const nmt_model *model);

typedef struct nmt_tensor_info {
    const char *name; /**< borrowed from the model */
    size_t rows;      /**< first dimension: outputs of a weight [out,in], the length of a vector */
    size_t columns;   /**< second dimension; 0 for a vector */
} nmt_tensor_info;

NMT_API size_t nmt_model_tensor_count(const nmt_model *model);
NMT_API nmt_tensor_info nmt_model_tensor(const nmt_model *model, size_t index);
NMT_API size_t nmt_model_parameter_count(const nmt_model *model);
NMT_API size_t nmt_model_source_vocabulary_size(const nmt_model *model);
NMT_API size_t nmt_model_target_vocabulary_size(const nmt_model *model);

/** JSON array, one object a validation: epoch, update, losses, metric. Borrowed from the model. */
NMT_API const char *nmt_model_history(const nmt_model *model);

/** Version of nmt that wrote the model file. Borrowed from the model. */
NMT_API const char *nmt_model_version(const nmt_model *model);

#ifdef __cplusplus
}
#endif
#endif
