/* JSON text: what is accepted prints and reads back as the same. */
#include "core/json.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json *value, *again;
    nmt_error error;
    json_strings strings;
    if (json_parse_strings(&strings, (const char *)data, size, "input", &error) == NMT_OK) {
        REQUIRE(strings.count == 0 || strings.list[strings.count - 1] != NULL);
        json_strings_free(&strings);
    }
    if (json_parse(&value, (const char *)data, size, "input", &error) != NMT_OK) {
        REQUIRE(value == NULL && error.message[0] != '\0');
        return 0;
    }
    char *printed = json_print(value, size % 2 == 0), *printed_again;
    REQUIRE(json_parse(&again, printed, strlen(printed), "printed", &error) == NMT_OK);
    printed_again = json_print(again, size % 2 == 0);
    REQUIRE(strcmp(printed, printed_again) == 0);
    free(printed);
    free(printed_again);
    json_free(value);
    json_free(again);
    return 0;
}
