/* Attention in numbers; the formulas stand in nmt/diagnostics.h. */
#include <math.h>
#include <nmt/diagnostics.h>
#include <string.h>

static double row_entropy(const float *row, size_t count)
{
    double sum = 0;
    for (size_t s = 0; s < count; s++) {
        const double weight = (double)row[s];
        sum -= weight > 0 ? weight * log(weight) : 0;
    }
    return sum > 0 ? sum : 0; /* a weight a rounding over 1 would make it negative */
}

/* Place of number `i` of `count`, from 0 for the first to 1 for the last. */
static double place(size_t i, size_t count)
{
    return count > 1 ? (double)i / (double)(count - 1) : 0.0;
}

static double row_distance(const float *row, size_t count, double diagonal)
{
    double sum = 0;
    for (size_t s = 0; s < count; s++) {
        sum += (double)row[s] * fabs(place(s, count) - diagonal);
    }
    return sum;
}

static double column_sum(const nmt_alignment *alignment, size_t s)
{
    double sum = 0;
    for (size_t t = 0; t < alignment->target_count; t++) {
        sum += (double)alignment->weights[t * alignment->source_count + s];
    }
    return sum;
}

static void measure_rows(nmt_attention_sums *sums, const nmt_alignment *alignment, double *entropy)
{
    const size_t S = alignment->source_count;
    for (size_t t = 0; t < alignment->target_count; t++) {
        const float *row = alignment->weights + t * S;
        const double nats = row_entropy(row, S);
        sums->entropy += nats;
        sums->entropy_share += S > 1 ? nats / log((double)S) : 0;
        sums->distance += row_distance(row, S, place(t, alignment->target_count));
        if (entropy != NULL) {
            entropy[t] = nats;
        }
    }
    sums->rows = alignment->target_count;
}

static void measure_columns(nmt_attention_sums *sums, const nmt_alignment *alignment, double threshold,
                            double *coverage)
{
    const size_t S = alignment->source_count;
    sums->words = S - (S > 0 && strcmp(alignment->source[S - 1], "</s>") == 0);
    for (size_t s = 0; s < S; s++) {
        const double sum = column_sum(alignment, s);
        if (s < sums->words) {
            sums->omitted += sum < threshold;
            sums->repeated += sum > 1 ? sum - 1 : 0;
        }
        if (coverage != NULL) {
            coverage[s] = sum;
        }
    }
}

void nmt_attention_measure(nmt_attention_sums *sums, const nmt_alignment *alignment, double omission_threshold,
                           double *entropy, double *coverage)
{
    *sums = (nmt_attention_sums){.sentences = alignment->target_count > 0};
    measure_rows(sums, alignment, entropy);
    measure_columns(sums, alignment, omission_threshold, coverage);
}

void nmt_attention_sums_add(nmt_attention_sums *corpus, const nmt_attention_sums *sentence)
{
    corpus->sentences += sentence->sentences;
    corpus->rows += sentence->rows;
    corpus->words += sentence->words;
    corpus->entropy += sentence->entropy;
    corpus->entropy_share += sentence->entropy_share;
    corpus->distance += sentence->distance;
    corpus->omitted += sentence->omitted;
    corpus->repeated += sentence->repeated;
}

nmt_attention_means nmt_attention_means_of(const nmt_attention_sums *sums)
{
    const double rows = sums->rows > 0 ? (double)sums->rows : 1;
    const double words = sums->words > 0 ? (double)sums->words : 1;
    return (nmt_attention_means){
        .entropy = sums->entropy / rows,
        .entropy_share = sums->entropy_share / rows,
        .distance = sums->distance / rows,
        .omission_rate = (double)sums->omitted / words,
        .repeated = sums->repeated / words,
    };
}
