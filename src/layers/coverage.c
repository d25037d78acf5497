#include "layers/coverage.h"

#include <string.h>

double coverage_penalty(real *dcoverage, const attention_workspace *work, const sequences *target, real scale)
{
    double penalty = 0;
    memset(dcoverage, 0, work->tokens * sizeof *dcoverage);
    for (size_t row = 0; row < target->count; row++) {
        const size_t S = work->length[work->sentence[row]];
        real *coverage = dcoverage + work->start[work->sentence[row]];
        for (size_t t = 0; t < target->length[row]; t++) {
            const real *alpha = work->alpha + (target->offset[t] + row) * work->longest;
            for (size_t i = 0; i < S; i++) {
                coverage[i] += alpha[i];
            }
        }
        for (size_t i = 0; i < S; i++) {
            penalty += coverage[i] < 1 ? 1 - (double)coverage[i] : 0;
            coverage[i] = coverage[i] < 1 ? -scale : 0;
        }
    }
    return penalty;
}
