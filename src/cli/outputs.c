#include "cli/outputs.h"

#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"

/* The path without symbolic links and dots, also of a file that is not there yet; NULL where its directory is not. The
 * caller's: free(). */
static char *resolve(const char *path)
{
    char *whole = realpath(path, NULL);
    char *for_directory = whole == NULL ? strdup(path) : NULL, *for_name = whole == NULL ? strdup(path) : NULL;
    if (for_directory != NULL && for_name != NULL) {
        char *directory = realpath(dirname(for_directory), NULL);
        const char *name = basename(for_name);
        const size_t size = directory != NULL ? strlen(directory) + strlen(name) + 2 : 0;
        whole = directory != NULL ? malloc(size) : NULL;
        if (whole != NULL) {
            snprintf(whole, size, "%s/%s", directory, name);
        }
        free(directory);
    }
    free(for_directory);
    free(for_name);
    return whole;
}

/* A device or a pipe takes what comes, from whomever. */
static bool is_device(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode);
}

static bool are_one_file(const char *a, const char *b)
{
    if (strcmp(a, b) == 0) {
        return !is_device(a);
    }
    char *first = resolve(a), *second = resolve(b);
    const bool same = first != NULL && second != NULL && strcmp(first, second) == 0 && !is_device(a);
    free(first);
    free(second);
    return same;
}

int outputs_check(const syntax *line, const output_file *outputs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            const char *path = command_path(outputs[i].path), *other = command_path(outputs[j].path);
            if (path == NULL && other == NULL) {
                return options_misuse(line, "%s and %s cannot both go to standard output", outputs[i].name,
                                      outputs[j].name);
            }
            if (path != NULL && other != NULL && are_one_file(path, other)) {
                return options_misuse(line, "%s and %s cannot both go to %s", outputs[i].name, outputs[j].name, path);
            }
        }
    }
    return 0;
}
