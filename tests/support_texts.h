/* Texts as lines, and the outputs of four systems at WMT17 whose scores are known to four decimals. */
#ifndef SUPPORT_TEXTS_H
#define SUPPORT_TEXTS_H

#include <math.h>
#include <nmt/evaluate.h>
#include <nmt/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("expected %.10g, found %.10g", expected, actual);
    }
}

typedef struct text {
    char **lines;
    size_t count;
} text;

static inline text read_text(const char *path)
{
    text all = {0};
    nmt_error error;
    nmt_reader *reader;
    if (nmt_reader_open(&reader, path, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    const char *line;
    size_t length;
    while (nmt_reader_next(reader, &line, &length, &error) == NMT_OK && line != NULL) {
        all.lines = realloc(all.lines, (all.count + 1) * sizeof *all.lines);
        all.lines[all.count++] = strdup(line);
    }
    nmt_reader_close(reader);
    return all;
}

static inline void free_text(text *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->lines[i]);
    }
    free(all->lines);
}

/* The score of lines with one reference each. */
static inline double score_lines(nmt_metric metric, const nmt_metric_options *options, const char *const *hypotheses,
                                 const char *const *references, size_t count)
{
    nmt_error error;
    nmt_evaluation *evaluation;
    if (nmt_evaluate(&evaluation, metric, options, hypotheses, &references, 1, count, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    const double score = nmt_evaluation_score(evaluation);
    nmt_evaluation_free(evaluation);
    return score;
}

/* Column `column` (from 0, which is the system's name) of a row of scores.tsv, against our score. */
static inline void check_published(const char *directory, char *row, size_t column, nmt_metric metric,
                                   const text *references)
{
    char path[1024];
    const char *system = strtok(row, "\t");
    snprintf(path, sizeof path, "%s/%s.txt", directory, system);
    const char *expected = NULL;
    for (size_t i = 0; i < column; i++) {
        expected = strtok(NULL, "\t");
    }
    text hypotheses = read_text(path);
    assert_int_equal(hypotheses.count, references->count);
    assert_near(score_lines(metric, NULL, (const char *const *)hypotheses.lines, (const char *const *)references->lines,
                            references->count),
                atof(expected), 0.5e-4);
    free_text(&hypotheses);
}

/* All rows; the test is skipped where the texts are not there. */
static inline void check_published_scores(nmt_metric metric, size_t column)
{
    const char *shared = getenv("NMT_SHARED_DATA");
    char directory[512];
    char path[1024];
    snprintf(directory, sizeof directory, "%s/bleu", shared != NULL ? shared : "../../shared/data");
    snprintf(path, sizeof path, "%s/scores.tsv", directory);
    FILE *scores = fopen(path, "r");
    if (scores == NULL) {
        print_message("%s is not there\n", path);
        skip();
        return;
    }
    snprintf(path, sizeof path, "%s/reference.txt", directory);
    text references = read_text(path);
    char row[512];
    size_t systems = 0;
    assert_non_null(fgets(row, sizeof row, scores)); /* the header */
    while (fgets(row, sizeof row, scores) != NULL) {
        check_published(directory, row, column, metric, &references);
        systems++;
    }
    assert_int_equal(systems, 4);
    free_text(&references);
    fclose(scores);
}

#endif
