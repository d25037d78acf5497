#include "metrics/ngrams.h"

#include <stdlib.h>

#include "core/hash.h"
#include "core/memory.h"

enum { ROOT = 0 }; /* nodes count from 1 */

/* Room for `entries` at a load of at most a half. */
static nmt_status reserve_slots(ngram_set *set, size_t entries, nmt_error *error)
{
    size_t count = 64;
    while (count < 2 * entries) {
        count *= 2;
    }
    if (count <= set->slot_count) {
        return NMT_OK;
    }
    ngram_slot *slots;
    TRY(memory_new(&slots, count, sizeof *slots, "the table of n-grams", error));
    free(set->slots);
    set->slots = slots;
    set->slot_count = count;
    return NMT_OK;
}

nmt_status ngrams_begin(ngram_set *set, size_t length, size_t order, nmt_error *error)
{
    const size_t most = UINT32_MAX / (4 * order);
    if (length > most) {
        return error_set(error, NMT_INVALID, "a line's references have %zu symbols: expected at most %zu", length,
                         most);
    }
    TRY(reserve_slots(set, length * order, error));
    TRY(memory_grow(&set->nodes, &set->node_capacity, length * order + 1, sizeof *set->nodes, "the counts of n-grams",
                    error));
    set->node_count = 0;
    set->references = 0;
    set->line++;
    return NMT_OK;
}

/* The slot of the n-gram that ends `parent` with `symbol`, or the empty one where it belongs. */
static ngram_slot *find(const ngram_set *set, uint32_t parent, uint32_t symbol)
{
    const uint64_t key = (uint64_t)parent << 32 | symbol;
    size_t index = (size_t)hash_join(0, key) & (set->slot_count - 1);
    while (set->slots[index].line == set->line && set->slots[index].key != key) {
        index = (index + 1) & (set->slot_count - 1);
    }
    return &set->slots[index];
}

static uint32_t find_or_add(ngram_set *set, uint32_t parent, uint32_t symbol)
{
    ngram_slot *slot = find(set, parent, symbol);
    if (slot->line != set->line) {
        set->nodes[++set->node_count] = (ngram_node){0};
        *slot = (ngram_slot){(uint64_t)parent << 32 | symbol, set->line, (uint32_t)set->node_count};
    }
    return slot->node;
}

void ngrams_add(ngram_set *set, const symbols *reference, size_t order)
{
    set->references++;
    for (size_t start = 0; start < reference->count; start++) {
        uint32_t parent = ROOT;
        for (size_t n = 0; n < order && start + n < reference->count; n++) {
            parent = find_or_add(set, parent, reference->items[start + n]);
            ngram_node *node = &set->nodes[parent];
            node->seen = node->reference == set->references ? node->seen + 1 : 1;
            node->reference = set->references;
            node->allowed = node->seen > node->allowed ? node->seen : node->allowed;
        }
    }
}

/* An n-gram outside the trie ends the walk: no longer one can be inside. */
void ngrams_match(ngram_set *set, const symbols *hypothesis, size_t order, uint64_t *matches)
{
    for (size_t start = 0; start < hypothesis->count; start++) {
        uint32_t parent = ROOT;
        for (size_t n = 0; n < order && start + n < hypothesis->count; n++) {
            const ngram_slot *slot = find(set, parent, hypothesis->items[start + n]);
            if (slot->line != set->line) {
                break;
            }
            parent = slot->node;
            if (set->nodes[parent].allowed > 0) {
                set->nodes[parent].allowed--;
                matches[n]++;
            }
        }
    }
}

size_t ngrams_in(size_t length, size_t order)
{
    return length >= order ? length - order + 1 : 0;
}

void ngrams_free(ngram_set *set)
{
    free(set->slots);
    free(set->nodes);
    *set = (ngram_set){0};
}
