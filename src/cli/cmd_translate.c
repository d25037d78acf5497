/*
 * nmt translate: text in, its translation out, line by line. Lines are read into a window that is answered when it is
 * full or when the next line would have to be waited for, so that memory is bounded and a conversation is not held up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/diagnostics.h"
#include "cli/lines.h"
#include "cli/nbest.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/result.h"
#include "cli/scores.h"

enum { WINDOW_BATCHES = 16 };

typedef struct translate_options {
    text_list models;
    const char *input, *output, *alignment, *scores, *lexicon, *length_penalty, *join;
    size_t format, weights;
    bool no_eos, ban_unknown, replace_unknown;
    uint64_t batch_size, threads, beam, nbest, min_length, max_length_extra, no_repeat_ngram;
    double max_length_ratio, length_bonus, length_alpha;
    nmt_length_penalty penalty;
    diagnostics_options diagnostics;
} translate_options;

/* What translating holds on to. */
typedef struct translate_job {
    nmt_model *model;
    nmt_lexicon *lexicon;
    nmt_reader *reader;
    const char *input;
    result output, alignments, scores;
    diagnostics measures;
    nmt_translate_options options;
    line_list window;
    size_t window_lines, answered; /* lines before the window */
    bool list;                     /* --nbest: a list of translations is the output */
    size_t nbest;
    nmt_translation *translations; /* [window_lines, nbest] */
} translate_job;

static const size_t no_format = SIZE_MAX;

enum { WEIGHTS_FLOAT32, WEIGHTS_INT8 };
static const char *const weights_names[] = {"float32", "int8", NULL};

/* wu:ALPHA, average or none. */
static bool parse_penalty(translate_options *chosen)
{
    static const char wu[] = "wu:";
    const char *text = chosen->length_penalty;
    if (text == NULL || strcmp(text, "average") == 0) {
        chosen->penalty = NMT_LENGTH_AVERAGE;
        return true;
    }
    if (strcmp(text, "none") == 0) {
        chosen->penalty = NMT_LENGTH_NONE;
        return true;
    }
    chosen->penalty = NMT_LENGTH_WU;
    return strncmp(text, wu, strlen(wu)) == 0 && options_number(&chosen->length_alpha, text + strlen(wu)) &&
           chosen->length_alpha >= 0 && chosen->length_alpha <= 10;
}

static int check_search(const syntax *line, translate_options *chosen)
{
    if (!parse_penalty(chosen)) {
        return options_misuse(
            line, "option --length-penalty: expected average, none or wu:ALPHA with ALPHA from 0 to 10, found '%s'",
            chosen->length_penalty);
    }
    if (!(chosen->length_bonus >= -100 && chosen->length_bonus <= 100)) {
        return options_misuse(line, "option --length-bonus: expected a number from -100 to 100, found %g",
                              chosen->length_bonus);
    }
    if (chosen->nbest > chosen->beam) {
        return options_misuse(line, "option --nbest: expected at most the --beam, %llu, found %llu",
                              (unsigned long long)chosen->beam, (unsigned long long)chosen->nbest);
    }
    if (chosen->lexicon != NULL && !chosen->replace_unknown) {
        return options_misuse(line, "option --lexicon says what to write with --replace-unk, which is missing");
    }
    if (chosen->lexicon != NULL && command_path(chosen->lexicon) == NULL && command_path(chosen->input) == NULL) {
        return options_misuse(line, "--lexicon and --input cannot both be standard input");
    }
    return 0;
}

static int check_outputs(const syntax *line, const translate_options *chosen)
{
    const output_file besides[] = {
        {"--alignment", chosen->alignment}, {"--scores", chosen->scores}, {"--diagnostics", chosen->diagnostics.path}};
    output_file outputs[4] = {{"the translations", chosen->output}};
    size_t count = 1;
    for (size_t i = 0; i < sizeof besides / sizeof besides[0]; i++) {
        if (besides[i].path != NULL) {
            outputs[count++] = besides[i];
        }
    }
    return outputs_check(line, outputs, count);
}

/* What the table of options cannot say. */
static int check(const syntax *line, translate_options *chosen)
{
    const bool reports = chosen->alignment != NULL;
    if (!reports && (chosen->format != no_format || chosen->no_eos)) {
        return options_misuse(line, "option --%s says how to write --alignment, which is missing",
                              chosen->no_eos ? "no-eos" : "format");
    }
    if (chosen->diagnostics.path != NULL && chosen->nbest > 0) {
        return options_misuse(line, "--diagnostics measures one translation a line, --nbest writes a list of them");
    }
    int misuse = check_outputs(line, chosen);
    misuse = misuse != 0 ? misuse : diagnostics_check(line, &chosen->diagnostics);
    return misuse != 0 ? misuse : check_search(line, chosen);
}

static bool parse(translate_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        MODELS_OPTION(&chosen->models),
        {.name = "input",
         .kind = OPTION_TEXT,
         .value = &chosen->input,
         .argument = "FILE",
         .help = "text to translate; default: standard input"},
        {.name = "output",
         .kind = OPTION_TEXT,
         .value = &chosen->output,
         .argument = "FILE",
         .help = "translations; default: standard output"},
        {.name = "beam",
         .kind = OPTION_COUNT,
         .value = &chosen->beam,
         .argument = "N",
         .least = 1,
         .most = NMT_BEAM_LIMIT,
         .help = "hypotheses extended together; default: 1, greedy search"},
        {.name = "length-penalty",
         .kind = OPTION_TEXT,
         .value = &chosen->length_penalty,
         .argument = "KIND",
         .help = "what divides the log probability of T tokens (</s> among them):\n"
                 "average: T; wu:ALPHA: ((5 + T) / 6)^ALPHA; none; default: average"},
        {.name = "length-bonus",
         .kind = OPTION_SIGNED,
         .value = &chosen->length_bonus,
         .argument = "X",
         .help = "added to that, X a token; default: 0"},
        {.name = "min-length",
         .kind = OPTION_COUNT,
         .value = &chosen->min_length,
         .argument = "N",
         .most = 1000000,
         .help = "target tokens at the least, where any but </s> may follow; a limit below cuts first"},
        {.name = "max-length-ratio",
         .kind = OPTION_NUMBER,
         .value = &chosen->max_length_ratio,
         .argument = "X",
         .help = "at most X target tokens a source token, and --max-length-extra; default: 3, or\n"
                 "three times what the training text has, where that is more"},
        {.name = "max-length-extra",
         .kind = OPTION_COUNT,
         .value = &chosen->max_length_extra,
         .argument = "N",
         .least = 1,
         .most = 1000000,
         .help = "target tokens added to that; default: 10, or room for --min-length"},
        {.name = "no-repeat-ngram",
         .kind = OPTION_COUNT,
         .value = &chosen->no_repeat_ngram,
         .argument = "N",
         .help = "no N target tokens come twice in a translation; default, and 0: any may"},
        {.name = "ban-unk", .kind = OPTION_FLAG, .value = &chosen->ban_unknown, .help = "never choose <unk>"},
        {.name = "replace-unk",
         .kind = OPTION_FLAG,
         .value = &chosen->replace_unknown,
         .help = "write for <unk> the source word with the most attention, as it stands in the text;\n"
                 "its piece or character where the model segments both sides"},
        {.name = "lexicon",
         .kind = OPTION_TEXT,
         .value = &chosen->lexicon,
         .argument = "FILE",
         .help = "with --replace-unk, lines of such a word, a tab and what to write for it"},
        {.name = "join",
         .kind = OPTION_TEXT,
         .value = &chosen->join,
         .argument = "MARKER",
         .help = "for text that was segmented elsewhere: a token that ends in MARKER (@@)\ngoes on in the next one"},
        {.name = "nbest",
         .kind = OPTION_COUNT,
         .value = &chosen->nbest,
         .argument = "N",
         .least = 1,
         .most = NMT_BEAM_LIMIT,
         .help = "the N best translations of each line, up to the beam, as a list (below)"},
        {.name = "scores",
         .kind = OPTION_TEXT,
         .value = &chosen->scores,
         .argument = "FILE",
         .help = "the log probability of each translation as well (below)"},
        {.name = "alignment",
         .kind = OPTION_TEXT,
         .value = &chosen->alignment,
         .argument = "FILE",
         .help = "the attention weights of each translation as well"},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &chosen->format,
         .argument = "FORMAT",
         .choices = alignment_format_names,
         .help = "of --alignment: " ALIGNMENT_FORMATS_HELP},
        {.name = "no-eos",
         .kind = OPTION_FLAG,
         .value = &chosen->no_eos,
         .help = "leave the row and the column of </s> out of --alignment"},
        DIAGNOSTICS_OPTIONS(&chosen->diagnostics),
        {.name = "weights",
         .kind = OPTION_CHOICE,
         .value = &chosen->weights,
         .argument = "FORMAT",
         .choices = weights_names,
         .help = "float32, for several sentences or hypotheses at a time with the matrices twice in\n"
                 "memory; or int8: they are read in 8 bits with a scale a row, which is\n"
                 "faster for few sentences at a time and differs slightly; default: float32"},
        BATCH_SIZE_OPTION(&chosen->batch_size, "sentences decoded together"),
        THREADS_OPTION(&chosen->threads),
    };
    const syntax line = {
        .command = "translate",
        .usage = "--model FILE [OPTIONS]",
        .summary =
            "Translates text: one line out for each line in, an empty one for an empty one, in the same order. When\n"
            "the input pauses, what was read so far is answered at once. A model of pieces or characters "
            "reads and writes\n"
            "words all the same; lengths, scores and alignments are of its tokens.",
        .notes =
            "--nbest writes a line a translation, the best first, in the form of Moses:\n"
            "  SENTENCE ||| TEXT ||| logp= LOG_PROBABILITY tokens= T ||| SCORE\n"
            "Sentences count from 0. The score is what the search ranks by: the log probability by its length\n"
            "penalty, and the bonus. A translation cut off at its length limit comes behind those that ended.\n\n"
            "An empty line is answered without the model: 0 tokens, log probability 0.\n\n"
            "--scores writes a line a translation: its log probability (natural logarithm), a tab, and those of its\n"
            "tokens with spaces between them, </s> last unless it was cut off.\n\n"
            "--alignment writes what stands for a sentence below for each translation of --nbest.\n\n" ALIGNMENT_NOTES
            "\n\n" DIAGNOSTICS_NOTES
            "\n\nA FILE of - is standard input or output. Other output files appear whole or not at all.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (options_parse(&line, argc, argv, status)) {
        *status = check(&line, chosen);
    } else {
        return false;
    }
    return *status == 0;
}

/* Reads lines while there is room and they come without waiting. A fault may come behind lines that stand. */
static nmt_status fill_window(translate_job *job, bool *ended, nmt_error *error)
{
    do {
        const char *line;
        size_t length;
        nmt_status status = lines_wait(job->reader, job->input, error);
        if (status == NMT_OK) {
            status = nmt_reader_next(job->reader, &line, &length, error);
        }
        if (status == NMT_OK && line == NULL) {
            *ended = true;
            return NMT_OK;
        }
        if (status == NMT_OK) {
            status = lines_add(&job->window, line, length, error);
        }
        if (status != NMT_OK) {
            return status;
        }
    } while (lines_have_room(&job->window, job->window_lines) && !nmt_reader_would_wait(job->reader));
    return NMT_OK;
}

static nmt_status write_translation(translate_job *job, size_t sentence, const nmt_translation *translation,
                                    nmt_error *error)
{
    FILE *file = nmt_writer_file(job->output.writer);
    if (job->list) {
        nbest_write(file, sentence, translation);
    } else {
        fputs(translation->text, file);
        putc('\n', file);
    }
    if (job->scores.writer != NULL) {
        scores_write_tokens(nmt_writer_file(job->scores.writer), translation->log_probability,
                            translation->token_log_probabilities, translation->token_count);
    }
    const nmt_status status = diagnostics_add(&job->measures, &translation->alignment, error);
    return status == NMT_OK && job->alignments.alignments != NULL
               ? nmt_alignment_writer_add(job->alignments.alignments, &translation->alignment, error)
               : status;
}

static nmt_status flush_all(translate_job *job, nmt_error *error)
{
    nmt_status status = result_flush(&job->output, error);
    if (status == NMT_OK) {
        status = result_flush(&job->scores, error);
    }
    if (status == NMT_OK) {
        status = result_flush(&job->measures.output, error);
    }
    return status == NMT_OK ? result_flush(&job->alignments, error) : status;
}

/* Translates and writes the first `count` lines of the window. `*good`, where it fails: the lines before the one at
 * fault, or SIZE_MAX. */
static nmt_status answer_lines(translate_job *job, size_t count, size_t *good, nmt_error *error)
{
    nmt_status status = nmt_translate(job->model, (const char *const *)job->window.lines, count, &job->options,
                                      job->translations, error);
    if (status != NMT_OK) {
        *good = command_add_place(error, job->input, NULL, nmt_reader_line(job->reader) - job->window.count + 1);
        return status;
    }
    for (size_t i = 0; i < count * job->nbest; i++) {
        if (status == NMT_OK && job->translations[i].text != NULL) {
            status = write_translation(job, job->answered + i / job->nbest, &job->translations[i], error);
        }
        nmt_translation_clear(&job->translations[i]);
    }
    job->answered += count;
    *good = SIZE_MAX; /* a fault of writing is none of the text */
    return status == NMT_OK ? flush_all(job, error) : status;
}

/* Answers the window and empties it. A line that cannot be read is told after those before it are answered. */
static nmt_status answer_window(translate_job *job, nmt_error *error)
{
    size_t good;
    nmt_status status = answer_lines(job, job->window.count, &good, error);
    if (status == NMT_INVALID && good != SIZE_MAX && good > 0) {
        nmt_error earlier;
        const nmt_status before = answer_lines(job, good, &good, &earlier);
        if (before != NMT_OK) {
            *error = earlier;
            status = before;
        }
    }
    lines_clear(&job->window);
    return status;
}

/* A fault in the text is told after the lines before it are answered. */
static nmt_status translate_all(translate_job *job, nmt_error *error)
{
    bool ended = false;
    while (!ended) {
        const nmt_status read_status = fill_window(job, &ended, error);
        if (job->window.count > 0 && read_status != NMT_INTERRUPTED) {
            nmt_error answer_error;
            const nmt_status status = answer_window(job, &answer_error);
            if (status != NMT_OK) {
                *error = answer_error;
                return status;
            }
        }
        if (read_status != NMT_OK) {
            return read_status;
        }
    }
    return NMT_OK;
}

static nmt_status open_job(translate_job *job, const translate_options *chosen, nmt_error *error)
{
    nmt_status status = command_threads(chosen->threads, error);
    if (status == NMT_OK) {
        status = nmt_model_load_ensemble(&job->model, chosen->models.items, chosen->models.count, error);
    }
    if (status == NMT_OK && chosen->weights == WEIGHTS_INT8) {
        status = nmt_model_quantize(job->model, error);
    }
    if (status == NMT_OK && chosen->lexicon != NULL) {
        status = nmt_lexicon_load(&job->lexicon, command_path(chosen->lexicon), error);
    }
    if (status == NMT_OK) {
        status = nmt_reader_open(&job->reader, job->input, error);
    }
    if (status == NMT_OK) {
        status = result_open(&job->output, command_path(chosen->output), error);
    }
    if (status == NMT_OK && chosen->scores != NULL) {
        status = result_open(&job->scores, command_path(chosen->scores), error);
    }
    if (status == NMT_OK) {
        status = diagnostics_open(&job->measures, &chosen->diagnostics, error);
    }
    if (status == NMT_OK && chosen->alignment != NULL) {
        status = result_open_alignments(&job->alignments, command_path(chosen->alignment),
                                        chosen->format != no_format ? chosen->format : NMT_ALIGNMENT_LONG,
                                        !chosen->no_eos, error);
    }
    return status;
}

static nmt_translate_options options_from(const translate_options *chosen, const nmt_lexicon *lexicon)
{
    return (nmt_translate_options){.batch_size = chosen->batch_size,
                                   .max_length_ratio = chosen->max_length_ratio,
                                   .max_length_extra = chosen->max_length_extra,
                                   .min_length = chosen->min_length,
                                   .beam = chosen->beam,
                                   .nbest = chosen->nbest,
                                   .length_penalty = chosen->penalty,
                                   .length_alpha = chosen->length_alpha,
                                   .length_bonus = chosen->length_bonus,
                                   .no_repeat_ngram = chosen->no_repeat_ngram,
                                   .ban_unknown = chosen->ban_unknown,
                                   .replace_unknown = chosen->replace_unknown,
                                   .lexicon = lexicon,
                                   .join = chosen->join,
                                   .alignment = chosen->alignment != NULL || chosen->diagnostics.path != NULL};
}

static int translate(const translate_options *chosen)
{
    nmt_error error;
    translate_job job = {.input = command_path(chosen->input),
                         .window_lines = WINDOW_BATCHES * chosen->batch_size,
                         .list = chosen->nbest > 0,
                         .nbest = chosen->nbest > 0 ? chosen->nbest : 1};
    nmt_status status = open_job(&job, chosen, &error);
    if (status == NMT_OK) {
        job.options = options_from(chosen, job.lexicon);
        job.translations = calloc(job.window_lines * job.nbest, sizeof *job.translations);
        status = job.translations != NULL ? translate_all(&job, &error) : command_no_memory(&error);
    }
    status = result_close(&job.alignments, status, &error);
    status = diagnostics_close(&job.measures, status, &error);
    status = result_close(&job.scores, status, &error);
    status = result_close(&job.output, status, &error);
    free(job.translations);
    lines_free(&job.window);
    nmt_reader_close(job.reader);
    nmt_lexicon_free(job.lexicon);
    nmt_model_free(job.model);
    return command_end("translate", status, &error);
}

int cmd_translate(int argc, char **argv)
{
    translate_options chosen = {
        .format = no_format, .batch_size = 64, .beam = 1, .diagnostics = DIAGNOSTICS_NO_OPTIONS};
    int status;
    if (parse(&chosen, argc, argv, &status)) {
        status = translate(&chosen);
    }
    text_list_free(&chosen.models);
    return status;
}
