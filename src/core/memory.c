#include "core/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LARGE = 4 << 20 }; /* bytes; two of x86-64's large pages, of which one is then whole wherever they begin */

static nmt_status out_of_memory(size_t count, size_t size, const char *what, nmt_error *error)
{
    return error_set(error, NMT_NO_MEMORY, "out of memory: %s needs %zu elements of %zu bytes", what, count, size);
}

nmt_status memory_new(void *out, size_t count, size_t size, const char *what, nmt_error *error)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        return out_of_memory(count, size, what, error);
    }
    memory_prefer_large_pages(memory, count * size);
    memcpy(out, &memory, sizeof memory);
    return NMT_OK;
}

void memory_prefer_large_pages(void *start, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes < LARGE) {
        return;
    }
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)start + bytes) / page * page;
    /* A wish: a system that does not know it serves the memory as well, only slower. */
    (void)madvise((char *)start + (first - (uintptr_t)start), end - first, MADV_HUGEPAGE);
#else
    (void)start;
    (void)bytes;
#endif
}

nmt_status memory_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *what, nmt_error *error)
{
    if (needed <= *capacity) {
        return NMT_OK;
    }
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < needed) {
        if (grown > SIZE_MAX / 2) {
            return out_of_memory(needed, size, what, error);
        }
        grown *= 2;
    }
    if (grown > SIZE_MAX / size) {
        return out_of_memory(needed, size, what, error);
    }
    void *old;
    memcpy(&old, array, sizeof old);
    void *memory = realloc(old, grown * size);
    if (memory == NULL) {
        return out_of_memory(grown, size, what, error);
    }
    memcpy(array, &memory, sizeof memory);
    *capacity = grown;
    return NMT_OK;
}

nmt_status memory_copy_text(char **out, const char *text, size_t length, const char *what, nmt_error *error)
{
    if (length == SIZE_MAX) {
        return out_of_memory(length, 1, what, error);
    }
    TRY(memory_new(out, length + 1, 1, what, error));
    memcpy(*out, text, length);
    return NMT_OK;
}

size_t memory_peak(void)
{
    /* getrusage also knows the peak of what the process was forked from; Linux accounts for the program alone. */
    static const char key[] = "VmHWM:";
    struct rusage usage = {0};
    char line[256];
    size_t kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && kilobytes == 0 && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kilobytes = strtoull(line + strlen(key), NULL, 10);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    if (kilobytes == 0) {
        getrusage(RUSAGE_SELF, &usage);
        kilobytes = (size_t)usage.ru_maxrss;
    }
    return kilobytes * 1024;
}
