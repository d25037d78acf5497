/** Translating with a model, and aligning given pairs. */
#ifndef NMT_TRANSLATE_H
#define NMT_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>

#include <nmt/error.h>
#include <nmt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How each target token was read from the source: the attention weights of one sentence pair. */
typedef struct nmt_alignment {
    size_t source_count, target_count; /**< S and T; `</s>` stands at the end of each, see nmt_translation */
    char **source;                     /**< [source_count] tokens as they stood in the text */
    char **target;                     /**< [target_count] */
    float *weights;                    /**< [target_count][source_count], each row sums to 1 */
} nmt_alignment;

/** A translation that its length limit cut off has no `</s>`: neither its probability nor, in the alignment, its row. */
typedef struct nmt_translation {
    char *text;              /**< tokens joined by one space; empty for an empty line */
    double log_probability;  /**< natural logarithm, summed over tokens and `</s>` */
    nmt_alignment alignment; /**< all zero where it was not asked for or the line was empty */
} nmt_translation;

typedef struct nmt_translate_options {
    size_t batch_size;       /**< sentences decoded together; 0 means 64. Changes no result. */
    double max_length_ratio; /**< target tokens per source token at the most; 0 means 3 */
    size_t max_length_extra; /**< added to that bound; 0 means 10 */
    bool alignment;          /**< fill nmt_translation.alignment */
} nmt_translate_options;

/**
 * Translates `count` lines greedily. `translations` is an array of `count`, overwritten; on success the caller owns
 * what it holds: nmt_translation_clear for each. On failure nothing is owned. `options` NULL means all defaults.
 * Errors: NMT_INVALID for a line that is not UTF-8, NMT_NOT_FINITE where the model gives NaN or infinity (the message
 * names the line by its 1-based number in this call); NMT_INVALID for a ratio that is negative or not finite.
 */
NMT_API nmt_status nmt_translate(nmt_model *model, const char *const *lines, size_t count,
                                 const nmt_translate_options *options, nmt_translation *translations,
                                 nmt_error *error);

NMT_API void nmt_translation_clear(nmt_translation *translation);

/**
 * Attention weights over given pairs, the true target fed in (teacher forcing). `alignments` is an array of `count`,
 * overwritten; on success the caller owns what it holds: nmt_alignment_clear for each. A pair with an empty side has
 * an alignment of zero counts. `batch_size` 0 means 64 and changes no result. On failure nothing is owned.
 * Errors: as nmt_translate; messages say "source line" and "target line" where a side has the fault.
 */
NMT_API nmt_status nmt_align(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                             size_t batch_size, nmt_alignment *alignments, nmt_error *error);

NMT_API void nmt_alignment_clear(nmt_alignment *alignment);

#ifdef __cplusplus
}
#endif
#endif
