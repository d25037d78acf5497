/* Links of two directions as one set; the methods are told in nmt/links.h. All of them choose from the union, which is
 * laid out first: growing marks what is taken. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "metrics/link_order.h"

typedef struct symmetrizer {
    const nmt_links *all;          /* the union */
    bool *both;                    /* [all->count] in the intersection */
    bool *taken;                   /* [all->count] */
    bool *source_has, *target_has; /* by token: it has a link that is taken */
} symmetrizer;

static nmt_status join(nmt_links *all, const nmt_links *forward, const nmt_links *reverse, nmt_error *error)
{
    all->count = 0;
    for (size_t i = 0; i < forward->count; i++) {
        TRY(links_add(all, (nmt_link){forward->items[i].source, forward->items[i].target, false}, error));
    }
    for (size_t i = 0; i < reverse->count; i++) {
        const nmt_link link = {reverse->items[i].source, reverse->items[i].target, false};
        if (links_find(forward, link.source, link.target) == forward->count) {
            TRY(links_add(all, link, error));
        }
    }
    links_sort(all);
    return NMT_OK;
}

static void take(symmetrizer *work, size_t i)
{
    work->taken[i] = true;
    work->source_has[work->all->items[i].source] = true;
    work->target_has[work->all->items[i].target] = true;
}

/* Whether a neighbour of link `i` was taken. */
static bool take_neighbours(symmetrizer *work, size_t i)
{
    static const int steps[][2] = {{-1, 0}, {0, -1}, {1, 0}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};
    const nmt_link centre = work->all->items[i];
    bool grown = false;
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        /* Below 0 it wraps to a number that no link has. */
        const uint32_t target = centre.target + (uint32_t)steps[k][0];
        const uint32_t source = centre.source + (uint32_t)steps[k][1];
        const size_t at = links_find(work->all, source, target);
        if (at < work->all->count && !(work->source_has[source] && work->target_has[target])) {
            take(work, at);
            grown = true;
        }
    }
    return grown;
}

/* A link taken behind the walk's place is met in the same walk. */
static void grow(symmetrizer *work)
{
    bool grown = true;
    while (grown) {
        grown = false;
        for (size_t i = 0; i < work->all->count; i++) {
            if (work->taken[i] && take_neighbours(work, i)) {
                grown = true;
            }
        }
    }
}

static void choose(symmetrizer *work, nmt_symmetrization method)
{
    for (size_t i = 0; i < work->all->count; i++) {
        if (work->both[i] || method == NMT_SYMMETRIZATION_UNION) {
            take(work, i);
        }
    }
    if (method == NMT_SYMMETRIZATION_GROW_DIAG || method == NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND) {
        grow(work);
    }
    for (size_t i = 0; method == NMT_SYMMETRIZATION_GROW_DIAG_FINAL_AND && i < work->all->count; i++) {
        const nmt_link link = work->all->items[i];
        if (!work->source_has[link.source] && !work->target_has[link.target]) {
            take(work, i);
        }
    }
}

static nmt_status set_up(symmetrizer *work, const nmt_links *forward, const nmt_links *reverse, nmt_error *error)
{
    const nmt_links *all = work->all;
    size_t sources = 0;
    size_t targets = 0;
    for (size_t i = 0; i < all->count; i++) {
        sources = all->items[i].source >= sources ? all->items[i].source + 1 : sources;
        targets = all->items[i].target >= targets ? all->items[i].target + 1 : targets;
    }
    TRY(memory_new(&work->both, all->count, sizeof *work->both, "joining links", error));
    TRY(memory_new(&work->taken, all->count, sizeof *work->taken, "joining links", error));
    TRY(memory_new(&work->source_has, sources, sizeof *work->source_has, "joining links", error));
    TRY(memory_new(&work->target_has, targets, sizeof *work->target_has, "joining links", error));
    for (size_t i = 0; i < all->count; i++) {
        const nmt_link link = all->items[i];
        work->both[i] = links_find(forward, link.source, link.target) < forward->count &&
                        links_find(reverse, link.source, link.target) < reverse->count;
    }
    return NMT_OK;
}

static void keep_taken(nmt_links *result, const bool *taken)
{
    size_t kept = 0;
    for (size_t i = 0; i < result->count; i++) {
        if (taken[i]) {
            result->items[kept++] = result->items[i];
        }
    }
    result->count = kept;
}

nmt_status nmt_links_symmetrize(nmt_links *result, const nmt_links *forward, const nmt_links *reverse,
                                nmt_symmetrization method, nmt_error *error)
{
    TRY(join(result, forward, reverse, error));
    symmetrizer work = {.all = result};
    const nmt_status status = set_up(&work, forward, reverse, error);
    if (status == NMT_OK) {
        choose(&work, method);
        keep_taken(result, work.taken);
    }
    free(work.both);
    free(work.taken);
    free(work.source_has);
    free(work.target_has);
    return status;
}
