/*
 * An alignment as a drawing that stands alone: a heatmap with a row a target token, a column a source token and a scale
 * below; the figures of several sentences stand one below the other. Only plain shapes, whole pixels and presentation
 * attributes, so that browsers and the converters of LaTeX workflows draw the same. Exact weights are in the tooltips.
 */
#include <math.h>
#include <string.h>

#include "report/drawing.h"
#include "report/format.h"

enum {
    CELL = 32,     /* side of a cell */
    MARGIN = 20,   /* round a figure */
    TITLE = 36,    /* from the top to where labels may begin */
    LABEL_GAP = 8, /* between labels and cells */
    SCALE_LENGTH = 160,
    SCALE_HEIGHT = 62, /* with the space above it */
    LEAST_WIDTH = 460  /* has room for the scale and what it says */
};

/* Weights from 0 over 0.5 to 1, between which colours are mixed. */
static const int colours[3][3] = {{247, 251, 255}, {107, 174, 214}, {8, 48, 107}};

typedef struct figure {
    const alignment_view *view;
    size_t left, top; /* of the cells */
    size_t right;     /* of the cells and the labels that lean over them */
} figure;

static figure lay_out(const alignment_view *view)
{
    size_t left = 0, top = 0, reach = view->source_count * CELL;
    for (size_t t = 0; t < view->target_count; t++) {
        const size_t width = label_width(view->target[t]);
        left = width > left ? width : left;
    }
    for (size_t s = 0; s < view->source_count; s++) {
        const size_t width = label_leaning(label_width(view->source[s]));
        const size_t end = s * CELL + CELL / 2 + width;
        top = width > top ? width : top;
        reach = end > reach ? end : reach;
    }
    figure drawn = {.view = view, .left = MARGIN + left + LABEL_GAP, .top = TITLE + top + LABEL_GAP + CELL / 4};
    drawn.right = drawn.left + reach;
    return drawn;
}

static void put_source(FILE *file, const figure *on)
{
    fputs("<g text-anchor=\"start\">\n", file);
    for (size_t s = 0; s < on->view->source_count; s++) {
        fprintf(file, "<text " LABEL_ATTRIBUTES " transform=\"translate(%zu,%zu) rotate(-45)\">",
                on->left + s * CELL + CELL / 2 + 4, on->top - LABEL_GAP);
        put_label(file, on->view->source[s]);
    }
    fputs("</g>\n", file);
}

static void put_target(FILE *file, const figure *on)
{
    fputs("<g text-anchor=\"end\">\n", file);
    for (size_t t = 0; t < on->view->target_count; t++) {
        fprintf(file, "<text " LABEL_ATTRIBUTES " x=\"%zu\" y=\"%zu\">", on->left - LABEL_GAP,
                on->top + t * CELL + CELL / 2 + 5);
        put_label(file, on->view->target[t]);
    }
    fputs("</g>\n", file);
}

static void put_colour(FILE *file, double weight)
{
    const size_t half = weight < 0.5;
    const int *from = colours[half ? 0 : 1], *to = colours[half ? 1 : 2];
    const double part = half ? 2 * weight : 2 * weight - 1;
    putc('#', file);
    for (size_t i = 0; i < 3; i++) {
        fprintf(file, "%02x", (unsigned)lround(from[i] + part * (to[i] - from[i])));
    }
}

/* A cell, its tooltip, and in it the weight in hundredths where there are any. */
static void put_cell(FILE *file, const figure *on, size_t t, size_t s)
{
    const alignment_view *view = on->view;
    const float weight = view->weights[t * view->stride + s];
    const double shown = weight < 0 ? 0 : weight > 1 ? 1 : weight;
    const size_t x = on->left + s * CELL, y = on->top + t * CELL;
    fprintf(file, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill=\"", x, y, CELL, CELL);
    put_colour(file, shown);
    fputs("\" stroke=\"#d5dce4\"><title>", file);
    put_xml(file, view->target[t], strlen(view->target[t]));
    fputs(" reads ", file);
    put_xml(file, view->source[s], strlen(view->source[s]));
    fputs(": ", file);
    put_weight(file, weight);
    fputs("</title></rect>\n", file);
    const long hundredths = lround(100 * shown);
    if (hundredths > 0) {
        fprintf(file, "<text x=\"%zu\" y=\"%zu\" fill=\"%s\" pointer-events=\"none\">", x + CELL / 2, y + CELL / 2 + 4,
                shown > 0.45 ? "#ffffff" : "#1f2933");
        fprintf(file, hundredths < 100 ? ".%02ld</text>\n" : "1.0</text>\n", hundredths);
    }
}

static void put_cells(FILE *file, const figure *on)
{
    fputs("<g font-size=\"11\" text-anchor=\"middle\">\n", file);
    for (size_t t = 0; t < on->view->target_count; t++) {
        for (size_t s = 0; s < on->view->source_count; s++) {
            put_cell(file, on, t, s);
        }
    }
    fputs("</g>\n", file);
}

static void put_scale(FILE *file, size_t x, size_t y)
{
    fprintf(file,
            "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"12\" fill=\"url(#scale)\" stroke=\"#d5dce4\"/>\n"
            "<g font-size=\"11\" text-anchor=\"middle\">\n",
            x, y, SCALE_LENGTH);
    static const char *const marks[] = {"0", ".25", ".50", ".75", "1.0"};
    for (size_t i = 0; i < 5; i++) {
        fprintf(file, "<text x=\"%zu\" y=\"%zu\">%s</text>\n", x + i * SCALE_LENGTH / 4, y + 26, marks[i]);
    }
    fprintf(file, "</g>\n<text x=\"%zu\" y=\"%zu\" font-size=\"12\">weight (row: target, column: source)</text>\n",
            x + SCALE_LENGTH + 20, y + 11);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

void svg_figure(FILE *file, const alignment_view *view)
{
    const bool empty = view->source_count == 0 || view->target_count == 0;
    const figure drawn = lay_out(view);
    const size_t below = drawn.top + view->target_count * CELL;
    fprintf(file,
            "<g transform=\"translate(0,%zu)\">\n"
            "<text x=\"%d\" y=\"26\" font-size=\"15\" font-weight=\"bold\">Sentence %zu%s</text>\n",
            view->extent->height, MARGIN, view->sentence, empty ? ": no token" : "");
    if (!empty) {
        put_source(file, &drawn);
        put_target(file, &drawn);
        put_cells(file, &drawn);
        put_scale(file, MARGIN + 8, below + 20);
    }
    fputs("</g>\n", file);
    view->extent->height += empty ? TITLE + MARGIN : below + SCALE_HEIGHT + MARGIN;
    view->extent->width = larger(view->extent->width, drawn.right + MARGIN);
}

static void put_stops(FILE *file)
{
    for (int i = 0; i < 3; i++) {
        fprintf(file, "<stop offset=\"%d%%\" stop-color=\"", 50 * i);
        put_colour(file, i / 2.0);
        fputs("\"/>\n", file);
    }
}

void svg_begin(FILE *file, const figure_extent *extent)
{
    const size_t width = larger(extent->width, LEAST_WIDTH), height = larger(extent->height, 2 * MARGIN);
    drawing_begin(file, width, height, 14, "Attention: a row a target token, a column a source token");
    fputs("<defs><linearGradient id=\"scale\">\n", file);
    put_stops(file);
    fputs("</linearGradient></defs>\n", file);
}

void svg_end(FILE *file)
{
    fputs("</svg>\n", file);
}
