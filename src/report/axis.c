#include "report/axis.h"

#include <math.h>

enum { TICKS = 4 };

axis axis_over(double least, double most)
{
    if (!(most > least)) { /* one number: it stands in the middle */
        const double room = most != 0 ? fabs(most) / 2 : 1;
        least -= room;
        most += room;
    }
    const double rough = (most - least) / TICKS, power = pow(10, floor(log10(rough)));
    const double ratio = rough / power;
    axis made = {.step = power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10)};
    made.first = floor(least / made.step);
    made.last = ceil(most / made.step);
    return made;
}

double axis_place(const axis *on, double number)
{
    return (number / on->step - on->first) / (on->last - on->first);
}
