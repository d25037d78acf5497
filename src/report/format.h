/* What an alignment format is to the writer: a row of the table in alignment.c. */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include <nmt/report.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The part of an alignment that is to be seen: with or without the row and the column of `</s>`. */
typedef struct alignment_view {
    size_t sentence;     /* from 1 */
    size_t source_count; /* columns */
    size_t target_count; /* rows */
    size_t stride;       /* distance between rows of `weights` */
    char *const *source;
    char *const *target;
    const float *weights; /* [target_count][source_count] */
} alignment_view;

/* The formats. Faults of the file are left for the caller to find by ferror. */
void csv_header(FILE *file);
void csv_long(FILE *file, const alignment_view *view);
void csv_matrix(FILE *file, const alignment_view *view);
void terminal_matrix(FILE *file, const alignment_view *view);

#endif
