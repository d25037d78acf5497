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

/** A translation that its length limit cut off has no `</s>`: neither its probability nor, in the alignment, its row.
 */
typedef struct nmt_translation {
    char *text;                      /**< tokens joined by one space, or the words of segmented text; empty for an
                                          empty line */
    double log_probability;          /**< natural logarithm, summed over tokens and `</s>` */
    double score;                    /**< what the search ranks by: see nmt_translate_options */
    size_t token_count;              /**< T: tokens with `</s>`; 0 for an empty line */
    double *token_log_probabilities; /**< [token_count] */
    nmt_alignment alignment;         /**< all zero where it was not asked for or the line was empty */
} nmt_translation;

/** What a log probability is divided by, for a translation of T tokens, `</s>` among them. */
typedef enum nmt_length_penalty {
    NMT_LENGTH_AVERAGE, /**< T */
    NMT_LENGTH_WU,      /**< ((5 + T) / 6)^length_alpha (Wu et al. 2016) */
    NMT_LENGTH_NONE     /**< 1 */
} nmt_length_penalty;

/** What `<unk>` is replaced by: source words and their translations, read from a file. */
typedef struct nmt_lexicon nmt_lexicon;

/**
 * Reads lines of a source token, a tab and its translation, which is one token as well; `path` NULL reads standard
 * input. On success `*lexicon` is owned by the caller: nmt_lexicon_free. Errors: NMT_IO; NMT_INVALID with path and
 * line for a line of another form and for a source token that was there before.
 */
NMT_API nmt_status nmt_lexicon_load(nmt_lexicon **lexicon, const char *path, nmt_error *error);

NMT_API void nmt_lexicon_free(nmt_lexicon *lexicon);

/**
 * A beam of `beam` hypotheses looks for the translations of highest
 *
 *     score = log p / penalty(T) + length_bonus * T
 *
 * where one that ended always comes before one that its length limit cut off. A beam of 1 is greedy search: it takes
 * the most probable token of each step. A sentence is done when nothing unfinished can score more than what is found.
 */
typedef struct nmt_translate_options {
    size_t batch_size;       /**< sentences decoded together; 0 means 64. Greedy search encodes up to eight times as
                                  many at once, as long as they have no more than 4,096 tokens, and gives the place of
                                  one that has ended to the next; but 1 means one by one. Changes the last digits of a
                                  result at the most. */
    double max_length_ratio; /**< target tokens per source token at the most; 0 means 3, or three times what the
                                  training text has, where that is more */
    size_t max_length_extra; /**< added to that bound; 0 means 10, or min_length and one, where that is more */
    size_t min_length;       /**< target tokens before `</s>` may come, where anything else may and the bound allows */
    size_t beam;             /**< hypotheses extended together, up to NMT_BEAM_LIMIT; 0 means 1: greedy */
    size_t nbest;            /**< translations for each line, up to `beam`; 0 means 1 */
    nmt_length_penalty length_penalty;
    double length_alpha;    /**< of NMT_LENGTH_WU, 0 to 10 */
    double length_bonus;    /**< nats a token, -100 to 100 */
    size_t no_repeat_ngram; /**< no n-gram of so many target tokens comes twice in a translation; 0: any may */
    bool ban_unknown;       /**< never choose `<unk>` */
    bool replace_unknown;   /**< write for `<unk>` the source word with the most attention, as it stands in the text;
                                 its piece or character where the model segments both sides */
    const nmt_lexicon *lexicon; /**< with replace_unknown: what to write for the source words in it; NULL: none */
    bool alignment;             /**< fill nmt_translation.alignment */
    const char *join;           /**< the text of a translation is joined by nmt_join; NULL: tokens stay as they are */
} nmt_translate_options;

/**
 * Joins words that another program cut into tokens, in place: a token that ends in `marker` ("@@") goes on in the next
 * one, and the last one just loses its marker. Single spaces stand between what is left.
 */
NMT_API void nmt_join(char *text, const char *marker);

enum { NMT_BEAM_LIMIT = 1024 };

/** Tokens of a line at the most, here and in nmt_score and nmt_explain: time grows with the square of a sentence, and a
 * line that is longer is a file without line ends. */
enum { NMT_SENTENCE_LIMIT = 10000 };

/**
 * Translates `count` lines. `translations` is an array of `count` times `nbest`, overwritten: line i has
 * translations[i * nbest] and on, the best first; where there are fewer (an empty line has one), `text` is NULL. On
 * success the caller owns what it holds: nmt_translation_clear for each. On failure nothing is owned. `options` NULL
 * means all defaults. With more than one line or hypothesis the model packs its matrices, the first time, and keeps
 * them so: they take their memory once more.
 * Errors: NMT_INVALID for a line that is not UTF-8 or over NMT_SENTENCE_LIMIT, NMT_NOT_FINITE where the model gives
 * NaN or infinity (the message names the line by its 1-based number in this call); NMT_INVALID for an option out of its
 * range.
 */
NMT_API nmt_status nmt_translate(nmt_model *model, const char *const *lines, size_t count,
                                 const nmt_translate_options *options, nmt_translation *translations, nmt_error *error);

NMT_API void nmt_translation_clear(nmt_translation *translation);

/**
 * Attention weights over given pairs, the true target fed in (teacher forcing). `alignments` is an array of `count`,
 * overwritten; on success the caller owns what it holds: nmt_alignment_clear for each. A pair with an empty side has
 * an alignment of zero counts. `batch_size` 0 means 64 and changes the last digits at the most. On failure nothing
 * is owned.
 * Errors: as nmt_translate; messages say "source line" and "target line" where a side has the fault.
 */
NMT_API nmt_status nmt_align(nmt_model *model, const char *const *sources, const char *const *targets, size_t count,
                             size_t batch_size, nmt_alignment *alignments, nmt_error *error);

NMT_API void nmt_alignment_clear(nmt_alignment *alignment);

#ifdef __cplusplus
}
#endif
#endif
