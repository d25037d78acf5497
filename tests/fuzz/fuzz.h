/* For the fuzz targets: input as files, and checks that stop the run. A target is a function that libFuzzer calls. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The path of a file in memory that holds the bytes; there are four, `slot` says which. */
static inline const char *fuzz_file(int slot, const uint8_t *data, size_t size)
{
    static int files[4];
    static char paths[4][32];
    if (files[slot] == 0) {
        files[slot] = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(paths[slot], sizeof paths[slot], "/proc/self/fd/%d", files[slot]);
    }
    REQUIRE(pwrite(files[slot], data, size, 0) == (ssize_t)size);
    REQUIRE(ftruncate(files[slot], (off_t)size) == 0); /* behind writing, which so finds its pages */
    return paths[slot];
}

/* The part up to the next `mark`, which is used up; all that is left where there is none. */
typedef struct fuzz_part {
    const uint8_t *data;
    size_t size;
} fuzz_part;

static inline fuzz_part fuzz_take(fuzz_part *rest, uint8_t mark)
{
    const uint8_t *end = rest->size > 0 ? memchr(rest->data, mark, rest->size) : NULL;
    const fuzz_part part = {rest->data, end != NULL ? (size_t)(end - rest->data) : rest->size};
    const size_t used = part.size + (end != NULL);
    *rest = (fuzz_part){rest->data + used, rest->size - used};
    return part;
}

/* As text with a NUL; the caller's: free(). */
static inline char *fuzz_text(fuzz_part part)
{
    char *text = malloc(part.size + 1);
    REQUIRE(text != NULL);
    memcpy(text, part.size > 0 ? part.data : (const uint8_t *)"", part.size);
    text[part.size] = '\0';
    return text;
}

/*
 * A safetensors file. Where the input starts with '{', its header's length, which no mutation would get right, is put
 * in front: the header goes up to the first NUL and the numbers follow. Else the bytes are the file.
 */
static inline const char *fuzz_safetensors(int slot, const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] != '{') {
        return fuzz_file(slot, data, size);
    }
    fuzz_part rest = {data, size};
    const fuzz_part header = fuzz_take(&rest, 0);
    uint8_t *file = malloc(8 + size);
    REQUIRE(file != NULL);
    for (int i = 0; i < 8; i++) {
        file[i] = (uint8_t)((uint64_t)header.size >> 8 * i);
    }
    memcpy(file + 8, header.data, header.size);
    memcpy(file + 8 + header.size, rest.data, rest.size);
    const char *path = fuzz_file(slot, file, 8 + header.size + rest.size);
    free(file);
    return path;
}

#endif
