/*
 * The gradient taken apart by the path of attention that it came through, from runs of the backward pass that leave
 * paths out (attention_paths in model/decoder.h). Upstream of attention a gradient belongs to the path by which it
 * reached the annotations; what reached them through s_0 came through neither. Downstream nothing comes of the Value
 * path, which leads to annotations alone; the Score path leads to the states that asked too, and so further back.
 */
#include "train/gradient_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "model/seq2seq.h"

enum { NONE, VALUE, SCORE, BOTH, UNASKED, RUNS };
static const attention_paths paths_of[RUNS] = {PATH_NONE, PATH_VALUE, PATH_SCORE, PATH_BOTH, PATH_UNASKED};

typedef struct runs {
    size_t elements;         /* of an array */
    real *gradient[RUNS];    /* [elements] */
    size_t annotation;       /* 2H */
    real *annotations[RUNS]; /* [source tokens, 2H] */
    real *block;
} runs;

/* Shares of some elements as sums of squares, and the largest difference between their sum and the whole. */
typedef struct shares {
    double direct, value, score, whole, residual;
} shares;

typedef struct room {
    const char *name, *prefix; /* of its tensors' names; the first that fits */
    bool upstream;
} room;

static const room rooms[NMT_GRADCHECK_ROOMS] = {
    {"source embedding", "encoder.embedding", true},  {"encoder", "encoder.", true},  {"attention", "attention.", true},
    {"target embedding", "decoder.embedding", false}, {"decoder", "decoder.", false}, {"readout", "readout.", false},
};

static size_t room_of(const char *tensor_name)
{
    size_t r = 0;
    while (r + 1 < NMT_GRADCHECK_ROOMS && strncmp(tensor_name, rooms[r].prefix, strlen(rooms[r].prefix)) != 0) {
        r++;
    }
    return r;
}

static nmt_status run_all(runs *to, nmt_model *model, const batch *pairs, nmt_error *error)
{
    to->elements = model->parameters.size;
    to->annotation = seq2seq_annotation_size(model);
    const size_t annotations = pairs->source.tokens * to->annotation;
    TRY(memory_new(&to->block, RUNS * (to->elements + annotations), sizeof *to->block, "the paths' gradients", error));
    for (size_t run = 0; run < RUNS; run++) {
        to->gradient[run] = to->block + run * (to->elements + annotations);
        to->annotations[run] = to->gradient[run] + to->elements;
        TRY(seq2seq_path_gradient(model, pairs, paths_of[run], to->gradient[run], to->annotations[run], error));
    }
    return NMT_OK;
}

/* Adds elements begin..end-1 of arrays that lie upstream or downstream of attention. */
static void add_elements(shares *to, real *const run[RUNS], bool upstream, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const double whole = run[BOTH][i], direct = run[upstream ? NONE : UNASKED][i];
        const double value = run[VALUE][i] - run[NONE][i];
        const double score = upstream ? run[SCORE][i] - run[NONE][i] : whole - direct;
        to->direct += direct * direct;
        to->value += value * value;
        to->score += score * score;
        to->whole += whole * whole;
        to->residual = fmax(to->residual, fabs(direct + value + score - whole));
    }
}

static void measure_rooms(nmt_gradcheck_report *report, const runs *from, const parameter_table *table)
{
    shares sums[NMT_GRADCHECK_ROOMS] = {{0}};
    for (size_t t = 0; t < table->count; t++) {
        const tensor *entry = &table->tensors[t];
        const size_t r = room_of(entry->name);
        add_elements(&sums[r], from->gradient, rooms[r].upstream, entry->offset, entry->offset + tensor_size(entry));
    }
    for (size_t r = 0; r < NMT_GRADCHECK_ROOMS; r++) {
        report->rooms[r] = (nmt_gradcheck_room){rooms[r].name, sqrt(sums[r].direct), sqrt(sums[r].value),
                                                sqrt(sums[r].score), sqrt(sums[r].whole)};
        report->path_residual = fmax(report->path_residual, sums[r].residual);
    }
}

static nmt_status measure_position(nmt_gradcheck_position *to, shares *all, const runs *from, size_t token,
                                   const char *word, nmt_error *error)
{
    shares sums = {0};
    TRY(memory_copy_text(&to->word, word, strlen(word), "the report", error));
    add_elements(&sums, from->annotations, true, token * from->annotation, (token + 1) * from->annotation);
    to->direct = sqrt(sums.direct);
    to->value = sqrt(sums.value);
    to->score = sqrt(sums.score);
    to->whole = sqrt(sums.whole);
    all->value += sums.value;
    all->score += sums.score;
    all->residual = fmax(all->residual, sums.residual);
    return NMT_OK;
}

/* Sentences as they were given; the arrays have them as they are packed. */
static nmt_status measure_positions(nmt_gradcheck_report *report, const runs *from, const nmt_model *model,
                                    const sequences *source, nmt_error *error)
{
    shares all = {0};
    TRY(memory_new(&report->positions, source->tokens, sizeof *report->positions, "the report", error));
    for (size_t b = 0; b < source->count; b++) {
        size_t start = 0;
        for (size_t row = 0; row < source->row[b]; row++) {
            start += source->length[row];
        }
        for (size_t i = 0; i < source->length[source->row[b]]; i++) {
            nmt_gradcheck_position *to = &report->positions[report->position_count++];
            const char *word = vocabulary_word(model->source_words, source->id[source->offset[i] + source->row[b]]);
            to->sentence = b + 1;
            TRY(measure_position(to, &all, from, start + i, word, error));
        }
    }
    report->value_norm = sqrt(all.value);
    report->score_norm = sqrt(all.score);
    report->path_residual = fmax(report->path_residual, all.residual);
    return NMT_OK;
}

/* Together is what came through attention, so without what came through s_0. */
static double norm_through_attention(const runs *from, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double through = from->annotations[BOTH][i] - from->annotations[NONE][i];
        sum += through * through;
    }
    return sqrt(sum);
}

nmt_status gradient_paths_measure(nmt_gradcheck_report *report, nmt_model *model, const batch *pairs, nmt_error *error)
{
    runs all = {0};
    nmt_status status = run_all(&all, model, pairs, error);
    if (status == NMT_OK) {
        measure_rooms(report, &all, &model->parameters);
        report->total_norm = norm_through_attention(&all, pairs->source.tokens * all.annotation);
        status = measure_positions(report, &all, model, &pairs->source, error);
    }
    free(all.block);
    return status;
}
