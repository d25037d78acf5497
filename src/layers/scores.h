/* The rows of the table of attention scores; one file each. */
#ifndef LAYERS_SCORES_H
#define LAYERS_SCORES_H

#include "layers/attention.h"

extern const attention_score score_additive;

#endif
