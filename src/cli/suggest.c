#include "cli/suggest.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 63 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t edit_distance(const char *a, const char *b)
{
    const size_t rows = strlen(a);
    const size_t columns = strlen(b);
    size_t cost[LONGEST + 1][LONGEST + 1];
    if (rows > LONGEST || columns > LONGEST) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const size_t other = a[i - 1] != b[j - 1];
            cost[i][j] = smaller(smaller(cost[i - 1][j], cost[i][j - 1]) + 1, cost[i - 1][j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

void suggest(suggestion *choice, const char *candidate)
{
    const size_t distance = edit_distance(choice->typed, candidate);
    const size_t near = 1 + strlen(candidate) / 4;
    if (distance <= near && (choice->best == NULL || distance < choice->distance)) {
        choice->best = candidate;
        choice->distance = distance;
    }
}
