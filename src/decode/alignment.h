/* Building the alignments of include/nmt/translate.h. */
#ifndef DECODE_ALIGNMENT_H
#define DECODE_ALIGNMENT_H

#include <nmt/translate.h>
#include <stddef.h>

#include "core/real.h"
#include "decode/sentence.h"

/* Room for `target_count` rows, with the tokens and `</s>` of the source; the target tokens are NULL and the weights 0
 * yet. The caller's: nmt_alignment_clear; on failure nothing is owned. */
nmt_status alignment_create(nmt_alignment *alignment, const sentence *source, size_t target_count, nmt_error *error);

/* weights[t] = alpha[source_count]. */
void alignment_set_row(nmt_alignment *alignment, size_t t, const real *alpha);

#endif
