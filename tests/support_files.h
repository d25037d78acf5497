/* Files for tests: each test program works in a directory of its own, which it removes at its end. */
#ifndef SUPPORT_FILES_H
#define SUPPORT_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/io.h"

static char support_directory[256];

/* For cmocka_run_group_tests: makes the directory, and removes it with the files in it. */
static inline int support_setup(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(support_directory, sizeof support_directory, "%s/nmt-test-XXXXXX", parent != NULL ? parent : "/tmp");
    return mkdtemp(support_directory) != NULL ? 0 : -1;
}

/* Path of `name` in the directory; of the last eight that were asked for. */
static inline const char *support_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", support_directory, name);
    return path;
}

static inline int support_teardown(void **state)
{
    (void)state;
    DIR *directory = opendir(support_directory);
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove(support_path(entry->d_name));
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return rmdir(support_directory);
}

/* Files in the directory. */
static inline size_t support_count(void)
{
    size_t count = 0;
    DIR *directory = opendir(support_directory);
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count;
}

/* Writes `length` bytes to `name`; returns its path. */
static inline const char *support_write_bytes(const char *name, const char *bytes, size_t length)
{
    const char *path = support_path(name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return path;
}

static inline const char *support_write(const char *name, const char *text)
{
    return support_write_bytes(name, text, strlen(text));
}

typedef struct file_bytes {
    char *bytes; /* NULL: the file could not be read */
    size_t length;
} file_bytes;

/* The caller's: free(bytes). */
static inline file_bytes read_bytes(const char *path)
{
    file_bytes read = {NULL, 0};
    nmt_error error;
    if (io_read_file(&read.bytes, &read.length, path, (size_t)1 << 24, &error) != NMT_OK) {
        read.bytes = NULL;
    }
    return read;
}

static inline bool same_bytes(file_bytes a, file_bytes b)
{
    return a.bytes != NULL && b.bytes != NULL && a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

#endif
