/*
 * An alignment to look at: a row a target token, a column two cells wide a source token, each cell shaded by its
 * weight. The source tokens stand above as stairs, each over its column, so that long words and wide characters take no
 * room from the cells. Columns that do not fit the window go into further panels below.
 */
#include <nmt/error.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "data/text.h"
#include "report/format.h"

enum { CELL = 2, GAP = 2 };

/* Weights below `bound` are drawn as `cell`, in colour number `colour` of the 256. */
typedef struct shade {
    float bound;
    const char *cell;
    int colour;
} shade;

static const shade shades[] = {
    {0.05F, "· ", 238}, {0.20F, "░░", 24}, {0.40F, "▒▒", 31}, {0.70F, "▓▓", 38}, {2.00F, "██", 51},
};

typedef struct canvas {
    FILE *file;
    const alignment_view *view;
    size_t label_width; /* columns of the widest target token */
    size_t width;       /* columns of the window; SIZE_MAX where there is none */
    bool colour;
} canvas;

/* Length in bytes of the control character (C0, DEL, C1) that `text` starts with, or 0. */
static size_t control_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x20 || bytes[0] == 0x7f) {
        return 1;
    }
    return bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0 ? 2 : 0;
}

/* Writes a token, a replacement character for each control character in it, and returns the columns it takes. `file`
 * NULL only measures. */
static size_t put_token(FILE *file, const char *token)
{
    size_t width = 0;
    while (*token != '\0') {
        size_t plain = 0;
        while (token[plain] != '\0' && control_length(token + plain) == 0) {
            plain++;
        }
        width += text_width(token, plain);
        if (file != NULL) {
            fwrite(token, 1, plain, file);
        }
        token += plain;
        if (*token != '\0') {
            token += control_length(token);
            width++;
            if (file != NULL) {
                fputs("\xef\xbf\xbd", file);
            }
        }
    }
    return width;
}

static void put_spaces(FILE *file, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        putc(' ', file);
    }
}

static void put_cell(const canvas *on, float weight)
{
    const shade *chosen = shades;
    while (weight >= chosen->bound && chosen->bound < 1) {
        chosen++;
    }
    if (on->colour) {
        fprintf(on->file, "\033[38;5;%dm%s\033[0m", chosen->colour, chosen->cell);
    } else {
        fputs(chosen->cell, on->file);
    }
}

/* Source tokens begin..end-1 as stairs that lead down to their columns. */
static void put_header(const canvas *on, size_t begin, size_t end)
{
    for (size_t s = begin; s < end; s++) {
        put_spaces(on->file, on->label_width + GAP);
        for (size_t before = begin; before < s; before++) {
            fputs("│ ", on->file);
        }
        put_token(on->file, on->view->source[s]);
        putc('\n', on->file);
    }
}

static void put_rows(const canvas *on, size_t begin, size_t end)
{
    for (size_t t = 0; t < on->view->target_count; t++) {
        put_spaces(on->file, on->label_width - put_token(NULL, on->view->target[t]));
        put_token(on->file, on->view->target[t]);
        put_spaces(on->file, GAP);
        for (size_t s = begin; s < end; s++) {
            put_cell(on, on->view->weights[t * on->view->stride + s]);
        }
        putc('\n', on->file);
    }
}

/* The end of the panel that starts at source token `begin`: at least one column, and no token past the window. */
static size_t panel_end(const canvas *on, size_t begin)
{
    size_t end = begin;
    while (end < on->view->source_count) {
        size_t width = put_token(NULL, on->view->source[end]);
        width = on->label_width + GAP + CELL * (end - begin) + (width > CELL ? width : CELL);
        if (end > begin && width > on->width) {
            break;
        }
        end++;
    }
    return end;
}

static size_t window_width(FILE *file)
{
    struct winsize window;
    return ioctl(fileno(file), TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : SIZE_MAX;
}

void terminal_matrix(FILE *file, const alignment_view *view)
{
    const bool terminal = isatty(fileno(file)) == 1;
    const char *type = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    canvas on = {.file = file, .view = view, .width = terminal ? window_width(file) : SIZE_MAX};
    on.colour = terminal && (no_colour == NULL || *no_colour == '\0') && type != NULL && strcmp(type, "dumb") != 0;
    for (size_t t = 0; t < view->target_count; t++) {
        const size_t width = put_token(NULL, view->target[t]);
        on.label_width = width > on.label_width ? width : on.label_width;
    }
    fprintf(file, "%s%zu:\n", view->sentence > 1 ? "\n" : "", view->sentence);
    for (size_t begin = 0, end; begin < view->source_count; begin = end) {
        end = panel_end(&on, begin);
        if (begin > 0) {
            putc('\n', file);
        }
        put_header(&on, begin, end);
        put_rows(&on, begin, end);
    }
}
