#include "data/epoch.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"

/* A pair as the sort sees it. */
typedef struct sort_key {
    uint32_t pair;
    uint32_t position;       /* in the shuffled order: decides between equal lengths */
    uint32_t source, target; /* lengths */
} sort_key;

/* What planning needs beside the plan. */
typedef struct planner {
    const corpus *pairs;
    const epoch_options *options;
    rng generator;
    sort_key *keys;        /* [pairs] in shuffled order, sorted pool by pool */
    size_t *cuts;          /* first key of each batch of a pool, and the end of the last */
    uint32_t *batch_order; /* of a pool */
    size_t cuts_capacity, batch_order_capacity, starts_capacity;
} planner;

static int compare_keys(const void *left, const void *right)
{
    const sort_key *a = left;
    const sort_key *b = right;
    if (a->target != b->target) {
        return a->target < b->target ? -1 : 1;
    }
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    return (a->position > b->position) - (a->position < b->position);
}

/* How much of a batch a pair fills. */
static size_t size_of(const sort_key *key, batch_unit unit)
{
    return unit == BATCH_TOKENS ? (size_t)key->target + 1 : 1;
}

/* The end of what fits into `limit` from `begin` on, at least one pair. */
static size_t find_cut(const planner *plan, size_t begin, size_t end, size_t limit)
{
    size_t filled = 0;
    size_t at = begin;
    while (at < end) {
        const size_t size = size_of(&plan->keys[at], plan->options->unit);
        if (at > begin && (filled >= limit || size > limit - filled)) {
            break;
        }
        filled += size;
        at++;
    }
    return at;
}

/* Cuts the keys begin .. end-1 into batches: cuts[0] = begin, ..., cuts[count] = end. */
static nmt_status cut_pool(planner *plan, size_t begin, size_t end, size_t *count, nmt_error *error)
{
    *count = 0;
    for (size_t at = begin;; (*count)++) {
        TRY(memory_grow(&plan->cuts, &plan->cuts_capacity, *count + 1, sizeof *plan->cuts, "an epoch's plan", error));
        plan->cuts[*count] = at;
        if (at == end) {
            return NMT_OK;
        }
        at = find_cut(plan, at, end, plan->options->batch_size);
    }
}

/* Appends the batches of a pool to the plan, in the order that the options ask for. */
static nmt_status add_batches(planner *plan, size_t count, epoch_plan *made, nmt_error *error)
{
    TRY(memory_grow(&plan->batch_order, &plan->batch_order_capacity, count, sizeof *plan->batch_order,
                    "an epoch's plan", error));
    TRY(memory_grow(&made->start, &plan->starts_capacity, made->batches + count + 1, sizeof *made->start,
                    "an epoch's plan", error));
    for (size_t i = 0; i < count; i++) {
        plan->batch_order[i] = (uint32_t)i;
    }
    if (plan->options->shuffle) {
        rng_shuffle(&plan->generator, plan->batch_order, count);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t batch = plan->batch_order[i];
        made->start[made->batches++] = made->pairs;
        for (size_t at = plan->cuts[batch]; at < plan->cuts[batch + 1]; at++) {
            made->pair[made->pairs++] = plan->keys[at].pair;
        }
    }
    made->start[made->batches] = made->pairs;
    return NMT_OK;
}

static nmt_status plan_pools(planner *plan, size_t pairs, epoch_plan *made, nmt_error *error)
{
    const size_t batch_size = plan->options->batch_size;
    const size_t pool = plan->options->pool > 0 ? plan->options->pool : 1;
    const size_t pool_size = batch_size > SIZE_MAX / pool ? SIZE_MAX : batch_size * pool;
    for (size_t begin = 0; begin < pairs;) {
        const size_t end = find_cut(plan, begin, pairs, pool_size);
        if (pool > 1) {
            qsort(plan->keys + begin, end - begin, sizeof *plan->keys, compare_keys);
        }
        size_t batches;
        TRY(cut_pool(plan, begin, end, &batches, error));
        TRY(add_batches(plan, batches, made, error));
        begin = end;
    }
    return NMT_OK;
}

/* Fills the keys in the order in which pools take them; `room` [pairs] is for shuffling. */
static void order_pairs(planner *plan, size_t pairs, uint32_t *room)
{
    for (size_t i = 0; i < pairs; i++) {
        room[i] = (uint32_t)i;
    }
    if (plan->options->shuffle) {
        rng_shuffle(&plan->generator, room, pairs);
    }
    for (size_t i = 0; i < pairs; i++) {
        plan->keys[i] = (sort_key){room[i], (uint32_t)i, (uint32_t)corpus_source_length(plan->pairs, room[i]),
                                   (uint32_t)corpus_target_length(plan->pairs, room[i])};
    }
}

nmt_status epoch_plan_create(epoch_plan *plan, const corpus *pairs, const epoch_options *options, uint64_t epoch,
                             nmt_error *error)
{
    const size_t count = corpus_size(pairs);
    planner work = {.pairs = pairs, .options = options, .generator = rng_stream(options->seed, "shuffle", epoch)};
    memset(plan, 0, sizeof *plan);
    nmt_status status = memory_new(&plan->pair, count, sizeof *plan->pair, "an epoch's plan", error);
    if (status == NMT_OK) {
        status = memory_new(&work.keys, count, sizeof *work.keys, "an epoch's plan", error);
    }
    if (status == NMT_OK) {
        order_pairs(&work, count, plan->pair);
        status = plan_pools(&work, count, plan, error);
    }
    free(work.keys);
    free(work.cuts);
    free(work.batch_order);
    if (status != NMT_OK) {
        epoch_plan_free(plan);
    }
    return status;
}

void epoch_plan_free(epoch_plan *plan)
{
    free(plan->pair);
    free(plan->start);
    memset(plan, 0, sizeof *plan);
}
