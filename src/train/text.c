#include "train/text.h"

#include <stdlib.h>

#include "core/io.h"
#include "core/memory.h"
#include "core/quote.h"

/* ---- piece models ---------------------------------------------------------------------------------------------------
 */

/* Lines of one or two files in turn, prepared. */
typedef struct line_source {
    const char *paths[2];
    size_t path_count, path; /* the file that is read now */
    nmt_reader *reader;      /* NULL: none is open */
    text_options options;
    text_buffer prepared;
} line_source;

static nmt_status next_raw_line(line_source *from, const char **line, size_t *length, nmt_error *error)
{
    for (*line = NULL; *line == NULL && from->path < from->path_count;) {
        if (from->reader == NULL) {
            TRY(io_check_regular(from->paths[from->path], CORPUS_IS_READ_AGAIN, error));
            TRY(nmt_reader_open(&from->reader, from->paths[from->path], error));
        }
        TRY(nmt_reader_next(from->reader, line, length, error));
        if (*line == NULL) {
            nmt_reader_close(from->reader);
            from->reader = NULL;
            from->path++;
        }
    }
    return NMT_OK;
}

static nmt_status next_line(void *context, const char **line, size_t *length, nmt_error *error)
{
    line_source *from = context;
    nmt_error own;
    TRY(next_raw_line(from, line, length, error));
    if (*line == NULL) {
        return NMT_OK;
    }
    TRY(text_prepare(line, length, *line, *length, from->options, &from->prepared, error));
    if (segmenter_check(*line, *length, &own) != NMT_OK) {
        return error_set(error, own.status, "%s:%zu: %s", quote_path(&(path_quotation){{0}}, from->paths[from->path]),
                         nmt_reader_line(from->reader), own.message);
    }
    return NMT_OK;
}

/* From the text of both sides, or of one. */
static nmt_status learn(segmenter **made, const nmt_config *config, const char *first, const char *second,
                        nmt_error *error)
{
    const segmenter_training how = {.unigram = config->segmentation.model == PIECES_UNIGRAM,
                                    .size = config->segmentation.size,
                                    .coverage = config->segmentation.coverage};
    line_source from = {.paths = {first, second},
                        .path_count = second != NULL ? 2 : 1,
                        .options = {.nfc = config->data.nfc, .lowercase = config->data.lowercase}};
    char *model;
    size_t size;
    const nmt_status status = segmenter_train(&model, &size, &how, next_line, &from, error);
    nmt_reader_close(from.reader);
    text_buffer_free(&from.prepared);
    TRY(status);
    const nmt_status made_status = segmenter_of_pieces(made, model, size, "the piece model", error);
    free(model);
    return made_status;
}

static nmt_status read_pieces(segmenter **made, const char *path, nmt_error *error)
{
    static const size_t limit = (size_t)1 << 28;
    char *model;
    size_t size;
    TRY(io_read_file(&model, &size, path, limit, error));
    const nmt_status status = segmenter_of_pieces(made, model, size, path, error);
    free(model);
    return status;
}

static nmt_status make_pieces(segmenters *both, const nmt_config *config, nmt_error *error)
{
    const char *source_file = config->segmentation.source_file, *target_file = config->segmentation.target_file;
    const char *source = config->data.train_source, *target = config->data.train_target;
    if (config->segmentation.sides == SEGMENT_BOTH && config->segmentation.joint) {
        TRY(source_file != NULL ? read_pieces(&both->source, source_file, error)
                                : learn(&both->source, config, source, target, error));
        return segmenter_copy(&both->target, both->source, error);
    }
    if (config_segments_source(config)) {
        TRY(source_file != NULL ? read_pieces(&both->source, source_file, error)
                                : learn(&both->source, config, source, NULL, error));
    }
    if (config_segments_target(config)) {
        TRY(target_file != NULL ? read_pieces(&both->target, target_file, error)
                                : learn(&both->target, config, target, NULL, error));
    }
    return NMT_OK;
}

nmt_status training_segmenters(segmenters *both, const nmt_config *config, nmt_error *error)
{
    nmt_status status = NMT_OK;
    *both = (segmenters){NULL, NULL};
    if (config->segmentation.type == SEGMENT_PIECES) {
        status = make_pieces(both, config, error);
    } else if (config->segmentation.type == SEGMENT_CHARACTERS) {
        status = segmenters_of_characters(both, config_segments_source(config), config_segments_target(config), error);
    }
    if (status != NMT_OK) {
        segmenters_free(both);
    }
    return status;
}

/* ---- the text and its vocabularies ----------------------------------------------------------------------------------
 */

static nmt_status make_vocabulary(vocabulary **words, const char *file, const word_counts *counts, size_t limit,
                                  size_t minimum_count, nmt_error *error)
{
    return file != NULL ? vocabulary_from_file(words, file, error)
                        : vocabulary_from_counts(words, counts, limit, minimum_count, error);
}

static nmt_status make_vocabularies(vocabulary **source_words, vocabulary **target_words, const nmt_config *config,
                                    const word_counts *source_counts, const word_counts *target_counts,
                                    nmt_error *error)
{
    /* Every piece that was seen: text is not cut in another way for want of one. */
    const bool pieces = config->segmentation.type == SEGMENT_PIECES;
    const size_t minimum = config->vocabulary.minimum_count;
    TRY(make_vocabulary(source_words, config->vocabulary.source_file, source_counts, config->vocabulary.source_size,
                        pieces && config_segments_source(config) ? 1 : minimum, error));
    const nmt_status status = config->vocabulary.shared
                                  ? vocabulary_copy(target_words, *source_words, error)
                                  : make_vocabulary(target_words, config->vocabulary.target_file, target_counts,
                                                    config->vocabulary.target_size,
                                                    pieces && config_segments_target(config) ? 1 : minimum, error);
    if (status != NMT_OK) {
        vocabulary_free(*source_words);
    }
    return status;
}

static nmt_status scan(corpus **pairs, vocabulary **source_words, vocabulary **target_words, const nmt_config *config,
                       const segmenters *by, word_counts *source_counts, word_counts *target_counts, nmt_error *error)
{
    const corpus_options options = {.source_path = config->data.train_source,
                                    .target_path = config->data.train_target,
                                    .text = {.nfc = config->data.nfc, .lowercase = config->data.lowercase},
                                    .source_segmenter = by->source,
                                    .target_segmenter = by->target,
                                    .max_length = config->data.max_length};
    TRY(corpus_open(pairs, &options, source_counts, config->vocabulary.shared ? source_counts : target_counts, error));
    const nmt_status status =
        make_vocabularies(source_words, target_words, config, source_counts, target_counts, error);
    if (status != NMT_OK) {
        corpus_close(*pairs);
        *pairs = NULL;
    }
    return status;
}

nmt_status training_text_open(corpus **pairs, vocabulary **source_words, vocabulary **target_words,
                              const nmt_config *config, const segmenters *by, nmt_error *error)
{
    word_counts *source_counts, *target_counts;
    TRY(word_counts_create(&source_counts, error));
    nmt_status status = word_counts_create(&target_counts, error);
    if (status == NMT_OK) {
        status = scan(pairs, source_words, target_words, config, by, source_counts, target_counts, error);
        word_counts_free(target_counts);
    }
    word_counts_free(source_counts);
    return status;
}
