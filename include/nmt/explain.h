/** One translation step by step, as numbers: what was asked, what was read, what it made likely. */
#ifndef NMT_EXPLAIN_H
#define NMT_EXPLAIN_H

#include <stddef.h>

#include <nmt/error.h>
#include <nmt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NMT_CANDIDATES = 5 };

typedef struct nmt_candidate {
    char *token;
    double probability;
} nmt_candidate;

/** The step that chose a target token: the first of its candidates. */
typedef struct nmt_explained_step {
    double state_norm;   /**< Euclidean, of the state that asked: s of the step before, in Luong's order of this one */
    double context_norm; /**< of c, what was read */
    double *energies;    /**< [source_count] the scores e; NULL where no single score made the weights: several heads,
                              a local window, a fixed context */
    double *weights;     /**< [source_count] alpha */
    nmt_candidate candidates[NMT_CANDIDATES]; /**< the most probable next tokens, the best first */
    size_t candidate_count;
} nmt_explained_step;

typedef struct nmt_explanation {
    size_t source_count; /**< S, `</s>` among them; 0 for an empty line */
    char **source;       /**< [source_count] tokens as they stood in the text */
    size_t step_count;   /**< T, the step of `</s>` among them where the length limit left it */
    nmt_explained_step *steps;
} nmt_explanation;

/**
 * Translates one line greedily, with the length limit that nmt_translate has by default. `*explanation` is overwritten;
 * on success the caller owns what it holds: nmt_explanation_clear. On failure nothing is owned.
 * Errors: as nmt_translate; NMT_UNSUPPORTED for an ensemble, which has no state of its own.
 */
NMT_API nmt_status nmt_explain(nmt_model *model, const char *line, nmt_explanation *explanation, nmt_error *error);

NMT_API void nmt_explanation_clear(nmt_explanation *explanation);

#ifdef __cplusplus
}
#endif
#endif
