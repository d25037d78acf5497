/* A configuration, and behind a NUL each an override: what is accepted prints and reads back as the same. */
#include <nmt/config.h>

#include "fuzz.h"

enum { OVERRIDES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nmt_config *config, *again;
    nmt_error error;
    fuzz_part rest = {data, size};
    const fuzz_part file = fuzz_take(&rest, 0);
    char *overrides[OVERRIDES];
    size_t count = 0;
    while (rest.size > 0 && count < OVERRIDES) {
        overrides[count++] = fuzz_text(fuzz_take(&rest, 0));
    }
    const char *path = fuzz_file(0, file.data, file.size);
    if (nmt_config_load(&config, path, (const char *const *)overrides, count, &error) == NMT_OK) {
        char *printed = nmt_config_json(config), *printed_again;
        path = fuzz_file(1, (const uint8_t *)printed, strlen(printed));
        REQUIRE(nmt_config_load(&again, path, NULL, 0, &error) == NMT_OK);
        printed_again = nmt_config_json(again);
        REQUIRE(strcmp(printed, printed_again) == 0);
        nmt_free(printed);
        nmt_free(printed_again);
        nmt_config_free(config);
        nmt_config_free(again);
    } else {
        REQUIRE(error.message[0] != '\0');
    }
    while (count > 0) {
        free(overrides[--count]);
    }
    return 0;
}
