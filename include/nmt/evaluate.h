/** Scores of translations against references, and whether a difference between two outputs is more than chance. */
#ifndef NMT_EVALUATE_H
#define NMT_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NMT_BLEU_ORDER = 4 };

/** All scores run from 0 to 100. Words stand between ASCII whitespace, and a line is compared by its words. */
typedef enum nmt_metric {
    NMT_METRIC_BLEU,           /**< Papineni et al. 2002, over words */
    NMT_METRIC_CHRF,           /**< chrF2 (Popović 2015): characters, orders 1 to 6, whitespace left out */
    NMT_METRIC_CHRF_WORDS,     /**< chrF2++ (Popović 2017): words of order 1 and 2 as well, final punctuation apart */
    NMT_METRIC_ACCURACY,       /**< lines equal to a reference, per cent */
    NMT_METRIC_TOKEN_ACCURACY, /**< words equal to the reference's at the same place, per cent of the longer line's */
    NMT_METRIC_ERROR_RATE,     /**< 100 - accuracy: the word error rate of letters to phones, where a line is a word */
    NMT_METRIC_COUNT
} nmt_metric;

/** What becomes of an n-gram order without a match in BLEU (Chen and Cherry 2014); as sacrebleu does it. */
typedef enum nmt_smoothing {
    NMT_SMOOTHING_NONE,  /**< its precision is 0, and so is BLEU */
    NMT_SMOOTHING_EXP,   /**< the k-th such order counts as 1/2^k matches */
    NMT_SMOOTHING_FLOOR, /**< it counts as `smoothing_value` matches */
    NMT_SMOOTHING_ADD_K  /**< from bigrams on, `smoothing_value` is added to matches and totals */
} nmt_smoothing;

typedef struct nmt_metric_options {
    nmt_smoothing smoothing; /**< BLEU only */
    double smoothing_value;  /**< 0 means 0.1 for floor, 1 for add-k */
    bool lowercase;          /**< compare lower-cased text (Unicode simple case mapping) */
} nmt_metric_options;

/** BLEU with the counts behind it, summed over lines. */
typedef struct nmt_bleu {
    double score;                     /**< 0 to 100 */
    double precision[NMT_BLEU_ORDER]; /**< of the n-grams of order 1 to 4, smoothed, 0 to 100 */
    double brevity_penalty;           /**< 0 to 1 */
    size_t matches[NMT_BLEU_ORDER], totals[NMT_BLEU_ORDER];
    size_t hypothesis_length;
    size_t reference_length; /**< of each line the reference closest in length, the shorter one of two */
} nmt_bleu;

/** A text scored by one metric: the sums and, for resampling, the counts of each line. */
typedef struct nmt_evaluation nmt_evaluation;

/** As the command line says it: "bleu", "chrf", "chrf++", "accuracy", "token-accuracy", "error-rate". */
NMT_API const char *nmt_metric_name(nmt_metric metric);

/**
 * Scores `count` lines. `references` is an array of `reference_count` texts of `count` lines; a line may be NULL where
 * it has fewer references than others, but not in the first text. With several references BLEU clips by the most that
 * one of them has, and the other metrics take each line's best. `options` NULL means all zero.
 * The evaluation is the caller's: nmt_evaluation_free. Errors: NMT_INVALID for no line, no reference, or a smoothing
 * value that is negative or not finite.
 */
NMT_API nmt_status nmt_evaluate(nmt_evaluation **evaluation, nmt_metric metric, const nmt_metric_options *options,
                                const char *const *hypotheses, const char *const *const *references,
                                size_t reference_count, size_t count, nmt_error *error);

NMT_API double nmt_evaluation_score(const nmt_evaluation *evaluation);

/** The parts of the score of an NMT_METRIC_BLEU evaluation. */
NMT_API nmt_bleu nmt_evaluation_bleu(const nmt_evaluation *evaluation);

/** What accuracy, token accuracy and error rate count: what was right, of how many lines or words. */
NMT_API void nmt_evaluation_counts(const nmt_evaluation *evaluation, size_t *right, size_t *total);

/**
 * What a reader needs to compute the score again, in sacrebleu's words, e.g.
 * "nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:nmt-..."; borrowed from the evaluation.
 */
NMT_API const char *nmt_evaluation_signature(const nmt_evaluation *evaluation);

NMT_API void nmt_evaluation_free(nmt_evaluation *evaluation);

/** Paired bootstrap (Koehn 2004): both texts scored on the same lines, drawn with replacement, many times. */
typedef struct nmt_comparison {
    double difference; /**< score of the first minus score of the second, on the whole text */
    double low, high;  /**< 95 % of the samples' differences lie here: percentiles 2.5 and 97.5 */
    double p_value;    /**< (1 + samples whose difference has not the whole text's sign) / (1 + samples); 1 for none */
} nmt_comparison;

/**
 * Compares two evaluations of as many lines by the same metric. The same seed draws the same lines, whatever the
 * metric. Errors: NMT_INVALID for evaluations that cannot be compared, or no samples.
 */
NMT_API nmt_status nmt_evaluation_compare(nmt_comparison *comparison, const nmt_evaluation *first,
                                          const nmt_evaluation *second, size_t samples, uint64_t seed,
                                          nmt_error *error);

/** Plain BLEU with one reference a line: nothing is smoothed, case is kept. Errors: NMT_INVALID for a count of 0. */
NMT_API nmt_status nmt_bleu_corpus(nmt_bleu *bleu, const char *const *hypotheses, const char *const *references,
                                   size_t count, nmt_error *error);

#ifdef __cplusplus
}
#endif
#endif
