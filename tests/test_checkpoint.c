#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io.h"
#include "model/checkpoint.h"

/* Under these sanitizers memory is not measured: theirs is many times that of the program. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHADOW_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOW_MEMORY true
#endif
#endif
#ifndef SHADOW_MEMORY
#define SHADOW_MEMORY false
#endif

static char directory[] = "/tmp/nmt-checkpoint-XXXXXX";
static char script[4096]; /* tests/check_safetensors.py */

static const char *const source_list[] = {"<unk>", "<s>", "</s>", "a", "\"quoted\"", "\xC3\xA9\\"};
static const char *const target_list[] = {"<unk>", "<s>", "</s>", "x", "\xE4\xB8\xAD"};
static const char config_text[] =
    "{\"data\": {\"lowercase\": true}, \"model\": {\"source_embedding\": 3, \"target_embedding\": 4, "
    "\"encoder_hidden\": "
    "5, \"decoder_hidden\": 6, \"attention_size\": 7, \"readout\": \"maxout\", \"readout_size\": 2}}";

static int enter(void **state)
{
    (void)state;
    if (getcwd(script, sizeof script - 32) == NULL) {
        return -1;
    }
    strcat(script, "/check_safetensors.py");
    return mkdtemp(directory) != NULL && chdir(directory) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink("good");
    unlink("bad");
    unlink("state");
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

/* ---- a model to save --------------------------------------------------------------------------------------------- */

static nmt_model *make_model(void)
{
    nmt_error error = {0};
    json *object;
    nmt_config *config;
    vocabulary *source, *target;
    nmt_model *model = NULL;
    assert_int_equal(json_parse(&object, config_text, strlen(config_text), "x", &error), NMT_OK);
    assert_int_equal(config_from_json(&config, object, "x", &error), NMT_OK);
    json_free(object);
    assert_int_equal(vocabulary_from_words(&source, source_list, 6, "x", &error), NMT_OK);
    assert_int_equal(vocabulary_from_words(&target, target_list, 5, "x", &error), NMT_OK);
    assert_int_equal(model_create(&model, config, source, target, &error), NMT_OK);
    assert_true(model->parameters.count >= 3);
    for (size_t i = 0; i < model->parameters.size; i++) {
        model->block[i] = (real)(float)sin((double)i + 1);
    }
    /* The ends of the range, a subnormal number, a negative zero, and 1 + an ulp. */
    const float special[] = {FLT_MAX, -FLT_MAX, 1e-45f, -0.0f, 1 + FLT_EPSILON};
    for (size_t i = 0; i < 5; i++) {
        model->block[i] = special[i];
    }
    free(model->history);
    model->history = strdup("[{\"epoch\":1,\"loss\":2.5}]");
    return model;
}

static void save_good(void)
{
    nmt_error error = {0};
    nmt_model *model = make_model();
    if (checkpoint_save_model(model, model->block, "good", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    nmt_model_free(model);
}

static bool script_accepts(const char *path)
{
    char command[4300];
    snprintf(command, sizeof command, "python3 '%s' %s >/dev/null 2>&1", script, path);
    return system(command) == 0;
}

static void a_model_reads_back_bit_by_bit(void **state)
{
    (void)state;
    nmt_error error = {0};
    nmt_model *model = make_model(), *loaded = NULL;
    save_good();
    if (nmt_model_load(&loaded, "good", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(loaded->parameters.size, model->parameters.size);
    assert_memory_equal(loaded->block, model->block, model->parameters.size * sizeof *model->block);
    assert_int_equal(nmt_model_source_vocabulary_size(loaded), 6);
    assert_int_equal(nmt_model_target_vocabulary_size(loaded), 5);
    for (int32_t i = 0; i < 6; i++) {
        assert_string_equal(vocabulary_word(loaded->source_words, i), source_list[i]);
    }
    assert_string_equal(vocabulary_word(loaded->target_words, 4), target_list[4]);
    assert_string_equal(nmt_model_history(loaded), "[{\"epoch\":1,\"loss\":2.5}]");
    assert_string_equal(nmt_model_version(loaded), NMT_VERSION);
    char *before = nmt_config_json(nmt_model_config(model)), *after = nmt_config_json(nmt_model_config(loaded));
    assert_string_equal(after, before);
    assert_true(nmt_model_config(loaded)->data.lowercase);
    assert_int_equal(nmt_model_tensor_count(loaded), model->parameters.count);
    assert_int_equal(nmt_model_parameter_count(loaded), model->parameters.size);
    const nmt_tensor_info info = nmt_model_tensor(loaded, 1);
    assert_string_equal(info.name, model->parameters.tensors[1].name);
    assert_int_equal(info.rows, model->parameters.tensors[1].rows);
    assert_int_equal(info.columns, model->parameters.tensors[1].columns);
    nmt_free(before);
    nmt_free(after);
    nmt_model_free(model);
    nmt_model_free(loaded);
}

/* The block given is what is written, not the model's own: the trainer saves an older one so. */
static void the_given_block_is_written(void **state)
{
    (void)state;
    nmt_model *model = make_model(), *loaded = NULL;
    real *block = calloc(model->parameters.size, sizeof *block);
    block[model->parameters.size - 1] = (real)0.5;
    assert_int_equal(checkpoint_save_model(model, block, "good", NULL), NMT_OK);
    assert_int_equal(nmt_model_load(&loaded, "good", NULL), NMT_OK);
    assert_memory_equal(loaded->block, block, model->parameters.size * sizeof *block);
    free(block);
    nmt_model_free(model);
    nmt_model_free(loaded);
}

static void the_format_is_that_of_safetensors(void **state)
{
    (void)state;
    save_good();
    if (system("python3 -c '' >/dev/null 2>&1") != 0) {
        skip();
    }
    assert_true(script_accepts("good"));
    assert_int_equal(truncate("good", 2000), 0);
    assert_false(script_accepts("good"));
}

/* ---- hostile files ----------------------------------------------------------------------------------------------- */

/* The good file taken apart, to be put together wrongly. */
typedef struct parts {
    char *file;
    size_t size;
    json *header;
    char *data;
    size_t data_size;
} parts;

static parts take_apart(const char *path)
{
    parts of = {0};
    assert_int_equal(io_read_file(&of.file, &of.size, path, 1 << 24, NULL), NMT_OK);
    uint64_t length;
    memcpy(&length, of.file, sizeof length);
    assert_int_equal(length % 8, 0);
    assert_int_equal(json_parse(&of.header, of.file + 8, length, path, NULL), NMT_OK);
    of.data = of.file + 8 + length;
    of.data_size = of.size - 8 - length;
    return of;
}

static void parts_free(parts *of)
{
    free(of->file);
    json_free(of->header);
}

static void write_bytes(const char *path, uint64_t length, const char *header, const char *data, size_t data_size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(&length, 1, sizeof length, file);
    fwrite(header, 1, strlen(header), file);
    fwrite(data, 1, data_size, file);
    assert_int_equal(fclose(file), 0);
}

static void put_together(const parts *of)
{
    char *header = json_print(of->header, false);
    write_bytes("bad", strlen(header), header, of->data, of->data_size);
    free(header);
}

static void assert_refused_as(nmt_status status, const char *message)
{
    nmt_error error = {0};
    nmt_model *model = (nmt_model *)1;
    assert_int_equal(nmt_model_load(&model, "bad", &error), status);
    assert_string_equal(error.message, message);
    assert_null(model);
}

/* Sets header[name][key] to the value that `text` is. */
static void edit(parts *of, const char *name, const char *key, const char *text)
{
    json *value, *entry = json_copy(json_get(of->header, name));
    assert_int_equal(json_parse(&value, text, strlen(text), "test", NULL), NMT_OK);
    assert_true(json_add(entry, key, value));
    assert_true(json_add(of->header, name, entry));
}

/* Without the member `name` at the first level. */
static void leave_out(parts *of, const char *name)
{
    json *kept = json_new_object();
    for (const json *each = json_first(of->header); each != NULL; each = json_next(each)) {
        if (strcmp(json_key(each), name) != 0) {
            assert_true(json_add(kept, json_key(each), json_copy(each)));
        }
    }
    json_free(of->header);
    of->header = kept;
}

static const parameter_table *good_table(void)
{
    static parameter_table table;
    nmt_model *model = make_model();
    table = model->parameters;
    nmt_model_free(model);
    return &table;
}

/* The message begins with what all of this kind have, ends with `format`. */
__attribute__((format(printf, 2, 3))) static void assert_tensor_refused(const parts *of, const char *format, ...)
{
    char message[NMT_ERROR_CAPACITY];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    put_together(of);
    assert_refused_as(NMT_INVALID, message);
}

static void headers_that_lie_are_refused(void **state)
{
    (void)state;
    save_good();
    parts of = take_apart("good");
    char *header = json_print(of.header, false), message[256];
    const size_t room = strlen(header) + of.data_size;
    const uint64_t lengths[] = {room + 1, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_bytes("bad", lengths[i], header, of.data, of.data_size);
        snprintf(message, sizeof message,
                 "bad: expected a safetensors header of at most %zu bytes, found a length of %llu", room,
                 (unsigned long long)lengths[i]);
        assert_refused_as(NMT_INVALID, message);
    }
    write_bytes("bad", 0, header, of.data, of.data_size);
    assert_refused_as(NMT_INVALID, "bad: expected a safetensors header that starts with {, found nothing");
    write_bytes("bad", strlen(header) - 1, header, of.data, of.data_size);
    nmt_error error = {0};
    nmt_model *model;
    assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
    assert_non_null(strstr(error.message, "bad (header):1:"));
    write_bytes("bad", 4, "[{}]", "", 0);
    assert_refused_as(NMT_INVALID, "bad: expected a safetensors header that starts with {, found \"[\"");
    write_bytes("bad", 2, "{}", "", 0);
    assert_refused_as(NMT_INVALID, "bad: __metadata__: expected an object, found nothing");
    free(header);
    parts_free(&of);
}

static void a_header_over_the_bound_of_the_format_is_refused(void **state)
{
    (void)state;
    write_bytes("bad", 100000001, "{", "", 0);
    assert_int_equal(truncate("bad", 200000000), 0); /* a hole: takes no room */
    assert_refused_as(NMT_INVALID,
                      "bad: expected a safetensors header of at most 100000000 bytes, found a length of 100000001");
}

static void truncated_files_are_refused(void **state)
{
    (void)state;
    save_good();
    parts of = take_apart("good");
    for (size_t size = 0; size < of.size; size += size < 64 || size + 64 > of.size ? 1 : 61) {
        FILE *file = fopen("bad", "wb");
        fwrite(of.file, 1, size, file);
        assert_int_equal(fclose(file), 0);
        nmt_model *model = (nmt_model *)1;
        nmt_error error = {0};
        assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
        assert_memory_equal(error.message, "bad", 3);
        assert_null(model);
    }
    char message[256];
    const size_t whole = of.data_size;
    of.data_size -= 1;
    snprintf(message, sizeof message,
             "bad: expected %zu bytes of data, as the header says, found %zu: the file is cut short", whole,
             of.data_size);
    put_together(&of);
    assert_refused_as(NMT_INVALID, message);
    of.data = memcpy(calloc(whole + 4, 1), of.data, whole);
    of.data_size = whole + 4;
    snprintf(message, sizeof message,
             "bad: expected %zu bytes of data, as the header says, found %zu: something is appended", whole,
             of.data_size);
    put_together(&of);
    assert_refused_as(NMT_INVALID, message);
    free(of.data);
    parts_free(&of);
    FILE *file = fopen("bad", "wb");
    fwrite("1234567", 1, 7, file);
    assert_int_equal(fclose(file), 0);
    assert_refused_as(NMT_INVALID, "bad: expected a safetensors file, found 7 bytes in all");
}

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    save_good();
    const tensor *first = &good_table()->tensors[0];
    const char *name = first->name;
    assert_true(first->columns > 0);
    parts of = take_apart("good");
    edit(&of, name, "dtype", "\"F16\"");
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected dtype \"F32\", found \"F16\"", name);
    edit(&of, name, "dtype", "32");
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected dtype \"F32\", found 32", name);
    edit(&of, name, "dtype", "\"F32\"");
    static const char *const shapes[] = {"[1]", "[]", "[1,1,1]", "[-1,2]", "[1.5,2]", "{\"a\":1}", "[1e+300,2]", "7"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        edit(&of, name, "shape", shapes[i]);
        assert_tensor_refused(&of, "bad: tensor \"%s\": expected shape [%zu,%zu], found %s", name, first->rows,
                              first->columns, shapes[i]);
    }
    char shape[64];
    snprintf(shape, sizeof shape, "[%zu,%zu]", first->columns, first->rows); /* transposed */
    edit(&of, name, "shape", shape);
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected shape [%zu,%zu], found %s", name, first->rows,
                          first->columns, shape);
    snprintf(shape, sizeof shape, "[%zu,%zu]", first->rows, first->columns + 1);
    edit(&of, name, "shape", shape);
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected shape [%zu,%zu], found %s", name, first->rows,
                          first->columns, shape);
    parts_free(&of);

    of = take_apart("good");
    edit(&of, name, "more", "1");
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected dtype, shape and data_offsets, found other keys as well",
                          name);
    assert_true(json_add(of.header, name, json_new_number(1)));
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected an object in the header, found a number", name);
    leave_out(&of, name);
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected an object in the header, found nothing", name);
    assert_true(json_add(of.header, "extra\n", json_copy(json_get(of.header, good_table()->tensors[1].name))));
    assert_tensor_refused(&of, "bad: tensor \"extra\\x0A\": expected no tensor of this name, found one");
    parts_free(&of);
}

static void duplicate_tensors_are_refused(void **state)
{
    (void)state;
    save_good();
    parts of = take_apart("good");
    const char *name = good_table()->tensors[0].name;
    char *entry = json_print(json_get(of.header, name), false), *header = json_print(of.header, false);
    const size_t room = strlen(header) + strlen(entry) + 128;
    char *twice = calloc(room, 1), message[256];
    assert_non_null(twice);
    snprintf(twice, room, "%.*s,\"%s\":%s}", (int)strlen(header) - 1, header, name, entry);
    write_bytes("bad", strlen(twice), twice, of.data, of.data_size);
    snprintf(message, sizeof message, ": expected each key once, found \"%.63s\" again; it stands on line 1 already",
             name);
    nmt_error error = {0};
    nmt_model *model;
    assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
    assert_memory_equal(error.message, "bad (header):1:", 15);
    assert_string_equal(strstr(error.message, ": expected"), message);
    free(entry);
    free(header);
    free(twice);
    parts_free(&of);
}

static void wrong_offsets_are_refused(void **state)
{
    (void)state;
    save_good();
    const parameter_table *table = good_table();
    const tensor *first = &table->tensors[0], *second = &table->tensors[1];
    const size_t bytes = 4 * tensor_size(first), more = 4 * tensor_size(second);
    parts of = take_apart("good");
    static const char *const wrong[] = {"[0,1]", "[8,4]", "[0]", "[-4,0]", "[0,18446744073709551615]", "null"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        edit(&of, first->name, "data_offsets", wrong[i]);
        put_together(&of);
        nmt_error error = {0};
        nmt_model *model;
        char message[128];
        assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
        snprintf(message, sizeof message, "bad: tensor \"%.63s\": expected data_offsets of %zu bytes, found ",
                 first->name, bytes);
        assert_memory_equal(error.message, message, strlen(message));
    }
    parts_free(&of);

    char offsets[64];
    of = take_apart("good"); /* the second on the end of the first */
    snprintf(offsets, sizeof offsets, "[%zu,%zu]", bytes - 4, bytes - 4 + more);
    edit(&of, second->name, "data_offsets", offsets);
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected to start at byte %zu of the data, found %zu: an overlap",
                          second->name, bytes, bytes - 4);
    parts_free(&of);

    of = take_apart("good"); /* the first moved up */
    snprintf(offsets, sizeof offsets, "[4,%zu]", bytes + 4);
    edit(&of, first->name, "data_offsets", offsets);
    assert_tensor_refused(&of, "bad: tensor \"%s\": expected to start at byte 0 of the data, found 4: a gap",
                          first->name);
    parts_free(&of);
}

/* Offsets, not the order of the header, say where a tensor is. */
static void tensors_in_another_order_are_read(void **state)
{
    (void)state;
    save_good();
    const parameter_table *table = good_table();
    const tensor *first = &table->tensors[0], *second = &table->tensors[1];
    const size_t a = 4 * tensor_size(first), b = 4 * tensor_size(second);
    parts of = take_apart("good");
    char offsets[64], *data = malloc(a + b);
    snprintf(offsets, sizeof offsets, "[%zu,%zu]", b, b + a);
    edit(&of, first->name, "data_offsets", offsets);
    snprintf(offsets, sizeof offsets, "[0,%zu]", b);
    edit(&of, second->name, "data_offsets", offsets);
    memcpy(data, of.data + a, b);
    memcpy(data + b, of.data, a);
    memcpy(of.data, data, a + b);
    put_together(&of);
    nmt_model *model = make_model(), *loaded = NULL;
    assert_int_equal(nmt_model_load(&loaded, "bad", NULL), NMT_OK);
    assert_memory_equal(loaded->block, model->block, model->parameters.size * sizeof *model->block);
    nmt_model_free(model);
    nmt_model_free(loaded);
    free(data);
    parts_free(&of);
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    save_good();
    const parameter_table *table = good_table();
    const tensor *last = &table->tensors[table->count - 1];
    const float values[] = {NAN, INFINITY, -INFINITY};
    static const char *const names[] = {"NaN", "infinity", "infinity"};
    parts of = take_apart("good");
    char message[256];
    for (size_t i = 0; i < 3; i++) {
        memcpy(of.data + of.data_size - 4, &values[i], 4);
        put_together(&of);
        snprintf(message, sizeof message, "bad: tensor \"%s\": expected finite numbers, found %s at element %zu",
                 last->name, names[i], tensor_size(last) - 1);
        assert_refused_as(NMT_NOT_FINITE, message);
    }
    parts_free(&of);

    /* Nor are they written; the file that was there stays. */
    nmt_model *model = make_model(), *loaded = NULL;
    nmt_error error = {0};
    model->block[last->offset] = (real)NAN;
    assert_int_equal(checkpoint_save_model(model, model->block, "good", &error), NMT_NOT_FINITE);
    snprintf(message, sizeof message, "good: tensor \"%s\": expected finite numbers, found NaN at element 0",
             last->name);
    assert_string_equal(error.message, message);
    assert_int_equal(nmt_model_load(&loaded, "good", &error), NMT_OK);
    nmt_model_free(loaded);
    nmt_model_free(model);
}

static void wrong_metadata_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text, *message;
    } cases[] = {
        {"format", "\"pt\"", "bad: format: expected \"nmt\", found \"pt\""},
        {"format", "\"nmt-state\"", "bad: format: expected \"nmt\", found \"nmt-state\""},
        {"format", "1", "bad: format: expected \"nmt\", found nothing"},
        {"version", "null", "bad: __metadata__.version: expected a string, found null"},
        {"config", "{}", "bad: __metadata__.config: expected a string, found an object"},
        {"config", "\"[]\"", "bad: __metadata__.config: expected an object, found an array"},
        {"config", "\"{\\n  1}\"", "bad (config):2:3: expected a key in double quotes, found \"1\""},
        {"config", "\"{\\\"model\\\":{\\\"attention_size\\\":0}}\"",
         "bad (config): model.attention_size: expected an integer from 1 to 65536, found 0"},
        {"history", "\"{}\"", "bad: __metadata__.history: expected an array, found an object"},
        {"length_ratio", "2", "bad: __metadata__.length_ratio: expected a string, found a number"},
        {"length_ratio", "\"true\"", "bad: __metadata__.length_ratio: expected a number, found a boolean"},
        {"length_ratio", "\"0\"", "bad (length_ratio): expected a number over 0 and at most 1000, found 0"},
        {"length_ratio", "\"1001\"", "bad (length_ratio): expected a number over 0 and at most 1000, found 1001"},
        {"source_vocabulary", "\"[\\\"<unk>\\\",\\\"<s>\\\",\\\"</s>\\\",5]\"",
         "bad (source_vocabulary):1:23: expected a string, found \"5\""},
        {"source_vocabulary", "\"{}\"", "bad (source_vocabulary):1:1: expected an array of strings, found \"{\""},
    };
    save_good();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parts of = take_apart("good");
        edit(&of, "__metadata__", cases[i].key, cases[i].text);
        put_together(&of);
        assert_refused_as(NMT_INVALID, cases[i].message);
        parts_free(&of);
    }
    static const char *const lists[] = {"\"[]\"", "\"[\\\"<unk>\\\",\\\"<s>\\\",\\\"</s>\\\",\\\"a\\\",\\\"a\\\"]\""};
    for (size_t i = 0; i < 2; i++) { /* no special entries; a word twice */
        parts of = take_apart("good");
        nmt_error error = {0};
        nmt_model *model;
        edit(&of, "__metadata__", "target_vocabulary", lists[i]);
        put_together(&of);
        assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
        assert_memory_equal(error.message, "bad (target_vocabulary)", 23);
        parts_free(&of);
    }
}

/* A vocabulary of another size does not fit the tensors. */
static void a_vocabulary_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    save_good();
    parts of = take_apart("good");
    nmt_error error = {0};
    nmt_model *model;
    edit(&of, "__metadata__", "source_vocabulary", "\"[\\\"<unk>\\\",\\\"<s>\\\",\\\"</s>\\\",\\\"a\\\"]\"");
    put_together(&of);
    assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
    assert_non_null(strstr(error.message, ": expected shape [4,"));
    assert_non_null(strstr(error.message, ", found [6,"));
    parts_free(&of);
}

static size_t peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* Sets a key of the configuration in the metadata. */
static void edit_config(parts *of, const char *section, const char *key, json *value)
{
    json *config, *metadata = json_copy(json_get(of->header, "__metadata__"));
    const char *text = json_string(json_get(metadata, "config"));
    assert_int_equal(json_parse(&config, text, strlen(text), "test", NULL), NMT_OK);
    json *changed = json_copy(json_get(config, section));
    assert_true(json_add(changed, key, value));
    assert_true(json_add(config, section, changed));
    char *printed = json_print(config, false);
    assert_true(json_add(metadata, "config", json_new_string(printed)));
    assert_true(json_add(of->header, "__metadata__", metadata));
    free(printed);
    json_free(config);
}

/* Nothing of the size that a header speaks of is asked for before the file is known to be as large. */
static void a_small_file_cannot_ask_for_much_memory(void **state)
{
    (void)state;
    static const char *const keys[] = {"source_embedding", "target_embedding", "encoder_hidden", "decoder_hidden",
                                       "attention_size"};
    save_good();
    parts of = take_apart("good");
    struct rlimit before, limit;
    nmt_error error = {0};
    nmt_model *model;
    for (size_t i = 0; i < 5; i++) {
        edit_config(&of, "model", keys[i], json_new_number(65536));
    }
    put_together(&of);
    parts_free(&of);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    if (!SHADOW_MEMORY) {
        limit.rlim_cur = (rlim_t)8 << 30; /* its 500 GB would not fit, and would be a failure of another kind */
        assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    }
    assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
    assert_non_null(strstr(error.message, ": expected shape ["));
    setrlimit(RLIMIT_AS, &before);
}

/* Ones cost two bytes of text each, and a hundred as values; words are kept as text. */
static void a_long_header_is_bounded(void **state)
{
    (void)state;
    enum { ONES = 12000000, WORDS = 3000000 };
    static char text[8 + 3 * ONES];
    nmt_error error = {0};
    nmt_model *model;
    size_t length = (size_t)sprintf(text, "{\"a\":[1");
    for (size_t i = 0; i < ONES; i++, length += 2) {
        memcpy(text + length, ",1", 2);
    }
    memcpy(text + length, "]}", 3);
    write_bytes("bad", length + 2, text, "", 0);
    const size_t peak = peak_memory();
    assert_refused_as(NMT_INVALID, "bad (header):1:2097155: expected at most 1048576 values, found more");
    save_good();
    parts of = take_apart("good");
    length = (size_t)sprintf(text, "[\"<unk>\",\"<s>\",\"</s>\"");
    for (size_t i = 0; i < WORDS; i++) {
        length += (size_t)sprintf(text + length, ",\"%zx\"", i);
    }
    memcpy(text + length, "]", 2);
    json *metadata = json_copy(json_get(of.header, "__metadata__"));
    assert_true(json_add(metadata, "source_vocabulary", json_new_string(text)));
    assert_true(json_add(of.header, "__metadata__", metadata));
    put_together(&of);
    parts_free(&of);
    assert_int_equal(nmt_model_load(&model, "bad", &error), NMT_INVALID);
    assert_non_null(strstr(error.message, ": expected shape [3000003,"));
    assert_true(SHADOW_MEMORY || peak_memory() - peak < 12 * length);
}

/* Paths of the text that a model was trained on are in it, and stay text; a pipe is not waited for. */
static void names_in_a_model_are_not_paths(void **state)
{
    (void)state;
    save_good();
    parts of = take_apart("good");
    nmt_error error = {0};
    nmt_model *model;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    edit_config(&of, "data", "train_source", json_new_string("pipe"));
    edit_config(&of, "data", "train_target", json_new_string("pipe"));
    edit_config(&of, "vocabulary", "source_file", json_new_string("pipe"));
    edit_config(&of, "vocabulary", "target_file", json_new_string("pipe"));
    edit_config(&of, "output", "directory", json_new_string("made"));
    put_together(&of);
    if (nmt_model_load(&model, "bad", &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    nmt_model_free(model);
    assert_int_equal(access("made", F_OK), -1);
    assert_int_equal(nmt_model_load(&model, "pipe", &error), NMT_INVALID);
    assert_string_equal(error.message, "pipe: expected a regular file");
    assert_int_equal(unlink("pipe"), 0);
    parts_free(&of);
}

static void files_that_cannot_be_read_or_written_are_named(void **state)
{
    (void)state;
    nmt_error error = {0};
    nmt_model *model = make_model(), *loaded;
    assert_int_equal(nmt_model_load(&loaded, "none", &error), NMT_IO);
    assert_memory_equal(error.message, "none: ", 6);
    assert_int_equal(nmt_model_load(&loaded, ".", &error), NMT_INVALID);
    assert_string_equal(error.message, ".: expected a regular file");
    assert_int_equal(checkpoint_save_model(model, model->block, "no/such", &error), NMT_IO);
    assert_memory_equal(error.message, "no/such: ", 9);
    nmt_model_free(model);
}

/* ---- the state of a run ------------------------------------------------------------------------------------------ */

enum { BLOCK = 5000 };

static void assert_state_refused(const char *path, const state_block *blocks, size_t count, size_t size,
                                 const char *message)
{
    nmt_error error = {0};
    json *fields = (json *)1;
    assert_int_equal(checkpoint_load_state(path, &fields, blocks, count, size, &error), NMT_INVALID);
    assert_string_equal(error.message, message);
    assert_null(fields);
}

static void a_state_reads_back(void **state)
{
    (void)state;
    static real written[2][BLOCK], found[2][BLOCK];
    const state_block to_write[] = {{.name = "parameters", .values = written[0]},
                                    {.name = "optimizer.m", .values = written[1]}};
    const state_block to_read[] = {{.name = "optimizer.m", .values = found[1]},
                                   {.name = "parameters", .values = found[0]}};
    for (size_t i = 0; i < BLOCK; i++) {
        written[0][i] = (real)(float)cos((double)i);
        written[1][i] = (real)(float)exp(-(double)i / 50);
    }
    json *fields = json_new_object(), *read = NULL;
    nmt_error error = {0};
    assert_true(json_add(fields, "seed", json_new_string("18446744073709551615")));
    assert_true(json_add(fields, "best", json_new_number(0.1 + 0.2)));
    assert_int_equal(checkpoint_save_state("state", fields, to_write, 2, BLOCK, &error), NMT_OK);
    if (checkpoint_load_state("state", &read, to_read, 2, BLOCK, &error) != NMT_OK) {
        fail_msg("%s", error.message);
    }
    assert_memory_equal(found, written, sizeof written);
    assert_string_equal(json_string(json_get(read, "seed")), "18446744073709551615");
    assert_true(json_number(json_get(read, "best")) == 0.1 + 0.2);
    json_free(read);
    json_free(fields);

    assert_state_refused("state", to_read, 2, BLOCK - 1,
                         "state: tensor \"optimizer.m\": expected shape [4999], found [5000]");
    assert_state_refused("state", to_read, 1, BLOCK,
                         "state: tensor \"parameters\": expected no tensor of this name, found one");
    const state_block another[] = {{.name = "optimizer.m", .values = found[0]},
                                   {.name = "parameters", .values = found[1]},
                                   {.name = "optimizer.v", .values = found[0]}};
    assert_state_refused("state", another, 3, BLOCK,
                         "state: tensor \"optimizer.v\": expected an object in the header, found nothing");
    save_good();
    assert_state_refused("good", to_read, 2, BLOCK, "good: format: expected \"nmt-state\", found \"nmt\"");
    if (system("python3 -c '' >/dev/null 2>&1") == 0) {
        assert_true(script_accepts("state"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_reads_back_bit_by_bit),
        cmocka_unit_test(the_given_block_is_written),
        cmocka_unit_test(the_format_is_that_of_safetensors),
        cmocka_unit_test(headers_that_lie_are_refused),
        cmocka_unit_test(a_header_over_the_bound_of_the_format_is_refused),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(duplicate_tensors_are_refused),
        cmocka_unit_test(wrong_offsets_are_refused),
        cmocka_unit_test(tensors_in_another_order_are_read),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(wrong_metadata_is_refused),
        cmocka_unit_test(a_vocabulary_that_does_not_fit_is_refused),
        cmocka_unit_test(a_small_file_cannot_ask_for_much_memory),
        cmocka_unit_test(a_long_header_is_bounded),
        cmocka_unit_test(names_in_a_model_are_not_paths),
        cmocka_unit_test(files_that_cannot_be_read_or_written_are_named),
        cmocka_unit_test(a_state_reads_back),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
