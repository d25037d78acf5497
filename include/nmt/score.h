/** How probable a model finds given translations. */
#ifndef NMT_SCORE_H
#define NMT_SCORE_H

#include <stddef.h>

#include <nmt/error.h>
#include <nmt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nmt_pair_score {
    double log_probability;          /**< natural logarithm, summed over tokens and `</s>` */
    size_t token_count;              /**< T: tokens of the target with `</s>` */
    size_t unknown_count;            /**< those that the model knows as `<unk>` alone */
    double *token_log_probabilities; /**< [token_count] */
} nmt_pair_score;

/**
 * The log probability of each target given its source, the target fed in token by token (teacher forcing). An empty
 * side is `</s>` alone and scored as any other. `scores` is an array of `count`, overwritten; on success the caller
 * owns what it holds: nmt_pair_score_clear for each. `batch_size` 0 means 64 and changes the last digits at the most.
 * On failure nothing is owned. Text of a model that segments is cut as the model cuts it: a search may have found the
 * same words in other pieces, with another probability.
 * Errors: NMT_INVALID for a line that is not UTF-8 or over NMT_SENTENCE_LIMIT (the message says "source line" or
 * "target line" and its 1-based number in this call); NMT_NOT_FINITE where the model gives NaN or infinity.
 */
NMT_API nmt_status nmt_score(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                             size_t batch_size, nmt_pair_score *scores, nmt_error *error);

NMT_API void nmt_pair_score_clear(nmt_pair_score *score);

#ifdef __cplusplus
}
#endif
#endif
