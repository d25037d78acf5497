/*
 * The table of scores: a line here is a row of the table (`score_<name>`, in the file of that name) and a choice of the
 * configuration.
 */
#ifndef LAYERS_SCORES_H
#define LAYERS_SCORES_H

#include "layers/score.h"

#define ATTENTION_SCORES(ROW)                                                                                          \
    ROW(additive)                                                                                                      \
    ROW(dot)                                                                                                           \
    ROW(general)                                                                                                       \
    ROW(concat)                                                                                                        \
    ROW(scaled_dot)                                                                                                    \
    ROW(gaussian)                                                                                                      \
    ROW(fixed)

#define DECLARE_SCORE(name) extern const attention_score score_##name;
ATTENTION_SCORES(DECLARE_SCORE)
#undef DECLARE_SCORE

/* What rows share: v . tanh(q + k_i), with v as the head's own parameters; and scale q . k_i. */
void tanh_energies(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S);
void tanh_energies_backward(const attention_head *head, const real *theta, real *dq, real *dk, real *down,
                            const real *de, const real *q, const real *k, size_t S);
void dot_energies(const attention_head *head, const real *theta, real *e, const real *q, const real *k, size_t S);
void dot_energies_backward(const attention_head *head, const real *theta, real *dq, real *dk, real *down,
                           const real *de, const real *q, const real *k, size_t S);

#endif
