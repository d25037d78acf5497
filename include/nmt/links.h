/** Word alignments as links between tokens: read, taken from attention, joined from two directions, measured. */
#ifndef NMT_LINKS_H
#define NMT_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nmt/error.h>
#include <nmt/translate.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Tokens are numbered from 0, below this. */
enum { NMT_LINK_LIMIT = 1000000 };

typedef struct nmt_link {
    uint32_t source, target;
    bool possible; /**< in gold links: the annotators allow it but do not ask for it; else it is sure */
} nmt_link;

/** The links of one sentence, each pair of tokens at most once, by target token and then by source token.
 * Zero-initialise it; nmt_links_clear when done. Functions that fill it overwrite what it holds and keep its room. */
typedef struct nmt_links {
    nmt_link *items; /**< [count] */
    size_t count, capacity;
} nmt_links;

NMT_API void nmt_links_clear(nmt_links *links);

/**
 * Reads a line of links in the Pharaoh format, `i-j` for source token i and target token j, between spaces or tabs;
 * where `gold`, `ipj` is a possible link. Errors: NMT_INVALID for anything else, for a number of NMT_LINK_LIMIT or
 * more, and for a pair that stands there twice; the message names the link but neither file nor line.
 */
NMT_API nmt_status nmt_links_parse(nmt_links *links, const char *line, bool gold, nmt_error *error);

/**
 * A link from each target token but `</s>` to the source token of most attention, the first of equals; none where that
 * is `</s>`. `shift`: the attention of target token j is read from the row of token j + 1, because an attentive decoder
 * pays a row of attention before its token is chosen, and links can come out one token late (Koehn and Knowles 2017,
 * section 3.5); the last row stands for itself.
 */
NMT_API nmt_status nmt_links_from_attention(nmt_links *links, const nmt_alignment *alignment, bool shift,
                                            nmt_error *error);

/** The same shift on the weights themselves: row j becomes row j + 1, the last one stays. */
NMT_API void nmt_alignment_shift(nmt_alignment *alignment);

/** Source for target and target for source. */
NMT_API void nmt_links_swap(nmt_links *links);

/**
 * How links of two directions become one set (Och and Ney 2003; Koehn et al. 2005).
 * grow-diag starts from the intersection and goes over its links by target and then source token, again until nothing
 * is added: of each link the eight neighbours, (target, source) + (-1,0) (0,-1) (1,0) (0,1) (-1,-1) (-1,1) (1,-1)
 * (1,1) in this order, join where they are in the union and one of their two tokens has no link yet.
 * grow-diag-final-and then goes once over the union in the same order: a link joins where neither token has one yet.
 */
typedef enum nmt_symmetrization {
    NMT_SYMMETRIZATION_INTERSECTION,
    NMT_SYMMETRIZATION_UNION,
    NMT_SYMMETRIZATION_GROW_DIAG,
    NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND
} nmt_symmetrization;

/** `result` must be neither of the two; both name the source token first (nmt_links_swap). All links count as sure. */
NMT_API nmt_status nmt_links_symmetrize(nmt_links *result, const nmt_links *forward, const nmt_links *reverse,
                                        nmt_symmetrization method, nmt_error *error);

/** What precision, recall and error rate are made of; add up over sentences. */
typedef struct nmt_link_counts {
    size_t links;         /**< |A|, the links to measure */
    size_t sure;          /**< |S|, the sure gold links */
    size_t links_sure;    /**< |A and S| */
    size_t links_allowed; /**< |A and P|; P holds the sure and the possible gold links */
} nmt_link_counts;

/** Adds a sentence. */
NMT_API void nmt_link_counts_add(nmt_link_counts *counts, const nmt_links *links, const nmt_links *gold);

/**
 * Och and Ney 2003, in per cent: precision |A and P| / |A|, recall |A and S| / |S|, alignment error rate
 * 1 - (|A and S| + |A and P|) / (|A| + |S|). Where nothing could be wrong (a denominator of 0) precision and recall are
 * 100 and the error rate is 0.
 */
NMT_API double nmt_links_precision(const nmt_link_counts *counts);
NMT_API double nmt_links_recall(const nmt_link_counts *counts);
NMT_API double nmt_links_error_rate(const nmt_link_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
