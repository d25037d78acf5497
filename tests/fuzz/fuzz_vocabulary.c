/* A vocabulary file: each word that is accepted is found under its number. */
#include "data/vocabulary.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vocabulary *words;
    nmt_error error;
    if (vocabulary_from_file(&words, fuzz_file(0, data, size), &error) != NMT_OK) {
        REQUIRE(error.message[0] != '\0');
        return 0;
    }
    for (int32_t i = TOKEN_FIRST_WORD; i < (int32_t)vocabulary_size(words); i++) {
        const char *word = vocabulary_word(words, i);
        REQUIRE(vocabulary_find(words, word, strlen(word)) == i);
    }
    vocabulary_free(words);
    return 0;
}
