#include "report/curves.h"

#include <math.h>
#include <stdbool.h>

#include "report/axis.h"
#include "report/drawing.h"
#include "report/format.h"

enum { WIDTH = 760, LEFT = 76, RIGHT = 24, PANEL = 190, TOP = 44, BOTTOM = 52, GAP = 64, DOTS_MOST = 60 };

typedef struct curve {
    const char *name, *colour;
    size_t offset; /* of its number in a point */
} curve;

typedef struct panel {
    const char *title;
    curve curves[2];
    size_t curve_count;
    bool from_zero;
} panel;

static const panel panels[] = {
    {"loss, nats a target token",
     {{"training", "#2b6cb0", offsetof(curve_point, training_loss)},
      {"validation", "#c05621", offsetof(curve_point, validation_loss)}},
     2,
     false},
    {"BLEU", {{"validation", "#2f855a", offsetof(curve_point, bleu)}}, 1, false},
    {"learning rate", {{"", "#6b46c1", offsetof(curve_point, learning_rate)}}, 1, true},
};
enum { PANELS = sizeof panels / sizeof panels[0] };

static double number_of(const curve_point *point, const curve *line)
{
    return *(const double *)((const char *)point + line->offset);
}

/* Up to the last update, which need not be a tick. */
static axis updates_of(const curve_point *points, size_t count)
{
    const double last = count > 0 ? points[count - 1].update : 0;
    axis made = axis_over(0, last);
    if (last > 0) {
        made.last = last / made.step;
    }
    return made;
}

static long x_of(const axis *updates, double update)
{
    return lround(LEFT + axis_place(updates, update) * (WIDTH - LEFT - RIGHT));
}

static long y_of(const axis *numbers, double number)
{
    return lround(PANEL * (1 - axis_place(numbers, number)));
}

/* The least and most finite number of a panel; false where it has none. */
static bool range_of(const panel *drawn, const curve_point *points, size_t count, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t c = 0; c < drawn->curve_count; c++) {
        for (size_t i = 0; i < count; i++) {
            const double number = number_of(&points[i], &drawn->curves[c]);
            if (isfinite(number)) {
                *least = fmin(*least, number);
                *most = fmax(*most, number);
            }
        }
    }
    if (drawn->from_zero && *most > 0) {
        *least = 0;
    }
    return *most >= *least;
}

static void put_grid(FILE *file, const axis *updates, const axis *numbers)
{
    for (long tick = (long)numbers->first; tick <= (long)numbers->last; tick++) {
        const long y = y_of(numbers, (double)tick * numbers->step);
        fprintf(file, "<path d=\"M%d %ldH%d\" stroke=\"#d5dce4\"/><text x=\"%d\" y=\"%ld\" text-anchor=\"end\">", LEFT,
                y, WIDTH - RIGHT, LEFT - 8, y + 4);
        put_number(file, (double)tick * numbers->step);
        fputs("</text>\n", file);
    }
    for (long tick = (long)updates->first; tick <= (long)updates->last; tick++) {
        fprintf(file, "<path d=\"M%ld %dv5\" stroke=\"#55616e\"/><text x=\"%ld\" y=\"%d\" text-anchor=\"middle\">",
                x_of(updates, (double)tick * updates->step), PANEL, x_of(updates, (double)tick * updates->step),
                PANEL + 19);
        put_number(file, (double)tick * updates->step);
        fputs("</text>\n", file);
    }
}

/* The line has a gap where a number is missing; few points have dots, so that one alone is seen too. */
static void put_curve(FILE *file, const curve *line, const axis *updates, const axis *numbers,
                      const curve_point *points, size_t count)
{
    const char *draw = "M";
    fprintf(file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"", line->colour);
    for (size_t i = 0; i < count; i++) {
        const double number = number_of(&points[i], line);
        if (!isfinite(number)) {
            draw = "M";
            continue;
        }
        fprintf(file, "%s%ld %ld", draw, x_of(updates, points[i].update), y_of(numbers, number));
        draw = "L";
    }
    fputs("\"/>\n", file);
    for (size_t i = 0; i < count && count <= DOTS_MOST; i++) {
        const double number = number_of(&points[i], line);
        if (isfinite(number)) {
            fprintf(file, "<circle cx=\"%ld\" cy=\"%ld\" r=\"3\" fill=\"%s\"><title>update ",
                    x_of(updates, points[i].update), y_of(numbers, number), line->colour);
            put_number(file, points[i].update);
            fputs(": ", file);
            put_number(file, number);
            fputs("</title></circle>\n", file);
        }
    }
}

static bool has_numbers(const curve *line, const curve_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (isfinite(number_of(&points[i], line))) {
            return true;
        }
    }
    return false;
}

static void put_panel(FILE *file, const panel *drawn, const axis *updates, const axis *numbers,
                      const curve_point *points, size_t count)
{
    int x = LEFT + 220;
    fprintf(file, "<text x=\"%d\" y=\"-12\" font-size=\"14\" font-weight=\"bold\">%s</text>\n", LEFT, drawn->title);
    put_grid(file, updates, numbers);
    for (size_t c = 0; c < drawn->curve_count; c++) {
        const curve *line = &drawn->curves[c];
        if (!has_numbers(line, points, count)) {
            continue;
        }
        put_curve(file, line, updates, numbers, points, count);
        if (*line->name != '\0') {
            fprintf(file,
                    "<path d=\"M%d -16h24\" stroke=\"%s\" stroke-width=\"3\"/><text x=\"%d\" y=\"-12\">%s</text>\n", x,
                    line->colour, x + 30, line->name);
            x += 130;
        }
    }
}

void curves_write(FILE *file, const curve_point *points, size_t count)
{
    double least[PANELS], most[PANELS];
    int height = TOP + BOTTOM - GAP;
    for (size_t p = 0; p < PANELS; p++) {
        height += range_of(&panels[p], points, count, &least[p], &most[p]) ? PANEL + GAP : 0;
    }
    height = height > TOP + BOTTOM ? height : TOP + BOTTOM;
    drawing_begin(file, WIDTH, (size_t)height, 12, "Training: losses, BLEU and learning rate over updates");
    const axis updates = updates_of(points, count);
    int y = TOP;
    for (size_t p = 0; p < PANELS; p++) {
        if (most[p] >= least[p]) {
            const axis numbers = axis_over(least[p], most[p]);
            fprintf(file, "<g transform=\"translate(0,%d)\">\n", y);
            put_panel(file, &panels[p], &updates, &numbers, points, count);
            fputs("</g>\n", file);
            y += PANEL + GAP;
        }
    }
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">updates</text>\n</svg>\n", (LEFT + WIDTH - RIGHT) / 2,
            height - 12);
}
