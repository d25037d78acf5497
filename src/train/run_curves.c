#include "train/run_curves.h"

#include <math.h>
#include <stdlib.h>

#include "core/io.h"
#include "core/memory.h"
#include "report/curves.h"

static double member(const json *entry, const char *key)
{
    const json *value = json_get(entry, key);
    return value != NULL && json_type_of(value) == JSON_NUMBER ? json_number(value) : NAN;
}

static curve_point point_of(const json *entry)
{
    return (curve_point){.update = member(entry, "update"),
                         .training_loss = member(entry, "train_loss"),
                         .validation_loss = member(entry, "validation_loss"),
                         .bleu = member(entry, "validation_bleu"),
                         .learning_rate = member(entry, "learning_rate")};
}

static nmt_status draw(const char *path, const curve_point *points, size_t count, nmt_error *error)
{
    nmt_writer *writer;
    TRY(nmt_writer_open(&writer, path, error));
    curves_write(nmt_writer_file(writer), points, count);
    return nmt_writer_commit(writer, error);
}

nmt_status run_curves_save(const json *history, const nmt_config *config, nmt_error *error)
{
    curve_point *points;
    char *path = NULL;
    size_t count = 0;
    TRY(memory_new(&points, json_count(history), sizeof *points, "the curves", error));
    for (const json *entry = json_first(history); entry != NULL; entry = json_next(entry)) {
        points[count++] = point_of(entry);
    }
    nmt_status status = io_join(&path, config->output.directory, "curves.svg", error);
    if (status == NMT_OK) {
        status = draw(path, points, count, error);
        free(path);
    }
    free(points);
    return status;
}
