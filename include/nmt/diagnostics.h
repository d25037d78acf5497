/** Attention in numbers: how sharp its rows are, and what they leave out or read twice. They describe how the reads
 * were distributed; they do not say why a word was chosen. */
#ifndef NMT_DIAGNOSTICS_H
#define NMT_DIAGNOSTICS_H

#include <stddef.h>

#include <nmt/translate.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sums over the rows (target tokens, `</s>` among them) and the words (source tokens without `</s>`) of one sentence,
 * or of many. With weights a[t][s], T rows and S columns (`</s>` among them):
 */
typedef struct nmt_attention_sums {
    size_t sentences; /**< with tokens on both sides */
    size_t rows, words;
    double entropy;       /**< over rows: -sum_s a[t][s] ln a[t][s], in nats */
    double entropy_share; /**< over rows: entropy / ln S, 0 to 1; 0 where S is 1 */
    double distance;      /**< over rows: sum_s a[t][s] |s/(S-1) - t/(T-1)|, 0 to 1; how far from the diagonal */
    size_t omitted;       /**< words whose coverage sum_t a[t][s] is under the threshold */
    double repeated;      /**< over words: max(0, coverage - 1), what was read beyond once */
} nmt_attention_sums;

/** Means: the first three over rows, the others over words; 0 where there is none. */
typedef struct nmt_attention_means {
    double entropy, entropy_share, distance, omission_rate, repeated;
} nmt_attention_means;

/**
 * Measures one sentence: overwrites `sums`, and where they are not NULL `entropy` [target_count], of each row in nats,
 * and `coverage` [source_count], of each source token, `</s>` among them. An alignment of zero counts is all zero.
 */
NMT_API void nmt_attention_measure(nmt_attention_sums *sums, const nmt_alignment *alignment, double omission_threshold,
                                   double *entropy, double *coverage);

/** Adds the sums of a sentence to those of a corpus. */
NMT_API void nmt_attention_sums_add(nmt_attention_sums *corpus, const nmt_attention_sums *sentence);

NMT_API nmt_attention_means nmt_attention_means_of(const nmt_attention_sums *sums);

#ifdef __cplusplus
}
#endif
#endif
