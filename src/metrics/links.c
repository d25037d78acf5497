/* Links as a sorted array: what is asked of them (membership, a walk in order) needs no matrix. */
#include <nmt/links.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/quote.h"
#include "metrics/link_order.h"

void nmt_links_clear(nmt_links *links)
{
    free(links->items);
    *links = (nmt_links){0};
}

int link_compare(const void *left, const void *right)
{
    const nmt_link *a = left;
    const nmt_link *b = right;
    if (a->target != b->target) {
        return a->target < b->target ? -1 : 1;
    }
    return (a->source > b->source) - (a->source < b->source);
}

void links_sort(nmt_links *links)
{
    if (links->count > 1) {
        qsort(links->items, links->count, sizeof *links->items, link_compare);
    }
}

nmt_status links_add(nmt_links *links, nmt_link link, nmt_error *error)
{
    TRY(memory_grow(&links->items, &links->capacity, links->count + 1, sizeof *links->items, "the links of a sentence",
                    error));
    links->items[links->count++] = link;
    return NMT_OK;
}

size_t links_find(const nmt_links *links, uint32_t source, uint32_t target)
{
    const nmt_link wanted = {source, target, false};
    size_t first = 0, end = links->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int order = link_compare(&links->items[middle], &wanted);
        if (order == 0) {
            return middle;
        }
        if (order < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return links->count;
}

/* A number from 0 to NMT_LINK_LIMIT - 1 at `*cursor`, which steps over it. */
static bool parse_number(uint32_t *number, const char **cursor)
{
    const char *text = *cursor;
    uint32_t sum = 0;
    while (*text >= '0' && *text <= '9' && sum < NMT_LINK_LIMIT) {
        sum = 10 * sum + (uint32_t)(*text++ - '0');
    }
    const bool found = text > *cursor && sum < NMT_LINK_LIMIT;
    *number = sum;
    *cursor = text;
    return found;
}

static bool parse_link(nmt_link *link, const char *text, size_t length, bool gold)
{
    const char *cursor = text;
    if (!parse_number(&link->source, &cursor)) {
        return false;
    }
    const char between = *cursor++;
    link->possible = gold && between == 'p';
    return (between == '-' || link->possible) && parse_number(&link->target, &cursor) && cursor == text + length;
}

static nmt_status check_unique(const nmt_links *links, nmt_error *error)
{
    for (size_t i = 1; i < links->count; i++) {
        if (link_compare(&links->items[i - 1], &links->items[i]) == 0) {
            return error_set(error, NMT_INVALID, "source token %lu and target token %lu are linked twice",
                             (unsigned long)links->items[i].source, (unsigned long)links->items[i].target);
        }
    }
    return NMT_OK;
}

nmt_status nmt_links_parse(nmt_links *links, const char *line, bool gold, nmt_error *error)
{
    links->count = 0;
    for (const char *cursor = line + strspn(line, " \t"); *cursor != '\0'; cursor += strspn(cursor, " \t")) {
        const size_t length = strcspn(cursor, " \t");
        nmt_link link;
        if (!parse_link(&link, cursor, length, gold)) {
            return error_set(error, NMT_INVALID, "link %zu: expected %s with numbers from 0 to %d, found %s",
                             links->count + 1, gold ? "i-j or ipj" : "i-j", NMT_LINK_LIMIT - 1,
                             quote(&(quotation){{0}}, cursor, length));
        }
        TRY(links_add(links, link, error));
        cursor += length;
    }
    links_sort(links);
    return check_unique(links, error);
}

static size_t words(char *const *tokens, size_t count)
{
    return count > 0 && strcmp(tokens[count - 1], "</s>") == 0 ? count - 1 : count;
}

nmt_status nmt_links_from_attention(nmt_links *links, const nmt_alignment *alignment, bool shift, nmt_error *error)
{
    const size_t S = alignment->source_count;
    const size_t sources = words(alignment->source, S);
    const size_t targets = words(alignment->target, alignment->target_count);
    links->count = 0;
    for (size_t t = 0; t < targets; t++) {
        const float *row = alignment->weights + (t + (shift && t + 1 < alignment->target_count)) * S;
        size_t best = 0;
        for (size_t s = 1; s < S; s++) {
            best = row[s] > row[best] ? s : best;
        }
        if (best < sources) {
            TRY(links_add(links, (nmt_link){(uint32_t)best, (uint32_t)t, false}, error));
        }
    }
    return NMT_OK;
}

void nmt_alignment_shift(nmt_alignment *alignment)
{
    const size_t S = alignment->source_count;
    if (alignment->target_count > 1) {
        memmove(alignment->weights, alignment->weights + S,
                (alignment->target_count - 1) * S * sizeof *alignment->weights);
    }
}

void nmt_links_swap(nmt_links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        nmt_link *link = &links->items[i];
        *link = (nmt_link){link->target, link->source, link->possible};
    }
    links_sort(links);
}

void nmt_link_counts_add(nmt_link_counts *counts, const nmt_links *links, const nmt_links *gold)
{
    counts->links += links->count;
    for (size_t i = 0; i < gold->count; i++) {
        counts->sure += !gold->items[i].possible;
    }
    for (size_t i = 0; i < links->count; i++) {
        const size_t at = links_find(gold, links->items[i].source, links->items[i].target);
        if (at < gold->count) {
            counts->links_allowed++;
            counts->links_sure += !gold->items[at].possible;
        }
    }
}

static double share(size_t part, size_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 100.0;
}

double nmt_links_precision(const nmt_link_counts *counts)
{
    return share(counts->links_allowed, counts->links);
}

double nmt_links_recall(const nmt_link_counts *counts)
{
    return share(counts->links_sure, counts->sure);
}

double nmt_links_error_rate(const nmt_link_counts *counts)
{
    return 100 - share(counts->links_sure + counts->links_allowed, counts->links + counts->sure);
}
