/** Scores of translations against references. */
#ifndef NMT_EVALUATE_H
#define NMT_EVALUATE_H

#include <stddef.h>

#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NMT_BLEU_ORDER = 4 };

/** Corpus BLEU (Papineni et al. 2002) with the counts behind it. */
typedef struct nmt_bleu {
    double score; /**< 0 to 100 */
    double precision[NMT_BLEU_ORDER]; /**< of the n-grams of order 1 to 4, 0 to 100 */
    double brevity_penalty;           /**< 0 to 1 */
    size_t matches[NMT_BLEU_ORDER], totals[NMT_BLEU_ORDER];
    size_t hypothesis_length, reference_length;
} nmt_bleu;

/**
 * BLEU over tokens between ASCII whitespace, case kept; nothing is smoothed, so it is 0 where an order has no match.
 * `hypotheses` and `references` are `count` lines each. Errors: NMT_INVALID for a count of 0.
 */
NMT_API nmt_status nmt_bleu_corpus(nmt_bleu *bleu, const char *const *hypotheses, const char *const *references,
                                   size_t count, nmt_error *error);

/** What a reader needs to compute the same score again, e.g. "nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:nmt-…". */
NMT_API const char *nmt_bleu_signature(void);

#ifdef __cplusplus
}
#endif
#endif
