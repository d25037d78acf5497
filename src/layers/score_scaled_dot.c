/*
 * Scaled dot score (Vaswani et al. 2017, section 3.2.1): e_i = s . h_i / sqrt(d), d being the size of both: so that the
 * energies of long vectors do not drive the softmax to where it has no gradient.
 */
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    (void)table;
    (void)prefix;
    head->query = projection_identity(head->state);
    head->key = projection_identity(head->annotation);
    head->scale = 1 / REAL(sqrt)((real)head->state);
}

const attention_score score_scaled_dot = {.name = "scaled_dot",
                                          .equal_sizes = true,
                                          .declare = declare,
                                          .energies = dot_energies,
                                          .energies_backward = dot_energies_backward};
