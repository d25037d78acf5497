#include "train/text.h"

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
    const size_t minimum = config->vocabulary.minimum_count;
    TRY(make_vocabulary(source_words, config->vocabulary.source_file, source_counts, config->vocabulary.source_size,
                        minimum, error));
    const nmt_status status = config->vocabulary.shared
                                  ? vocabulary_copy(target_words, *source_words, error)
                                  : make_vocabulary(target_words, config->vocabulary.target_file, target_counts,
                                                    config->vocabulary.target_size, minimum, error);
    if (status != NMT_OK) {
        vocabulary_free(*source_words);
    }
    return status;
}

static nmt_status scan(corpus **pairs, vocabulary **source_words, vocabulary **target_words, const nmt_config *config,
                       word_counts *source_counts, word_counts *target_counts, nmt_error *error)
{
    const corpus_options options = {.source_path = config->data.train_source,
                                    .target_path = config->data.train_target,
                                    .text = {.nfc = config->data.nfc, .lowercase = config->data.lowercase},
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
                              const nmt_config *config, nmt_error *error)
{
    word_counts *source_counts, *target_counts;
    TRY(word_counts_create(&source_counts, error));
    nmt_status status = word_counts_create(&target_counts, error);
    if (status == NMT_OK) {
        status = scan(pairs, source_words, target_words, config, source_counts, target_counts, error);
        word_counts_free(target_counts);
    }
    word_counts_free(source_counts);
    return status;
}
