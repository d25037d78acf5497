/* nmt info: what a model file holds. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"

typedef struct info_options {
    const char *model;
    bool config, json;
} info_options;

static bool parse(info_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "model",
         .kind = OPTION_TEXT,
         .value = &chosen->model,
         .argument = "FILE",
         .required = true,
         .help = "the model (required)"},
        {.name = "config",
         .kind = OPTION_FLAG,
         .value = &chosen->config,
         .help = "only the resolved configuration, as nmt train reads it"},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &chosen->json,
         .help = "everything as JSON, with the history of its training"},
    };
    const syntax line = {
        .command = "info",
        .usage = "--model FILE [--config | --json]",
        .summary = "Tells the version that wrote a model, the sizes of its vocabularies, and its tensors.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!options_parse(&line, argc, argv, status)) {
        return false;
    }
    if (chosen->config && chosen->json) {
        *status = options_misuse(&line, "--config and --json exclude each other");
        return false;
    }
    return true;
}

/* "[512,256]" as safetensors writes a shape. */
static void format_shape(char *text, size_t capacity, nmt_tensor_info tensor)
{
    if (tensor.columns > 0) {
        snprintf(text, capacity, "[%zu,%zu]", tensor.rows, tensor.columns);
    } else {
        snprintf(text, capacity, "[%zu]", tensor.rows);
    }
}

static void write_text(FILE *file, const nmt_model *model, const char *config)
{
    (void)config;
    fprintf(file, "written by         nmt %s\n", nmt_model_version(model));
    fprintf(file, "source vocabulary  %zu\n", nmt_model_source_vocabulary_size(model));
    fprintf(file, "target vocabulary  %zu\n", nmt_model_target_vocabulary_size(model));
    fprintf(file, "parameters         %zu\n\n", nmt_model_parameter_count(model));
    fprintf(file, "%-44s %16s\n", "tensor", "shape");
    for (size_t i = 0; i < nmt_model_tensor_count(model); i++) {
        const nmt_tensor_info tensor = nmt_model_tensor(model, i);
        char shape[64];
        format_shape(shape, sizeof shape, tensor);
        fprintf(file, "%-44s %16s\n", tensor.name, shape);
    }
}

static void write_config(FILE *file, const nmt_model *model, const char *config)
{
    (void)model;
    fprintf(file, "%s\n", config);
}

/* A string read from a model file, as a JSON string. */
static void write_json_string(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < 0x20) {
            fprintf(file, "\\u%04x", byte);
        } else {
            fprintf(file, "%s%c", byte == '"' || byte == '\\' ? "\\" : "", byte);
        }
    }
    putc('"', file);
}

static void write_json(FILE *file, const nmt_model *model, const char *config)
{
    fputs("{\"version\": ", file);
    write_json_string(file, nmt_model_version(model));
    fprintf(file, ",\n\"source_vocabulary\": %zu,\n\"target_vocabulary\": %zu,\n\"parameters\": %zu,\n\"tensors\": [",
            nmt_model_source_vocabulary_size(model), nmt_model_target_vocabulary_size(model),
            nmt_model_parameter_count(model));
    for (size_t i = 0; i < nmt_model_tensor_count(model); i++) {
        const nmt_tensor_info tensor = nmt_model_tensor(model, i);
        char shape[64];
        format_shape(shape, sizeof shape, tensor);
        fprintf(file, "%s\n  {\"name\": ", i > 0 ? "," : "");
        write_json_string(file, tensor.name);
        fprintf(file, ", \"shape\": %s}", shape);
    }
    fprintf(file, "],\n\"config\": %s,\n\"history\": %s}\n", config, nmt_model_history(model));
}

static nmt_status write_model(const nmt_model *model, const info_options *chosen, nmt_error *error)
{
    char *config = nmt_config_json(nmt_model_config(model));
    nmt_writer *writer;
    nmt_status status = config != NULL ? nmt_writer_open(&writer, NULL, error) : command_no_memory(error);
    if (status == NMT_OK) {
        (chosen->json     ? write_json
         : chosen->config ? write_config
                          : write_text)(nmt_writer_file(writer), model, config);
        status = nmt_writer_commit(writer, error);
    }
    nmt_free(config);
    return status;
}

int cmd_info(int argc, char **argv)
{
    info_options chosen = {0};
    int status;
    if (!parse(&chosen, argc, argv, &status)) {
        return status;
    }
    nmt_error error;
    nmt_model *model = NULL;
    nmt_status outcome = nmt_model_load(&model, chosen.model, &error);
    if (outcome == NMT_OK) {
        outcome = write_model(model, &chosen, &error);
    }
    nmt_model_free(model);
    return command_end("info", outcome, &error);
}
