/* Lines of an n-best list: what is accepted points into its line, and is accepted again with one feature more. */
#include "cli/nbest.h"
#include "fuzz.h"

static void check_line(const char *line)
{
    static char again[1 << 16];
    const size_t length = strlen(line);
    nbest_entry entry, second;
    nmt_error error;
    if (nbest_parse(&entry, line, length, "list", 1, &error) != NMT_OK) {
        REQUIRE(error.message[0] != '\0');
        return;
    }
    REQUIRE(entry.text >= line && entry.text + entry.text_length <= line + length && entry.features_end <= length);
    FILE *file = fmemopen(again, sizeof again, "w");
    nbest_write_with(file, line, &entry, "added", -1.5);
    fclose(file);
    again[strcspn(again, "\n")] = '\0';
    if (length < sizeof again - 64) {
        REQUIRE(nbest_parse(&second, again, strlen(again), "list", 1, &error) == NMT_OK);
        REQUIRE(second.sentence == entry.sentence && second.text_length == entry.text_length);
        REQUIRE(nbest_has_feature(again, &second, "added"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_part rest = {data, size};
    while (rest.size > 0) {
        char *line = fuzz_text(fuzz_take(&rest, '\n'));
        check_line(line);
        free(line);
    }
    return 0;
}
