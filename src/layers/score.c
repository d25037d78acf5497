#include "layers/score.h"

#include <stdio.h>
#include <string.h>

#include "layers/scores.h"

#define ADDRESS(name) &score_##name,
static const attention_score *const scores[] = {ATTENTION_SCORES(ADDRESS)};

const attention_score *attention_score_find(const char *name)
{
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
        if (strcmp(scores[i]->name, name) == 0) {
            return scores[i];
        }
    }
    return NULL;
}

size_t score_tensor(parameter_table *table, const char *prefix, const char *name, size_t rows, size_t columns,
                    tensor_init init)
{
    char path[sizeof table->tensors->name];
    snprintf(path, sizeof path, "%s.%s", prefix, name);
    return parameters_add(table, path, rows, columns, init);
}

projection score_projection(parameter_table *table, const char *prefix, const char *name, size_t in, size_t out)
{
    projection made = projection_identity(in);
    made.out = out;
    made.weight = score_tensor(table, prefix, name, out, in, INIT_ATTENTION);
    made.stride = in;
    return made;
}
