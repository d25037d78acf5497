/* What an alignment format is to the writer: a row of the table in alignment.c. */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include <nmt/report.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the figures so far take, in pixels: a drawing says its size before its first figure. */
typedef struct figure_extent {
    size_t width, height;
} figure_extent;

/* The part of an alignment that is to be seen: with or without the row and the column of `</s>`. */
typedef struct alignment_view {
    size_t sentence;     /* from 1 */
    size_t source_count; /* columns */
    size_t target_count; /* rows */
    size_t stride;       /* distance between rows of `weights` */
    char *const *source;
    char *const *target;
    const float *weights;  /* [target_count][source_count] */
    figure_extent *extent; /* a figure stands below it, and adds itself to it */
} alignment_view;

/* The formats. Faults of the file are left for the caller to find by ferror. */
void csv_header(FILE *file, const figure_extent *extent);
void csv_long(FILE *file, const alignment_view *view);
void csv_matrix(FILE *file, const alignment_view *view);
void terminal_matrix(FILE *file, const alignment_view *view);
void svg_begin(FILE *file, const figure_extent *extent);
void svg_figure(FILE *file, const alignment_view *view);
void svg_end(FILE *file);
void html_begin(FILE *file, const figure_extent *extent);
void html_sentence(FILE *file, const alignment_view *view);
void html_end(FILE *file);

/* Writes a weight with nine significant digits, which tell every float from its neighbours, in every locale. */
void put_weight(FILE *file, float weight);

/* Writes a number for people: four significant digits, and whole numbers whole. */
void put_number(FILE *file, double number);

/* Writes text between tags or in an attribute of XML, and as a string of JSON that can stand in a page's script. What
 * is not UTF-8, or no character of XML, becomes U+FFFD. */
void put_xml(FILE *file, const char *text, size_t length);
void put_json_text(FILE *file, const char *text);

#endif
