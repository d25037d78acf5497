/*
 * General score (Luong, Pham and Manning 2015, section 3.1): e_i = s . W_a h_i. W_a h_i does not depend on the step, so
 * it is the key, and the state asks as it is.
 */
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    head->query = projection_identity(head->state);
    head->key = score_projection(table, prefix, "key.weight", head->annotation, head->state);
    head->scale = 1;
}

const attention_score score_general = {
    .name = "general", .declare = declare, .energies = dot_energies, .energies_backward = dot_energies_backward};
