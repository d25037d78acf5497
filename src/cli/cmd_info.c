/* nmt info: what a model file holds; what the machine can do. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/options.h"

typedef struct info_options {
    const char *model;
    bool config, json, system;
    uint64_t threads;
} info_options;

/* What the table of options cannot say. */
static int check(const syntax *line, const info_options *chosen)
{
    if (chosen->system && (chosen->model != NULL || chosen->config)) {
        return options_misuse(line, "--system is about no model: it goes with --json and --threads alone");
    }
    if (!chosen->system && chosen->threads > 0) {
        return options_misuse(line, "--threads goes with --system alone");
    }
    if (!chosen->system && chosen->model == NULL) {
        return options_misuse(line, "option --model FILE is missing");
    }
    return chosen->config && chosen->json ? options_misuse(line, "--config and --json exclude each other") : 0;
}

static bool parse(info_options *chosen, int argc, char **argv, int *status)
{
    const option options[] = {
        {.name = "model",
         .kind = OPTION_TEXT,
         .value = &chosen->model,
         .argument = "FILE",
         .help = "the model (required without --system)"},
        {.name = "config",
         .kind = OPTION_FLAG,
         .value = &chosen->config,
         .help = "only the resolved configuration, as nmt train reads it"},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &chosen->json,
         .help = "everything as JSON, with the history of its training"},
        {.name = "system",
         .kind = OPTION_FLAG,
         .value = &chosen->system,
         .help = "what the processor and OpenBLAS can do here, measured;\ntakes a second or a few"},
        {.name = "threads",
         .kind = OPTION_COUNT,
         .value = &chosen->threads,
         .argument = "N",
         .most = 1024,
         .help = "of --system; default, and 0: one a processor"},
    };
    const syntax line = {
        .command = "info",
        .usage = "--model FILE [--config | --json]\n       nmt info --system [--threads N] [--json]",
        .summary =
            "Tells the version that wrote a model, the sizes of its vocabularies, and its tensors. Or what the\n"
            "machine can do: vectors and kernels, the rate of a float32 product of two matrices of 2048 x 2048,\n"
            "and of reading memory; medians of several.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (options_parse(&line, argc, argv, status)) {
        *status = check(&line, chosen);
        return *status == 0;
    }
    return false;
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

static void write_json(FILE *file, const nmt_model *model, const char *config)
{
    fputs("{\"version\": ", file);
    json_text(file, nmt_model_version(model));
    fprintf(file, ",\n\"source_vocabulary\": %zu,\n\"target_vocabulary\": %zu,\n\"parameters\": %zu,\n\"tensors\": [",
            nmt_model_source_vocabulary_size(model), nmt_model_target_vocabulary_size(model),
            nmt_model_parameter_count(model));
    for (size_t i = 0; i < nmt_model_tensor_count(model); i++) {
        const nmt_tensor_info tensor = nmt_model_tensor(model, i);
        char shape[64];
        format_shape(shape, sizeof shape, tensor);
        fprintf(file, "%s\n  {\"name\": ", i > 0 ? "," : "");
        json_text(file, tensor.name);
        fprintf(file, ", \"shape\": %s}", shape);
    }
    fprintf(file, "],\n\"config\": %s,\n\"history\": %s}\n", config, nmt_model_history(model));
}

static nmt_status write_model(const nmt_model *model, const info_options *chosen, nmt_error *error)
{
    char *config = nmt_config_json(nmt_model_config(model));
    nmt_writer *writer = NULL;
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

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static void write_system_text(FILE *file, const nmt_system *system, const nmt_system_speed *speed)
{
    fprintf(file, "architecture       %s\n", system->architecture);
    fprintf(file, "vectors            %s\n", system->vectors);
    fprintf(file, "processors         %zu\n", system->processors);
    fprintf(file, "threads            %zu\n", system->threads);
    fprintf(file, "BLAS               %s\n", system->blas);
    fprintf(file, "kernels            %s\n", system->blas_core);
    if (system->better_core != NULL) {
        fprintf(file, "better kernels     %s (--blas-core)\n", system->better_core);
    }
    fprintf(file, "float32 product    %.1f GFLOP/s\n", speed->product_gflops);
    fprintf(file, "reading memory     %.1f GB/s\n", speed->read_gigabytes);
}

static void write_system_json(FILE *file, const nmt_system *system, const nmt_system_speed *speed)
{
    fprintf(file, "{\"architecture\": \"%s\", \"vectors\": \"%s\", \"processors\": %zu, \"threads\": %zu, \"blas\": ",
            system->architecture, system->vectors, system->processors, system->threads);
    json_text(file, system->blas);
    fputs(", \"blas_core\": ", file);
    json_text(file, system->blas_core);
    fputs(", \"better_core\": ", file);
    if (system->better_core != NULL) {
        json_text(file, system->better_core);
    } else {
        fputs("null", file);
    }
    fprintf(file, ", \"product_gflops\": %.4g, \"read_gigabytes\": %.4g}\n", speed->product_gflops,
            speed->read_gigabytes);
}

static nmt_status write_system(const info_options *chosen, nmt_error *error)
{
    nmt_system system;
    nmt_system_speed speed;
    nmt_writer *writer;
    nmt_status status = command_threads(chosen->threads, error);
    if (status == NMT_OK) {
        status = nmt_system_measure(&speed, error);
    }
    if (status == NMT_OK) {
        status = nmt_writer_open(&writer, NULL, error);
    }
    if (status == NMT_OK) {
        nmt_system_report(&system);
        (chosen->json ? write_system_json : write_system_text)(nmt_writer_file(writer), &system, &speed);
        status = nmt_writer_commit(writer, error);
    }
    return status;
}

static nmt_status describe_model(const info_options *chosen, nmt_error *error)
{
    nmt_model *model = NULL;
    nmt_status status = nmt_model_load(&model, chosen->model, error);
    if (status == NMT_OK) {
        status = write_model(model, chosen, error);
    }
    nmt_model_free(model);
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
    return command_end("info", (chosen.system ? write_system : describe_model)(&chosen, &error), &error);
}
