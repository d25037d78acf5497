/*
 * The paths of a gradient as a drawing: a bar a room, cut into the shares of the paths; below, for each sentence, two
 * bars a source token, on one axis for all of them.
 */
#include <math.h>
#include <nmt/gradcheck.h>
#include <string.h>

#include "report/axis.h"
#include "report/drawing.h"
#include "report/format.h"

enum {
    MARGIN = 20,
    LEFT = 150,  /* where bars begin */
    BAR = 400,   /* length of a room's bar */
    ROOM = 28,   /* from one room to the next */
    ROOMS = 104, /* from the top to the first of them */
    SLOT = 40,   /* of a source token */
    PLOT = 120,  /* height of a sentence's bars */
    HEAD = 62,   /* above them, with a title */
    GAP = 12     /* between bars and labels */
};

typedef struct path {
    const char *name, *colour;
} path;

enum { DIRECT, VALUE, SCORE, PATHS };

static const path paths[PATHS] = {{"neither", "#94a3b5"}, {"Value path", "#2b6cb0"}, {"Score path", "#c05621"}};

static void put_legend(FILE *file, int y)
{
    for (size_t p = 0; p < PATHS; p++) {
        const size_t x = LEFT + p * 130;
        fprintf(file,
                "<rect x=\"%zu\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%zu\" y=\"%d\">%s</text>\n",
                x, y - 10, paths[p].colour, x + 18, y, paths[p].name);
    }
}

/* Shares are of the sum of the norms; from one twelfth on they are written into the bar. */
static void put_room(FILE *file, const nmt_gradcheck_room *drawn, int y)
{
    const double norms[PATHS] = {drawn->direct, drawn->value, drawn->score};
    const double sum = norms[DIRECT] + norms[VALUE] + norms[SCORE];
    double before = 0;
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 10, y + 15, drawn->name);
    for (size_t p = 0; p < PATHS && sum > 0; p++) {
        const long from = lround(BAR * before / sum), to = lround(BAR * (before + norms[p]) / sum);
        before += norms[p];
        if (to <= from) {
            continue;
        }
        fprintf(file, "<rect x=\"%ld\" y=\"%d\" width=\"%ld\" height=\"20\" fill=\"%s\"><title>%s, %s: ", LEFT + from,
                y, to - from, paths[p].colour, drawn->name, paths[p].name);
        put_number(file, norms[p]);
        fputs("</title></rect>\n", file);
        if (12 * norms[p] >= sum) {
            fprintf(
                file,
                "<text x=\"%ld\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\" pointer-events=\"none\">%ld %%</text>\n",
                LEFT + (from + to) / 2, y + 14, p == DIRECT ? "#1f2933" : "#ffffff", lround(100 * norms[p] / sum));
        }
    }
    fprintf(file, "<text x=\"%d\" y=\"%d\">", LEFT + BAR + 14, y + 15);
    put_number(file, drawn->whole);
    fputs("</text>\n", file);
}

static void put_rooms(FILE *file, const nmt_gradcheck_report *report)
{
    fprintf(
        file,
        "<text x=\"%d\" y=\"30\" font-size=\"15\" font-weight=\"bold\">Gradient by room and path of attention</text>\n",
        MARGIN);
    put_legend(file, 58);
    fprintf(file, "<text x=\"%d\" y=\"%d\">norm of the whole</text>\n", LEFT + BAR + 14, ROOMS - 12);
    fprintf(file, "<text x=\"%d\" y=\"%d\">share of the sum of the three norms</text>\n", LEFT, ROOMS - 12);
    for (int r = 0; r < NMT_GRADCHECK_ROOMS; r++) {
        put_room(file, &report->rooms[r], ROOMS + r * ROOM);
    }
}

/* ---- source tokens ----------------------------------------------------------------------------------------------- */

static size_t sentence_end(const nmt_gradcheck_report *report, size_t begin)
{
    size_t end = begin + 1;
    while (end < report->position_count && report->positions[end].sentence == report->positions[begin].sentence) {
        end++;
    }
    return end;
}

/* Room that the labels below the sentence take. */
static size_t label_height(const nmt_gradcheck_report *report, size_t begin, size_t end)
{
    size_t most = 0;
    for (size_t i = begin; i < end; i++) {
        const size_t height = label_leaning(label_width(report->positions[i].word));
        most = height > most ? height : most;
    }
    return most;
}

static size_t sentence_height(const nmt_gradcheck_report *report, size_t begin, size_t end)
{
    return HEAD + PLOT + GAP + label_height(report, begin, end) + MARGIN;
}

static size_t sentence_width(const nmt_gradcheck_report *report, size_t begin, size_t end)
{
    size_t most = SLOT * (end - begin);
    for (size_t i = begin; i < end; i++) {
        const size_t reach = SLOT * (i - begin) + SLOT / 2 + label_leaning(label_width(report->positions[i].word));
        most = reach > most ? reach : most;
    }
    return LEFT + most + MARGIN;
}

static void put_grid(FILE *file, const axis *norms, size_t top, size_t tokens)
{
    for (long tick = (long)norms->first; tick <= (long)norms->last; tick++) {
        const double number = (double)tick * norms->step;
        const long y = (long)top + lround(PLOT * (1 - axis_place(norms, number)));
        fprintf(file, "<path d=\"M%d %ldh%zu\" stroke=\"#d5dce4\"/><text x=\"%d\" y=\"%ld\" text-anchor=\"end\">", LEFT,
                y, SLOT * tokens, LEFT - 8, y + 4);
        put_number(file, number);
        fputs("</text>\n", file);
    }
}

static void put_bar(FILE *file, const axis *norms, const char *word, size_t p, double norm, size_t x, size_t bottom)
{
    const long height = lround(PLOT * axis_place(norms, norm));
    fprintf(file, "<rect x=\"%zu\" y=\"%ld\" width=\"14\" height=\"%ld\" fill=\"%s\"><title>", x, (long)bottom - height,
            height, paths[p].colour);
    put_xml(file, word, strlen(word));
    fprintf(file, ", %s: ", paths[p].name);
    put_number(file, norm);
    fputs("</title></rect>\n", file);
}

static void put_sentence(FILE *file, const nmt_gradcheck_report *report, const axis *norms, size_t begin, size_t end,
                         size_t y)
{
    const size_t top = y + HEAD, bottom = top + PLOT;
    fprintf(file,
            "<text x=\"%d\" y=\"%zu\" font-size=\"15\" font-weight=\"bold\">Sentence %zu: norm of the gradient at each "
            "source token</text>\n",
            MARGIN, y + 36, report->positions[begin].sentence);
    put_grid(file, norms, top, end - begin);
    for (size_t i = begin; i < end; i++) {
        const nmt_gradcheck_position *at = &report->positions[i];
        const size_t x = LEFT + SLOT * (i - begin);
        put_bar(file, norms, at->word, VALUE, at->value, x + 6, bottom);
        put_bar(file, norms, at->word, SCORE, at->score, x + 20, bottom);
        fprintf(file, "<text " LABEL_ATTRIBUTES " font-size=\"14\" transform=\"translate(%zu,%zu) rotate(45)\">",
                x + SLOT / 2 - 6, bottom + GAP + 2);
        put_label(file, at->word);
    }
}

static axis norms_of(const nmt_gradcheck_report *report)
{
    double most = 0;
    for (size_t i = 0; i < report->position_count; i++) {
        most = fmax(most, fmax(report->positions[i].value, report->positions[i].score));
    }
    return axis_over(0, most > 0 ? most : 1);
}

void nmt_gradcheck_draw(FILE *file, const nmt_gradcheck_report *report)
{
    size_t width = LEFT + BAR + LEFT, height = ROOMS + NMT_GRADCHECK_ROOMS * ROOM;
    for (size_t i = 0; i < report->position_count; i = sentence_end(report, i)) {
        const size_t wanted = sentence_width(report, i, sentence_end(report, i));
        width = wanted > width ? wanted : width;
        height += sentence_height(report, i, sentence_end(report, i));
    }
    drawing_begin(file, width, height + MARGIN, 12, "Gradient: by room, by source token, and by path of attention");
    put_rooms(file, report);
    const axis norms = norms_of(report);
    size_t y = ROOMS + NMT_GRADCHECK_ROOMS * ROOM;
    for (size_t i = 0; i < report->position_count; i = sentence_end(report, i)) {
        put_sentence(file, report, &norms, i, sentence_end(report, i), y);
        y += sentence_height(report, i, sentence_end(report, i));
    }
    fputs("</svg>\n", file);
}
