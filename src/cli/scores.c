#include "cli/scores.h"

#include <math.h>

void scores_write(FILE *file, double number)
{
    fprintf(file, "%.6f", fabs(number) < 5e-7 ? 0 : number); /* no -0.000000 */
}

void scores_write_tokens(FILE *file, double log_probability, const double *tokens, size_t count)
{
    scores_write(file, log_probability);
    for (size_t i = 0; i < count; i++) {
        putc(i == 0 ? '\t' : ' ', file);
        scores_write(file, tokens[i]);
    }
    putc('\n', file);
}
