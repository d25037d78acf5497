/* A lexicon file. */
#include <nmt/translate.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nmt_lexicon *lexicon;
    nmt_error error;
    if (nmt_lexicon_load(&lexicon, fuzz_file(0, data, size), &error) == NMT_OK) {
        nmt_lexicon_free(lexicon);
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    return 0;
}
