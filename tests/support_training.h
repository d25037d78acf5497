/* Training runs for tests: a small corpus and a small configuration in the test's directory, a run watched throughout.
 */
#ifndef SUPPORT_TRAINING_H
#define SUPPORT_TRAINING_H

#include <inttypes.h>
#include <nmt/nmt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/io.h"
#include "core/json.h"
#include "support_files.h"

enum { TRAIN_PAIRS = 10, TRAIN_SETTINGS = 16, TRAIN_UPDATES = 256 };

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* What a run leaves behind. */
static inline const char *run_path(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "run/%s", name);
    return support_path(path);
}

static inline void remove_run(void)
{
    static const char *const names[] = {"model.safetensors", "last.state", "log.jsonl", "curves.svg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unlink(run_path(names[i]));
    }
    rmdir(support_path("run"));
}

static inline int remove_run_after(void **state)
{
    (void)state;
    remove_run();
    return 0;
}

/*
 * Ten pairs of 1 to 4 source words, each word with one translation and the order turned round. Words have counts from 1
 * up.
 */
static inline void write_corpus(void)
{
    char source[1024] = "", target[1024] = "", word[16];
    for (size_t i = 0; i < TRAIN_PAIRS; i++) {
        const size_t length = 1 + i % 4;
        for (size_t t = 0; t < length; t++) {
            snprintf(word, sizeof word, "%ss%zu", t > 0 ? " " : "", (i * i + 3 * t) % 7);
            strcat(source, word);
            snprintf(word, sizeof word, "%st%zu", t > 0 ? " " : "", (i * i + 3 * (length - 1 - t)) % 7);
            strcat(target, word);
        }
        strcat(source, "\n");
        strcat(target, "\n");
    }
    support_write("train.src", source);
    support_write("train.tgt", target);
    support_write("valid.src", "s1 s4\ns0 s3 s6\ns5\n");
    support_write("valid.tgt", "t4 t1\nt6 t3 t0\nt5\n");
}

static inline const char *write_config(void)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{\"data\": {\"train_source\": \"%s\", \"train_target\": \"%s\", \"validation_source\": \"%s\", "
             "\"validation_target\": \"%s\"},"
             "\"model\": {\"source_embedding\": 5, \"target_embedding\": 4, \"encoder_hidden\": 3, "
             "\"decoder_hidden\": 6, \"attention_size\": 7},"
             "\"initialization\": {\"weights\": \"glorot\"},"
             "\"training\": {\"epochs\": 3, \"batch_size\": 3, \"pool\": 2, \"learning_rate\": 0.005, \"threads\": 1},"
             "\"output\": {\"directory\": \"%s\"}}",
             support_path("train.src"), support_path("train.tgt"), support_path("valid.src"), support_path("valid.tgt"),
             support_path("run"));
    return support_write("config.json", text);
}

/* For cmocka_run_group_tests. */
static inline int training_setup(void **state)
{
    if (support_setup(state) != 0) {
        return -1;
    }
    write_corpus();
    write_config();
    return 0;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

typedef struct training_run {
    uint64_t stop_after; /* updates of this call; 0: does not ask to stop */

    nmt_status status;
    nmt_error error;
    char log[16384]; /* its lines */
    size_t updates;  /* seen by this call */
    nmt_progress progress[TRAIN_UPDATES];
    file_bytes model; /* model.safetensors as the last question found it; end_run frees it */
    size_t models;    /* how often it had become another one */
} training_run;

static inline void on_log(void *context, const char *line)
{
    training_run *run = context;
    const size_t used = strlen(run->log);
    snprintf(run->log + used, sizeof run->log - used, "%s\n", line);
}

static inline void on_progress(void *context, const nmt_progress *progress)
{
    training_run *run = context;
    assert_true(run->updates < TRAIN_UPDATES);
    run->progress[run->updates++] = *progress;
}

static inline bool on_question(void *context)
{
    training_run *run = context;
    const file_bytes model = read_bytes(run_path("model.safetensors"));
    run->models += model.bytes != NULL && !same_bytes(model, run->model);
    free(run->model.bytes);
    run->model = model;
    return run->stop_after > 0 && run->updates == run->stop_after;
}

/* Trains as config.json and `settings` (up to a NULL) say, from the start (whatever is there) or going on. */
static inline void train(training_run *run, bool resume, const char *const *settings)
{
    const nmt_train_observer observer = {run, on_log, on_progress, on_question};
    nmt_config *config;
    size_t count = 0;
    while (settings[count] != NULL) {
        count++;
    }
    if (nmt_config_load(&config, support_path("config.json"), settings, count, &run->error) != NMT_OK) {
        fail_msg("%s", run->error.message);
    }
    const nmt_train_options options = {.resume = resume, .overwrite = !resume};
    run->status = nmt_train(config, &options, &observer, &run->error);
    nmt_config_free(config);
}

static inline void end_run(training_run *run)
{
    free(run->model.bytes);
    *run = (training_run){0};
}

static inline void assert_trained(const training_run *run)
{
    if (run->status != NMT_OK) {
        fail_msg("status %d: %s", run->status, run->error.message);
    }
}

#define SETTINGS(...) ((const char *const[TRAIN_SETTINGS]){__VA_ARGS__, NULL})

/* A run from an empty directory that goes well. */
static inline void train_anew(training_run *run, const char *const *settings)
{
    remove_run();
    *run = (training_run){0};
    train(run, false, settings);
    assert_trained(run);
}

/* A run that fails with `status`. */
static inline void assert_fails(const training_run *run, nmt_status status)
{
    if (run->status != status) {
        fail_msg("expected status %d, found %d: %s", status, run->status,
                 run->status != NMT_OK ? run->error.message : "no error");
    }
    assert_int_equal(run->error.status, status);
}

static inline void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("expected \"%s\" in:\n%s", part, text);
    }
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("expected no \"%s\" in:\n%s", part, text);
    }
}

/* ---- log.jsonl -------------------------------------------------------------------------------------------------- */

/* Its lines as an array, each of which must be JSON on its own; the caller's: json_free. */
static inline json *read_events(void)
{
    const file_bytes file = read_bytes(run_path("log.jsonl"));
    assert_non_null(file.bytes);
    assert_true(file.length == 0 || file.bytes[file.length - 1] == '\n');
    json *events = json_new_array();
    for (const char *line = file.bytes, *end; line < file.bytes + file.length; line = end + 1) {
        json *event;
        nmt_error error;
        end = strchr(line, '\n');
        if (json_parse(&event, line, (size_t)(end - line), "log.jsonl", &error) != NMT_OK) {
            fail_msg("%s", error.message);
        }
        assert_true(json_append(events, event));
    }
    free(file.bytes);
    return events;
}

static inline size_t count_events(void)
{
    json *events = read_events();
    const size_t count = json_count(events);
    json_free(events);
    return count;
}

/* A number of event `index`, from 0. */
static inline double event_number(size_t index, const char *key)
{
    json *events = read_events();
    const json *event = json_first(events);
    while (event != NULL && index-- > 0) {
        event = json_next(event);
    }
    const json *value = event != NULL ? json_get(event, key) : NULL;
    if (value == NULL || json_type_of(value) != JSON_NUMBER) {
        fail_msg("log.jsonl has no such number: %s", key);
    }
    const double number = json_number(value);
    json_free(events);
    return number;
}

#endif
