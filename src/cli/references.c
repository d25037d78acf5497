#include "cli/references.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

nmt_status references_read_lines(line_list *list, const char *path, nmt_error *error)
{
    nmt_reader *reader;
    nmt_status status = nmt_reader_open(&reader, command_path(path), error);
    if (status == NMT_OK) {
        status = lines_read_all(list, reader, error);
        nmt_reader_close(reader);
    }
    return status;
}

static nmt_status create(references *to, size_t lists, size_t texts, nmt_error *error)
{
    to->lists = calloc(lists, sizeof *to->lists);
    to->texts = calloc(texts, sizeof *to->texts);
    to->list_count = to->lists != NULL ? lists : 0;
    to->count = texts;
    return to->lists != NULL && to->texts != NULL ? NMT_OK : command_no_memory(error);
}

nmt_status references_read(references *to, const text_list *paths, nmt_error *error)
{
    nmt_status status = create(to, paths->count, paths->count, error);
    for (size_t i = 0; i < paths->count && status == NMT_OK; i++) {
        status = references_read_lines(&to->lists[i], paths->items[i], error);
        to->texts[i] = (const char *const *)to->lists[i].lines;
        if (status == NMT_OK && to->lists[i].count != to->lists[0].count) {
            status = command_unequal_lines(error, command_input_name(paths->items[0]), to->lists[0].count,
                                           command_input_name(paths->items[i]), to->lists[i].count);
        }
    }
    to->lines = to->list_count > 0 ? to->lists[0].count : 0;
    return status;
}

/* Number of answers in a line, 0 where it has another form. */
static size_t count_answers(const char *line)
{
    size_t answers = 0;
    for (const char *tab = strchr(line, '\t'); tab != NULL; tab = strchr(tab + 1, '\t')) {
        if (tab[1] == '\t' || tab[1] == '\0') {
            return 0;
        }
        answers++;
    }
    return answers;
}

static nmt_status check_answers(const references *it, const char *path, size_t *most, nmt_error *error)
{
    *most = 1;
    for (size_t i = 0; i < it->lists[0].count; i++) {
        const size_t answers = count_answers(it->lists[0].lines[i]);
        if (answers == 0) {
            error->status = NMT_INVALID;
            snprintf(error->message, sizeof error->message,
                     "%s:%zu: expected a source and at least one answer, none of them empty, with tabs between",
                     command_input_name(path), i + 1);
            return NMT_INVALID;
        }
        *most = answers > *most ? answers : *most;
    }
    return NMT_OK;
}

/* Cuts the lines where they stand. */
static void cut_answers(references *it)
{
    for (size_t i = 0; i < it->lines; i++) {
        char *tab = strchr(it->lists[0].lines[i], '\t');
        for (size_t a = 0; tab != NULL; a++) {
            *tab = '\0';
            it->answers[a * it->lines + i] = tab + 1;
            tab = strchr(tab + 1, '\t');
        }
    }
    for (size_t a = 0; a < it->count; a++) {
        it->texts[a] = it->answers + a * it->lines;
    }
}

nmt_status references_read_accepted(references *to, const char *path, nmt_error *error)
{
    size_t most;
    nmt_status status = create(to, 1, 1, error);
    if (status == NMT_OK) {
        status = references_read_lines(&to->lists[0], path, error);
    }
    if (status == NMT_OK) {
        status = check_answers(to, path, &most, error);
    }
    if (status != NMT_OK) {
        return status;
    }
    free(to->texts);
    to->lines = to->lists[0].count;
    to->count = most;
    to->texts = calloc(most, sizeof *to->texts);
    to->answers = calloc(most * (to->lines > 0 ? to->lines : 1), sizeof *to->answers);
    if (to->texts == NULL || to->answers == NULL) {
        return command_no_memory(error);
    }
    cut_answers(to);
    return NMT_OK;
}

void references_free(references *it)
{
    for (size_t i = 0; i < it->list_count; i++) {
        lines_free(&it->lists[i]);
    }
    free(it->lists);
    free(it->texts);
    free(it->answers);
    *it = (references){0};
}
