/*
 * Coverage penalty: lambda sum_i max(0, 1 - sum_t alpha_ti) over the source tokens of a sentence, added to the loss. It
 * asks that every source token, its `</s>` included, is read about once. (As a score of finished translations: Wu et
 * al. 2016, section 7.)
 */
#ifndef LAYERS_COVERAGE_H
#define LAYERS_COVERAGE_H

#include "data/batch.h"
#include "layers/attention.h"

/*
 * The sum over the batch, with lambda 1, from the weights of all steps in `work`. dcoverage[M] is overwritten with the
 * gradient at every alpha_ti of a source token, times `scale`, whatever t.
 */
double coverage_penalty(real *dcoverage, const attention_workspace *work, const sequences *target, real scale);

#endif
