/* A SentencePiece model from a stranger: what the check accepts its library takes or refuses, and what it then cuts is
 * joined to the words again. It may refuse a text, as one that spells a control piece. */
#include "data/piece_model.h"
#include "data/segmenter.h"
#include "fuzz.h"

static void cut_and_join(const segmenter *by, const char *line)
{
    text_buffer tokens = {0};
    nmt_error error;
    if (segmenter_cut(by, line, strlen(line), &tokens, &error) == NMT_OK) {
        segmenter_join(tokens.bytes);
        REQUIRE(strcmp(tokens.bytes, line) == 0);
    } else {
        REQUIRE(error.status == NMT_INVALID && error.message[0] != '\0');
    }
    text_buffer_free(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    segmenter *by;
    nmt_error error;
    if (piece_model_check((const char *)data, size, "a file", &error) != NMT_OK) {
        REQUIRE(error.message[0] != '\0');
        return 0;
    }
    if (!segmenter_has_pieces()) {
        return 0;
    }
    if (segmenter_of_pieces(&by, (const char *)data, size, "a file", &error) != NMT_OK) {
        REQUIRE(by == NULL && error.status == NMT_INVALID);
        return 0;
    }
    cut_and_join(by, "the old house stands near the older houses");
    cut_and_join(by, "a \xc3\xbc <s> \xe4\xb8\xad\xe5\x9b\xbd x");
    segmenter_free(by);
    return 0;
}
