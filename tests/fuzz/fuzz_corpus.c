/* Parallel text: a byte of options, the source side up to a byte 0xFF, the target side. Every word is known, unless it
 * is spelled like a special entry, and every pair reads as long as the scan said. */
#include "data/corpus.h"
#include "fuzz.h"

static vocabulary *count(const word_counts *counts)
{
    vocabulary *words;
    REQUIRE(vocabulary_from_counts(&words, counts, 0, 1, NULL) == NMT_OK);
    return words;
}

static void check_line(const int32_t *ids, size_t length, const vocabulary *words)
{
    for (size_t t = 0; t < length; t++) {
        REQUIRE(ids[t] == TOKEN_UNKNOWN || (ids[t] >= TOKEN_FIRST_WORD && ids[t] < (int32_t)vocabulary_size(words)));
    }
}

static void read_all(corpus *pairs, const word_counts *source_counts, const word_counts *target_counts)
{
    nmt_error error;
    vocabulary *source_words = count(source_counts), *target_words = count(target_counts);
    double source_rate, target_rate;
    for (size_t i = 0; i < corpus_size(pairs); i++) {
        const size_t source_length = corpus_source_length(pairs, i), target_length = corpus_target_length(pairs, i);
        int32_t *source = malloc(source_length * sizeof *source), *target = malloc(target_length * sizeof *target);
        REQUIRE(source_length > 0 && target_length > 0 && source != NULL && target != NULL);
        REQUIRE(corpus_read(pairs, i, source_words, target_words, source, target, &error) == NMT_OK);
        check_line(source, source_length, source_words);
        check_line(target, target_length, target_words);
        free(source);
        free(target);
    }
    REQUIRE(corpus_unknown_rates(pairs, source_words, target_words, &source_rate, &target_rate, &error) == NMT_OK);
    REQUIRE(source_rate >= 0 && source_rate <= 1 && target_rate >= 0 && target_rate <= 1);
    vocabulary_free(source_words);
    vocabulary_free(target_words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    corpus *pairs;
    word_counts *source_counts, *target_counts;
    nmt_error error;
    const uint8_t flags = size > 0 ? data[0] : 0;
    fuzz_part rest = {data + (size > 0), size - (size > 0)};
    const fuzz_part source = fuzz_take(&rest, 0xFF);
    const corpus_options options = {.source_path = fuzz_file(0, source.data, source.size),
                                    .target_path = fuzz_file(1, rest.data, rest.size),
                                    .text = {.nfc = (flags & 1) != 0, .lowercase = (flags & 2) != 0},
                                    .max_length = flags >> 4};
    REQUIRE(word_counts_create(&source_counts, &error) == NMT_OK);
    REQUIRE(word_counts_create(&target_counts, &error) == NMT_OK);
    if (corpus_open(&pairs, &options, source_counts, target_counts, &error) == NMT_OK) {
        read_all(pairs, source_counts, target_counts);
        corpus_close(pairs);
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    word_counts_free(source_counts);
    word_counts_free(target_counts);
    return 0;
}
