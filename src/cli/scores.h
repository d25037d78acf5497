/* Log probabilities as the commands write them: six digits behind the point. */
#ifndef CLI_SCORES_H
#define CLI_SCORES_H

#include <stddef.h>
#include <stdio.h>

void scores_write(FILE *file, double number);

/* A line: the log probability of a sentence, a tab, and those of its tokens with spaces between them. */
void scores_write_tokens(FILE *file, double log_probability, const double *tokens, size_t count);

#endif
