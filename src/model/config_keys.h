/*
 * The table of keys: where each stands in the file and in the struct, its type, default and range, and what it means.
 * Reading (config.c), printing, messages and the help text are loops over it, so they cannot disagree.
 */
#ifndef MODEL_CONFIG_KEYS_H
#define MODEL_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "model/config.h"

typedef enum key_type { KEY_BOOLEAN, KEY_INTEGER, KEY_NUMBER, KEY_TEXT, KEY_CHOICE } key_type;

typedef enum key_flag {
    KEY_NULLABLE = 1,      /* text that may be null; null is its default */
    KEY_FOR_TRAINING = 2,  /* required for training */
    KEY_OVER_MINIMUM = 4,  /* the minimum itself is out of range */
    KEY_BELOW_MAXIMUM = 8, /* the maximum itself is out of range */
    KEY_PATH = 16,         /* the text names a file or a directory */
    KEY_WAS_BOOLEAN = 32   /* a choice that was a boolean once: false and true are its first two */
} key_flag;

typedef struct choice {
    const char *name; /* NULL ends a list */
    int value;
} choice;

typedef struct config_key {
    const char *path; /* "training.batch_size" */
    key_type type;
    unsigned flags;
    size_t offset, size; /* of the field */
    double number;       /* default of a boolean, an integer, a number */
    double minimum, maximum;
    const char *text;      /* default of a text or a choice */
    const choice *choices; /* of a choice; or the texts that are allowed */
    const char *meaning;
} config_key;

extern const config_key config_keys[];
extern const size_t config_key_count;

/* The first level of the file, in the order of the table. */
typedef struct config_section {
    const char *name, *meaning;
} config_section;

extern const config_section config_sections[];
extern const size_t config_section_count;

/* Its section has this name, of `length` bytes. */
bool config_key_is_in(const config_key *key, const char *name, size_t length);

/* "batch_size" of "training.batch_size". */
const char *config_key_name(const char *path);

/* NULL: there is no such key. */
const config_key *config_key_find(const char *path);

/* ---- a key's field in the struct --------------------------------------------------------------------------------- */

void config_set_number(nmt_config *config, const config_key *key, double number);
double config_number(const nmt_config *config, const config_key *key);
bool *config_boolean(const nmt_config *config, const config_key *key);
char **config_text(const nmt_config *config, const config_key *key);

/* Keeps a copy of `text`, which may be NULL. */
nmt_status config_set_text(nmt_config *config, const config_key *key, const char *text, nmt_error *error);

void config_set_choice(nmt_config *config, const config_key *key, const char *name);
const char *config_choice(const nmt_config *config, const config_key *key);

#endif
