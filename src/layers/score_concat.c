/*
 * Concat score (Luong, Pham and Manning 2015, section 3.1): e_i = v . tanh(W_a [s ; h_i]). W_a [s ; h_i] is the sum of
 * its left columns times s and its right columns times h_i, so it is the additive score without a bias, in one matrix.
 */
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    const size_t D = head->state, C = head->annotation;
    const projection joint = score_projection(table, prefix, "concat.weight", D + C, head->size);
    head->query = head->key = joint;
    head->query.in = D;
    head->key.in = C;
    head->key.weight = joint.weight + D;
    head->own = score_tensor(table, prefix, "energy.weight", head->size, 0, INIT_ATTENTION);
    head->own_size = head->size;
}

const attention_score score_concat = {
    .name = "concat", .declare = declare, .energies = tanh_energies, .energies_backward = tanh_energies_backward};
