/** The hand-written gradients of a configured model against central differences, in double precision. */
#ifndef NMT_GRADCHECK_H
#define NMT_GRADCHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <nmt/config.h>
#include <nmt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One tensor's agreement. An element agrees when |analytic - numeric| <= 1e-8 + 1e-6 max(|analytic|, |numeric|). */
typedef struct nmt_gradcheck_row {
    char name[96];
    size_t rows, columns;   /**< as in nmt_tensor_info */
    size_t checked, failed; /**< elements */
    double largest;         /**< largest |gradient| among those checked */
    double worst_absolute;  /**< largest |analytic - numeric| */
    double worst_relative;  /**< largest |analytic - numeric| / max(|analytic|, |numeric|, 1e-8) */
} nmt_gradcheck_row;

/**
 * Norms of a gradient's shares by the path of attention that it came through: the values (the weighted sum), the scores
 * (the weights), or neither; and of the whole, which is the sum of the shares (norms are not: shares may point against
 * each other).
 */
typedef struct nmt_gradcheck_room {
    const char *name; /**< a group of parameters: "encoder"; static */
    double direct, value, score, whole;
} nmt_gradcheck_room;

enum { NMT_GRADCHECK_ROOMS = 6 };

/** The same at the annotation of one source token; `direct` came through the decoder's first state. */
typedef struct nmt_gradcheck_position {
    char *word;      /**< as the model knows it: `<unk>`, `</s>` among them */
    size_t sentence; /**< from 1 */
    double direct, value, score, whole;
} nmt_gradcheck_position;

typedef struct nmt_gradcheck_report {
    nmt_gradcheck_row *rows;
    size_t row_count;
    size_t sentences, source_tokens, target_tokens; /**< the batch it was done on */
    double loss;                                    /**< nats, summed over target tokens */
    double value_norm, score_norm, total_norm;      /**< norms of the gradient at the annotations that arrives
                                                         through the Value path, the Score path, both */
    double path_residual;                           /**< largest |direct + value + score - whole| over the elements of the
                                                         annotations and the parameters */
    nmt_gradcheck_room rooms[NMT_GRADCHECK_ROOMS];  /**< in the order of data: source embedding .. readout */
    nmt_gradcheck_position *positions;              /**< [position_count] sentence behind sentence */
    size_t position_count;
} nmt_gradcheck_report;

/**
 * Builds the model that the file at `config_path` describes in double precision, takes the first pairs of its training text as
 * a batch, and checks up to `elements` elements of each tensor (0: all of them), chosen by the configured seed.
 * `model_path` NULL draws parameters far from 0; else they, the vocabularies and everything but the text are those of
 * the model there. On success the caller owns what the report holds: nmt_gradcheck_clear.
 */
NMT_API nmt_status nmt_gradcheck(nmt_gradcheck_report *report, const char *config_path, const char *model_path,
                                 const char *const *overrides, size_t override_count, size_t elements,
                                 nmt_error *error);

NMT_API void nmt_gradcheck_clear(nmt_gradcheck_report *report);

/** Draws the shares of the paths, by room and by source token, as SVG. Faults of the file are left for ferror. */
NMT_API void nmt_gradcheck_draw(FILE *file, const nmt_gradcheck_report *report);

#ifdef __cplusplus
}
#endif
#endif
