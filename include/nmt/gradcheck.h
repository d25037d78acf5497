/** The hand-written gradients of a configured model against central differences, in double precision. */
#ifndef NMT_GRADCHECK_H
#define NMT_GRADCHECK_H

#include <stddef.h>
#include <stdint.h>

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

typedef struct nmt_gradcheck_report {
    nmt_gradcheck_row *rows;
    size_t row_count;
    size_t sentences, source_tokens, target_tokens; /**< the batch it was done on */
    double loss;                                    /**< nats, summed over target tokens */
    double value_norm, score_norm, total_norm;      /**< norms of the gradient at the annotations that arrives
                                                         through the Value path, the Score path, both */
    double path_residual;                           /**< largest |value + score - total| over its elements */
} nmt_gradcheck_report;

/**
 * Builds the model that the file at `config_path` describes in double precision, takes the first pairs of its training text as
 * a batch, and checks up to `elements` elements of each tensor (0: all of them), chosen by the configured seed.
 * On success the caller owns the report's rows: nmt_gradcheck_clear.
 */
NMT_API nmt_status nmt_gradcheck(nmt_gradcheck_report *report, const char *config_path, const char *const *overrides,
                                 size_t override_count, size_t elements, nmt_error *error);

NMT_API void nmt_gradcheck_clear(nmt_gradcheck_report *report);

#ifdef __cplusplus
}
#endif
#endif
