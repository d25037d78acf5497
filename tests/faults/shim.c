/*
 * Makes the system fail, for a program that is loaded with it (LD_PRELOAD):
 *
 *   NMT_FAULT=CALL:N:WHAT   the N-th CALL fails (0: none does)
 *   NMT_FAULT_COUNT=FILE    writes how many there were of each CALL, at exit, and the peak of memory in kB
 *
 * CALL: open, close (of files that are written), write, fsync, rename, truncate, alloc (of memory). Standard streams
 * are left alone. WHAT is the number of an error; "short": writes half, and the next write finds the disk full, as does
 * every one behind a write that failed; "kill": the process is killed there, behind half of a write; "hang": waits for
 * ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALL_OPEN, CALL_WRITE, CALL_FSYNC, CALL_RENAME, CALL_CLOSE, CALL_TRUNCATE, CALL_ALLOC, CALLS };
static const char *const names[CALLS] = {"open", "write", "fsync", "rename", "close", "truncate", "alloc"};

enum { FILES = 1024 };
enum { WHAT_KILL = -1, WHAT_SHORT = -2, WHAT_HANG = -3 };

static long counts[CALLS];
static int faulty = -1, what;
static long at;
static bool ready, full; /* a disk that is full stays so */

__attribute__((constructor)) static void read_orders(void)
{
    const char *text = getenv("NMT_FAULT");
    char call[16] = "", kind[16] = "";
    if (text != NULL && sscanf(text, "%15[^:]:%ld:%15s", call, &at, kind) == 3) {
        for (int i = 0; i < CALLS; i++) {
            faulty = strcmp(call, names[i]) == 0 ? i : faulty;
        }
        what = strcmp(kind, "kill") == 0    ? WHAT_KILL
               : strcmp(kind, "short") == 0 ? WHAT_SHORT
               : strcmp(kind, "hang") == 0  ? WHAT_HANG
                                            : atoi(kind);
    }
    ready = true;
}

/* Since the program was started; the system's account of a process that has ended also knows what it was forked from.
 */
static long peak(void)
{
    char text[4096];
    const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY);
    const ssize_t length = file >= 0 ? syscall(SYS_read, file, text, sizeof text - 1) : 0;
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "VmHWM:");
    return line != NULL ? atol(line + strlen("VmHWM:")) : -1;
}

__attribute__((destructor)) static void tell_counts(void)
{
    const char *path = getenv("NMT_FAULT_COUNT");
    const int file = path != NULL ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    for (int i = 0; i < CALLS && file >= 0; i++) {
        dprintf(file, "%s %ld\n", names[i], counts[i]);
    }
    dprintf(file, "peak %ld\n", peak());
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Counts a call; whether it is the one to fail, with errno set. */
static bool fails(int call)
{
    if (!ready || ++counts[call] != at || call != faulty) {
        return false;
    }
    if (what == WHAT_KILL) {
        raise(SIGKILL);
    }
    if (what == WHAT_HANG) {
        sigset_t none;
        sigemptyset(&none);
        for (;;) {
            sigsuspend(&none); /* a handler that returns does not end it */
        }
    }
    errno = what == WHAT_SHORT ? ENOSPC : what;
    return true;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static bool writes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY;
}

static bool written[FILES]; /* by descriptor */

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (writes(flags) && fails(CALL_OPEN)) {
        return -1;
    }
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (file >= 0 && file < FILES) {
        written[file] = writes(flags);
    }
    return file;
}

int close(int file)
{
    const bool failed = file > STDERR_FILENO && file < FILES && written[file] && fails(CALL_CLOSE);
    const int cause = errno;
    const int closed = (int)syscall(SYS_close, file); /* as the system does: closed it is, whatever it says */
    errno = failed ? cause : errno;
    return failed ? -1 : closed;
}

int fsync(int file)
{
    return fails(CALL_FSYNC) ? -1 : (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))next("rename");
    return fails(CALL_RENAME) ? -1 : real(from, to);
}

int ftruncate(int file, off_t length)
{
    return fails(CALL_TRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

int truncate(const char *path, off_t length)
{
    return fails(CALL_TRUNCATE) ? -1 : (int)syscall(SYS_truncate, path, length);
}

static bool leave_alone(int file)
{
    return file <= STDERR_FILENO;
}

ssize_t write(int file, const void *bytes, size_t size)
{
    if (leave_alone(file)) {
        return syscall(SYS_write, file, bytes, size);
    }
    const bool halved =
        (what == WHAT_KILL || what == WHAT_SHORT) && faulty == CALL_WRITE && counts[CALL_WRITE] + 1 == at;
    const ssize_t half = halved && size > 1 ? syscall(SYS_write, file, bytes, size / 2) : 0;
    full = fails(CALL_WRITE) || full;
    if (half > 0) {
        return half; /* the next one fails */
    }
    if (full) {
        errno = what > 0 ? what : ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset)
{
    full = fails(CALL_WRITE) || full;
    return full ? -1 : syscall(SYS_pwrite64, file, bytes, size, offset);
}

/* ---- memory: what the program and the libraries it hands data to ask for ------------------------------------------
 */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum { RANGES = 16 };
static struct range {
    uintptr_t begin, end;
} ranges[RANGES];
static int range_count;

static int note_range(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    const bool ours = info->dlpi_name[0] == '\0' || strstr(info->dlpi_name, "cjson") != NULL ||
                      strstr(info->dlpi_name, "utf8proc") != NULL;
    for (int i = 0; ours && i < info->dlpi_phnum && range_count < RANGES; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
            ranges[range_count++] = (struct range){begin, begin + part->p_memsz};
        }
    }
    return 0;
}

/* `caller` is in the program, cJSON or utf8proc. */
static bool memory_fails(const void *caller)
{
    if (!ready) {
        return false;
    }
    if (range_count == 0) {
        dl_iterate_phdr(note_range, NULL);
    }
    for (int i = 0; i < range_count; i++) {
        if ((uintptr_t)caller >= ranges[i].begin && (uintptr_t)caller < ranges[i].end) {
            return fails(CALL_ALLOC);
        }
    }
    return false;
}

void *malloc(size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = memory_fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
    return *out != NULL ? 0 : ENOMEM;
}
