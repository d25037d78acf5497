/* Lines of word alignment, the gold ones among them: what is accepted can be joined with itself, and is its own match.
 */
#include <nmt/links.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nmt_links links = {0}, joined = {0};
    nmt_error error;
    fuzz_part rest = {data, size};
    while (rest.size > 0) {
        char *line = fuzz_text(fuzz_take(&rest, '\n'));
        if (nmt_links_parse(&links, line, size % 2 == 0, &error) == NMT_OK) {
            nmt_link_counts counts = {0};
            nmt_link_counts_add(&counts, &links, &links);
            REQUIRE(counts.links == links.count && counts.links_allowed == counts.links);
            for (int method = 0; method <= NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND; method++) {
                REQUIRE(nmt_links_symmetrize(&joined, &links, &links, (nmt_symmetrization)method, &error) == NMT_OK);
                REQUIRE(joined.count == links.count);
            }
            nmt_links_swap(&links);
            nmt_links_swap(&links);
        } else {
            REQUIRE(error.message[0] != '\0');
        }
        free(line);
    }
    nmt_links_clear(&links);
    nmt_links_clear(&joined);
    return 0;
}
