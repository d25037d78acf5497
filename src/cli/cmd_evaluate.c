/* nmt evaluate: translations against references, scores and how to get them again. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/references.h"

static const uint64_t no_seed = UINT64_MAX;
enum { DEFAULT_SAMPLES = 1000, DEFAULT_SEED = 1 };

typedef struct evaluate_options {
    text_list references;
    const char *accepted, *input, *compare, *metric, *join;
    size_t smoothing;
    double smoothing_value; /* 0: not given */
    bool lowercase, json;
    uint64_t samples, seed;
    nmt_metric metrics[NMT_METRIC_COUNT];
    size_t metric_count;
} evaluate_options;

/* What a score is called, and how what was counted is told. */
static const struct {
    const char *title, *counted;
} labels[NMT_METRIC_COUNT] = {
    [NMT_METRIC_BLEU] = {"BLEU", NULL},
    [NMT_METRIC_CHRF] = {"chrF2", NULL},
    [NMT_METRIC_CHRF_WORDS] = {"chrF2++", NULL},
    [NMT_METRIC_ACCURACY] = {"accuracy", "lines right"},
    [NMT_METRIC_TOKEN_ACCURACY] = {"token accuracy", "tokens right"},
    [NMT_METRIC_ERROR_RATE] = {"error rate", "lines right"},
};

/* ---- the command line -------------------------------------------------------------------------------------------- */

static bool has_metric(const evaluate_options *chosen, nmt_metric metric)
{
    for (size_t i = 0; i < chosen->metric_count; i++) {
        if (chosen->metrics[i] == metric) {
            return true;
        }
    }
    return false;
}

static int add_metric(const syntax *line, evaluate_options *chosen, const char *name, size_t length)
{
    for (size_t i = 0; i < NMT_METRIC_COUNT; i++) {
        const nmt_metric metric = (nmt_metric)i;
        if (strlen(nmt_metric_name(metric)) == length && strncmp(nmt_metric_name(metric), name, length) == 0) {
            if (has_metric(chosen, metric)) {
                return options_misuse(line, "option --metric: %s stands twice", nmt_metric_name(metric));
            }
            chosen->metrics[chosen->metric_count++] = metric;
            return 0;
        }
    }
    return options_misuse(
        line,
        "option --metric: expected some of bleu, chrf, chrf++, accuracy, token-accuracy, error-rate, found '%.*s'",
        (int)length, name);
}

static int read_metrics(const syntax *line, evaluate_options *chosen)
{
    const char *name = chosen->metric;
    if (name == NULL) {
        name = nmt_metric_name(chosen->accepted != NULL ? NMT_METRIC_ERROR_RATE : NMT_METRIC_BLEU);
    }
    for (;;) {
        const size_t length = strcspn(name, ",");
        const int status = add_metric(line, chosen, name, length);
        if (status != 0 || name[length] == '\0') {
            return status;
        }
        name += length + 1;
    }
}

/* At most one file can be standard input. */
static int check_files(const syntax *line, const evaluate_options *chosen)
{
    const char *names[4];
    size_t count = 0;
    for (size_t i = 0; i < chosen->references.count && count < 2; i++) {
        if (command_path(chosen->references.items[i]) == NULL) {
            names[count++] = "--reference";
        }
    }
    if (chosen->accepted != NULL && command_path(chosen->accepted) == NULL) {
        names[count++] = "--accepted";
    }
    if (chosen->compare != NULL && command_path(chosen->compare) == NULL && count < 2) {
        names[count++] = "--compare";
    }
    if (command_path(chosen->input) == NULL && count < 2) {
        names[count++] = "--input";
    }
    return count > 1 ? options_misuse(line, "%s and %s cannot both be standard input", names[0], names[1]) : 0;
}

/* Options that say something about what is not there. */
static int check_use(const syntax *line, const evaluate_options *chosen)
{
    const bool takes_value = chosen->smoothing == NMT_SMOOTHING_FLOOR || chosen->smoothing == NMT_SMOOTHING_ADD_K;
    if (chosen->smoothing_value > 0 && !takes_value) {
        return options_misuse(line, "--smoothing-value is of --smoothing floor or add-k");
    }
    if (chosen->smoothing != NMT_SMOOTHING_NONE && !has_metric(chosen, NMT_METRIC_BLEU)) {
        return options_misuse(line, "--smoothing is of bleu, which --metric leaves out");
    }
    if (chosen->compare == NULL && (chosen->samples > 0 || chosen->seed != no_seed)) {
        return options_misuse(line, "--%s is of --compare FILE, which is missing",
                              chosen->samples > 0 ? "samples" : "seed");
    }
    return 0;
}

static int check(const syntax *line, evaluate_options *chosen)
{
    if (chosen->references.count == 0 && chosen->accepted == NULL) {
        return options_misuse(line, "option --reference FILE is missing");
    }
    if (chosen->references.count > 0 && chosen->accepted != NULL) {
        return options_misuse(line, "--reference and --accepted exclude each other");
    }
    if (chosen->join != NULL && chosen->accepted != NULL) {
        return options_misuse(line, "--join is of --reference");
    }
    int status = read_metrics(line, chosen);
    status = status == 0 ? check_files(line, chosen) : status;
    return status == 0 ? check_use(line, chosen) : status;
}

static const char notes[] =
    "metrics (0 to 100, over tokens between ASCII whitespace):\n"
    "  bleu            corpus BLEU; clipped by the most that one reference has, length of the closest one\n"
    "  chrf, chrf++    chrF2 of character 1- to 6-grams; chrf++: and of word 1- and 2-grams\n"
    "  accuracy        lines equal to a reference\n"
    "  token-accuracy  tokens equal to the reference's at the same place, out of the longer line's\n"
    "  error-rate      100 - accuracy; the word error rate of letters to phones\n"
    "\n"
    "Each score comes with a signature that says how to get it again. --compare tells the difference of the\n"
    "scores, the interval that holds it in 95 % of the samples, and p = (1 + n) / (1 + samples), where n samples\n"
    "do not find the better text better (paired bootstrap, Koehn 2004).\n"
    "\n"
    "A FILE of - is standard input.";

static bool parse(evaluate_options *chosen, int argc, char **argv, int *status)
{
    static const char *const smoothings[] = {
        [NMT_SMOOTHING_NONE] = "none",
        [NMT_SMOOTHING_EXP] = "exp",
        [NMT_SMOOTHING_FLOOR] = "floor",
        [NMT_SMOOTHING_ADD_K] = "add-k",
        NULL,
    };
    const option options[] = {
        {.name = "reference",
         .kind = OPTION_LIST,
         .value = &chosen->references,
         .argument = "FILE",
         .help = "reference translations, a line a sentence; may be given more\nthan once (required, or --accepted)"},
        {.name = "accepted",
         .kind = OPTION_TEXT,
         .value = &chosen->accepted,
         .argument = "FILE",
         .help = "instead: a line a source and, each behind a tab, the answers\nthat are right"},
        {.name = "input",
         .kind = OPTION_TEXT,
         .value = &chosen->input,
         .argument = "FILE",
         .help = "translations to score; default: standard input"},
        {.name = "metric",
         .kind = OPTION_TEXT,
         .value = &chosen->metric,
         .argument = "NAMES",
         .help = "one of the metrics below, or some with commas between;\ndefault: bleu, with --accepted: error-rate"},
        {.name = "smoothing",
         .kind = OPTION_CHOICE,
         .value = &chosen->smoothing,
         .argument = "METHOD",
         .choices = smoothings,
         .help = "of BLEU's orders without a match: none, exp, floor or add-k;\ndefault: none"},
        {.name = "smoothing-value",
         .kind = OPTION_NUMBER,
         .value = &chosen->smoothing_value,
         .argument = "X",
         .help = "of floor (default: 0.1) or add-k (default: 1)"},
        {.name = "join",
         .kind = OPTION_TEXT,
         .value = &chosen->join,
         .argument = "MARKER",
         .help = "for text that was segmented elsewhere: a token that ends in MARKER (@@)\ngoes on in the next one, in "
                 "translations and references"},
        {.name = "lowercase", .kind = OPTION_FLAG, .value = &chosen->lowercase, .help = "compare lower-cased text"},
        {.name = "compare",
         .kind = OPTION_TEXT,
         .value = &chosen->compare,
         .argument = "FILE",
         .help = "another text to score: is the difference more than chance?"},
        {.name = "samples",
         .kind = OPTION_COUNT,
         .value = &chosen->samples,
         .argument = "N",
         .least = 1,
         .most = 1000000,
         .help = "of --compare; default: 1000"},
        {.name = "seed",
         .kind = OPTION_COUNT,
         .value = &chosen->seed,
         .argument = "N",
         .most = INT64_MAX,
         .help = "of --compare; default: 1"},
        {.name = "json", .kind = OPTION_FLAG, .value = &chosen->json, .help = "scores and what is behind them as JSON"},
    };
    const syntax line = {
        .command = "evaluate",
        .usage = "--reference FILE... [OPTIONS]",
        .summary = "Scores translations, by default with corpus BLEU: no smoothing, case kept.",
        .notes = notes,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .no_products = true,
    };
    if (options_parse(&line, argc, argv, status)) {
        *status = check(&line, chosen);
        return *status == 0;
    }
    return false;
}

/* ---- scoring ----------------------------------------------------------------------------------------------------- */

typedef struct score {
    nmt_metric metric;
    nmt_evaluation *text, *other; /* `other` NULL: nothing to compare */
    nmt_comparison comparison;
} score;

typedef struct evaluate_job {
    const evaluate_options *chosen;
    references against;
    line_list input, compare;
    score scores[NMT_METRIC_COUNT];
} evaluate_job;

static nmt_status read_text(line_list *list, const char *path, const evaluate_job *job, nmt_error *error)
{
    const nmt_status status = references_read_lines(list, path, error);
    if (status != NMT_OK || list->count == job->against.lines) {
        return status;
    }
    const evaluate_options *chosen = job->chosen;
    const char *against = chosen->accepted != NULL ? chosen->accepted : chosen->references.items[0];
    return command_unequal_lines(error, command_input_name(path), list->count, command_input_name(against),
                                 job->against.lines);
}

static void join_lines(line_list *list, const char *marker)
{
    for (size_t i = 0; i < list->count; i++) {
        nmt_join(list->lines[i], marker);
    }
}

static void join_all(evaluate_job *job, const char *marker)
{
    join_lines(&job->input, marker);
    join_lines(&job->compare, marker);
    for (size_t i = 0; i < job->against.list_count; i++) {
        join_lines(&job->against.lists[i], marker);
    }
}

static nmt_status read_all(evaluate_job *job, nmt_error *error)
{
    const evaluate_options *chosen = job->chosen;
    nmt_status status = chosen->accepted != NULL ? references_read_accepted(&job->against, chosen->accepted, error)
                                                 : references_read(&job->against, &chosen->references, error);
    if (status == NMT_OK) {
        status = read_text(&job->input, chosen->input, job, error);
    }
    return status == NMT_OK && chosen->compare != NULL ? read_text(&job->compare, chosen->compare, job, error) : status;
}

static nmt_status score_text(nmt_evaluation **evaluation, const evaluate_job *job, nmt_metric metric,
                             const line_list *text, nmt_error *error)
{
    const nmt_metric_options options = {
        .smoothing = metric == NMT_METRIC_BLEU ? (nmt_smoothing)job->chosen->smoothing : NMT_SMOOTHING_NONE,
        .smoothing_value = metric == NMT_METRIC_BLEU ? job->chosen->smoothing_value : 0,
        .lowercase = job->chosen->lowercase,
    };
    return nmt_evaluate(evaluation, metric, &options, (const char *const *)text->lines, job->against.texts,
                        job->against.count, text->count, error);
}

static nmt_status score_all(evaluate_job *job, nmt_error *error)
{
    const evaluate_options *chosen = job->chosen;
    nmt_status status = NMT_OK;
    for (size_t i = 0; i < chosen->metric_count && status == NMT_OK; i++) {
        score *to = &job->scores[i];
        to->metric = chosen->metrics[i];
        status = score_text(&to->text, job, to->metric, &job->input, error);
        if (status == NMT_OK && chosen->compare != NULL) {
            status = score_text(&to->other, job, to->metric, &job->compare, error);
        }
        if (status == NMT_OK && chosen->compare != NULL) {
            status = nmt_evaluation_compare(&to->comparison, to->text, to->other, chosen->samples, chosen->seed, error);
        }
    }
    return status;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static double length_ratio(const nmt_bleu *bleu)
{
    return bleu->reference_length > 0 ? (double)bleu->hypothesis_length / (double)bleu->reference_length : 0.0;
}

static void write_details(FILE *file, const score *from)
{
    if (from->metric == NMT_METRIC_BLEU) {
        const nmt_bleu bleu = nmt_evaluation_bleu(from->text);
        for (size_t n = 0; n < NMT_BLEU_ORDER; n++) {
            fprintf(file, "%s%.1f", n > 0 ? "/" : " ", bleu.precision[n]);
        }
        fprintf(file, " (BP = %.3f ratio = %.3f hyp_len = %zu ref_len = %zu)", bleu.brevity_penalty,
                length_ratio(&bleu), bleu.hypothesis_length, bleu.reference_length);
    } else if (labels[from->metric].counted != NULL) {
        size_t right, total;
        nmt_evaluation_counts(from->text, &right, &total);
        fprintf(file, " (%zu of %zu %s)", right, total, labels[from->metric].counted);
    }
}

static void write_text(FILE *file, const score *from, const evaluate_options *chosen)
{
    fprintf(file, "%s = %.4f", labels[from->metric].title, nmt_evaluation_score(from->text));
    write_details(file, from);
    putc('\n', file);
    if (from->other != NULL) {
        const nmt_comparison *found = &from->comparison;
        fprintf(file,
                "compared with %.4f: difference %+.4f, 95 %% of samples from %+.4f to %+.4f, p = %.4f "
                "(samples = %llu seed = %llu)\n",
                nmt_evaluation_score(from->other), found->difference, found->low, found->high, found->p_value,
                (unsigned long long)chosen->samples, (unsigned long long)chosen->seed);
    }
    fputs(nmt_evaluation_signature(from->text), file);
    if (chosen->join != NULL) {
        fprintf(file, "|join:%s", chosen->join);
    }
    putc('\n', file);
}

static void write_json_counts(FILE *file, const char *name, const size_t *counts)
{
    fprintf(file, ", \"%s\": [", name);
    for (size_t n = 0; n < NMT_BLEU_ORDER; n++) {
        fprintf(file, "%s%zu", n > 0 ? ", " : "", counts[n]);
    }
    putc(']', file);
}

static void write_json_details(FILE *file, const score *from)
{
    if (from->metric == NMT_METRIC_BLEU) {
        const nmt_bleu bleu = nmt_evaluation_bleu(from->text);
        fputs(", \"precisions\": [", file);
        for (size_t n = 0; n < NMT_BLEU_ORDER; n++) {
            fprintf(file, "%s%.10g", n > 0 ? ", " : "", bleu.precision[n]);
        }
        putc(']', file);
        write_json_counts(file, "matches", bleu.matches);
        write_json_counts(file, "totals", bleu.totals);
        fprintf(file,
                ", \"brevity_penalty\": %.10g, \"ratio\": %.10g, \"hypothesis_length\": %zu, \"reference_length\": %zu",
                bleu.brevity_penalty, length_ratio(&bleu), bleu.hypothesis_length, bleu.reference_length);
    } else if (labels[from->metric].counted != NULL) {
        size_t right, total;
        nmt_evaluation_counts(from->text, &right, &total);
        fprintf(file, ", \"right\": %zu, \"total\": %zu", right, total);
    }
}

static void write_json(FILE *file, const score *from, const evaluate_options *chosen)
{
    fprintf(file, "{\"name\": \"%s\", \"score\": %.10g", labels[from->metric].title, nmt_evaluation_score(from->text));
    write_json_details(file, from);
    if (from->other != NULL) {
        const nmt_comparison *found = &from->comparison;
        fputs(", \"comparison\": {\"file\": ", file);
        json_text(file, command_input_name(chosen->compare));
        fprintf(file,
                ", \"score\": %.10g, \"difference\": %.10g, \"interval\": [%.10g, %.10g], \"p_value\": %.10g, "
                "\"samples\": %llu, \"seed\": %llu}",
                nmt_evaluation_score(from->other), found->difference, found->low, found->high, found->p_value,
                (unsigned long long)chosen->samples, (unsigned long long)chosen->seed);
    }
    if (chosen->join != NULL) {
        fputs(", \"join\": ", file);
        json_text(file, chosen->join);
    }
    fprintf(file, ", \"signature\": \"%s\"}", nmt_evaluation_signature(from->text));
}

/* One metric is an object, several are an array of them. */
static void write_scores(FILE *file, const evaluate_job *job)
{
    const evaluate_options *chosen = job->chosen;
    const bool array = chosen->json && chosen->metric_count > 1;
    for (size_t i = 0; i < chosen->metric_count; i++) {
        if (!chosen->json) {
            write_text(file, &job->scores[i], chosen);
            continue;
        }
        fputs(i > 0 ? ",\n" : array ? "[" : "", file);
        write_json(file, &job->scores[i], chosen);
    }
    fputs(array ? "]\n" : chosen->json ? "\n" : "", file);
}

static int evaluate(const evaluate_options *chosen)
{
    nmt_error error;
    nmt_writer *writer;
    evaluate_job job = {.chosen = chosen};
    nmt_status status = read_all(&job, &error);
    if (status == NMT_OK && chosen->join != NULL) {
        join_all(&job, chosen->join);
    }
    if (status == NMT_OK) {
        status = score_all(&job, &error);
    }
    if (status == NMT_OK) {
        status = nmt_writer_open(&writer, NULL, &error);
    }
    if (status == NMT_OK) {
        write_scores(nmt_writer_file(writer), &job);
        status = nmt_writer_commit(writer, &error);
    }
    for (size_t i = 0; i < chosen->metric_count; i++) {
        nmt_evaluation_free(job.scores[i].text);
        nmt_evaluation_free(job.scores[i].other);
    }
    references_free(&job.against);
    lines_free(&job.input);
    lines_free(&job.compare);
    return command_end("evaluate", status, &error);
}

int cmd_evaluate(int argc, char **argv)
{
    evaluate_options chosen = {.seed = no_seed};
    int status;
    if (parse(&chosen, argc, argv, &status)) {
        chosen.samples = chosen.samples > 0 ? chosen.samples : DEFAULT_SAMPLES;
        chosen.seed = chosen.seed != no_seed ? chosen.seed : DEFAULT_SEED;
        status = evaluate(&chosen);
    }
    text_list_free(&chosen.references);
    return status;
}
