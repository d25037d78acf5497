/*
 * A program that embeds a translator: loads a model, translates its arguments, and says for each word of the
 * translation which source word it read most.
 *
 *     translate MODEL SENTENCE...
 */
#include <nmt/nmt.h>
#include <stdio.h>
#include <stdlib.h>

static size_t most_read(const nmt_alignment *alignment, size_t target)
{
    const float *row = alignment->weights + target * alignment->source_count;
    size_t best = 0;
    for (size_t i = 1; i < alignment->source_count; i++) {
        if (row[i] > row[best]) {
            best = i;
        }
    }
    return best;
}

static void show(const nmt_translation *translation)
{
    const nmt_alignment *alignment = &translation->alignment;
    printf("%s\n", translation->text);
    for (size_t t = 0; t < alignment->target_count; t++) {
        printf("  %s <- %s\n", alignment->target[t], alignment->source[most_read(alignment, t)]);
    }
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: translate MODEL SENTENCE...\n");
        return 2;
    }
    const size_t sentences = (size_t)count - 2;
    nmt_error error;
    nmt_model *model;
    if (nmt_model_load(&model, arguments[1], &error) != NMT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    nmt_translation *translations = calloc(sentences, sizeof *translations);
    const nmt_translate_options options = {.alignment = true};
    if (translations == NULL || nmt_translate(model, (const char *const *)arguments + 2, sentences, &options,
                                              translations, &error) != NMT_OK) {
        fprintf(stderr, "%s\n", translations == NULL ? "out of memory" : error.message);
        free(translations);
        nmt_model_free(model);
        return 1;
    }
    for (size_t i = 0; i < sentences; i++) {
        show(&translations[i]);
        nmt_translation_clear(&translations[i]);
    }
    free(translations);
    nmt_model_free(model);
    return 0;
}
