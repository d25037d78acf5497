/*
 * Fixed context, the baseline that attention replaced (Cho et al. 2014; Sutskever, Vinyals and Le 2014): at every step
 * c = [h_S-> ; h_1<-], where the encoder ended in either direction. As a row of the table it is two heads that have
 * made up their minds, whatever is asked: the one that reads the forward half is at the last token, the other at the
 * first. Nothing learns from such energies.
 */
#include "layers/scores.h"

static void declare(attention_head *head, parameter_table *table, const char *prefix)
{
    (void)table;
    (void)prefix;
    head->query = projection_identity(0);
    head->key = projection_identity(0);
}

static void energies(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S)
{
    const size_t end = head->index == 0 ? S - 1 : 0;
    (void)theta;
    (void)q;
    (void)k;
    for (size_t i = 0; i < S; i++) {
        e[i] = i == end ? 0 : -(real)INFINITY;
    }
}

const attention_score score_fixed = {.name = "fixed", .of_halves = true, .declare = declare, .energies = energies};
