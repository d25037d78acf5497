/* Word vectors: what is accepted fills the rows of the words with finite numbers, and no other row. */
#include <math.h>

#include "data/word_vectors.h"
#include "fuzz.h"

enum { WORDS = 6, SIZE = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const list[WORDS] = {"<unk>", "<s>", "</s>", "a", "1", "\xC3\xA9"};
    real table[(WORDS + 1) * SIZE];
    vocabulary *words;
    nmt_error error;
    size_t found;
    REQUIRE(vocabulary_from_words(&words, list, WORDS, "the fuzzer", &error) == NMT_OK);
    for (size_t i = 0; i < (WORDS + 1) * SIZE; i++) {
        table[i] = 7;
    }
    if (word_vectors_read(table, &found, words, SIZE, fuzz_file(0, data, size), &error) == NMT_OK) {
        REQUIRE(found <= WORDS - TOKEN_FIRST_WORD);
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    for (size_t i = 0; i < (WORDS + 1) * SIZE; i++) {
        REQUIRE(isfinite(table[i]) && (i < WORDS * SIZE || table[i] == 7));
    }
    vocabulary_free(words);
    return 0;
}
