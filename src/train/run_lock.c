#include "train/run_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io.h"
#include "core/quote.h"

enum { OWNER_CAPACITY = 160, HOST_CAPACITY = 65, ATTEMPTS = 100 };

/* Who holds the lock, as its file says: "1234 machine\n". */
typedef struct owner {
    long process; /* 0: not known */
    char host[HOST_CAPACITY];
} owner;

static owner this_process(void)
{
    owner self = {.process = (long)getpid()};
    if (gethostname(self.host, sizeof self.host - 1) != 0 || self.host[0] == '\0') {
        snprintf(self.host, sizeof self.host, "localhost");
    }
    return self;
}

static owner read_owner(int file)
{
    char text[OWNER_CAPACITY + 1] = "";
    owner found = {0};
    char *end = text;
    if (pread(file, text, OWNER_CAPACITY, 0) <= 0) {
        return found;
    }
    const long process = strtol(text, &end, 10); /* at its ends where the number is too large */
    const size_t host = strcspn(end, "\n");
    if (process > 0 && process < LONG_MAX && *end == ' ' && host > 1 && host <= HOST_CAPACITY) {
        found.process = process;
        memcpy(found.host, end + 1, host - 1);
    }
    return found;
}

static nmt_status write_owner(const run_lock *lock, nmt_error *error)
{
    const owner self = this_process();
    char text[OWNER_CAPACITY];
    const int length = snprintf(text, sizeof text, "%ld %s\n", self.process, self.host);
    errno = ENOSPC; /* what a short write means */
    if (ftruncate(lock->file, 0) != 0 || pwrite(lock->file, text, (size_t)length, 0) != length) {
        return io_failure(error, lock->path, "cannot be written", errno);
    }
    return NMT_OK;
}

static nmt_status in_use(const run_lock *lock, const char *directory, nmt_error *error)
{
    const owner holder = read_owner(lock->file);
    path_quotation where;
    quotation host;
    quote_path(&where, directory);
    if (holder.process == 0) {
        return error_set(error, NMT_INVALID, "%s: in use by another run", where.text);
    }
    return error_set(error, NMT_INVALID, "%s: in use by another run, process %ld on %s", where.text, holder.process,
                     quote(&host, holder.host, strlen(holder.host)));
}

/* A holder that leaves removes the file, perhaps between our opening and locking it: then this lock keeps nobody away.
 */
static bool is_current(const run_lock *lock)
{
    struct stat opened, named;
    return fstat(lock->file, &opened) == 0 && stat(lock->path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static bool has_no_locks(int cause)
{
    return cause == ENOLCK || cause == ENOSYS || cause == EOPNOTSUPP || cause == EINVAL;
}

static nmt_status open_and_lock(run_lock *lock, const char *directory, nmt_error *error)
{
    lock->file = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock->file < 0) {
        return io_failure(error, lock->path, "cannot be opened", errno);
    }
    lock->open = true;
    if (flock(lock->file, LOCK_EX | LOCK_NB) == 0) {
        return NMT_OK;
    }
    if (errno == EWOULDBLOCK) {
        return in_use(lock, directory, error);
    }
    lock->unsupported = has_no_locks(errno);
    return lock->unsupported ? NMT_OK : io_failure(error, lock->path, "cannot be locked", errno);
}

/* Removes what the dead process had begun to write: the writer's temporary names carry its number. */
static void clean_up(run_lock *lock, const char *directory)
{
    char prefix[40], *path;
    const int length = snprintf(prefix, sizeof prefix, ".nmt-%ld-", lock->dead);
    DIR *list = opendir(directory);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        if (strncmp(entry->d_name, prefix, (size_t)length) == 0 &&
            io_join(&path, directory, entry->d_name, NULL) == NMT_OK) {
            lock->removed += unlink(path) == 0;
            free(path);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
}

/* The file of a holder that went without removing it still names that holder. */
static void take_over(run_lock *lock, const char *directory)
{
    const owner before = read_owner(lock->file), self = this_process();
    if (before.process != 0 && before.process != self.process && strcmp(before.host, self.host) == 0) {
        lock->dead = before.process;
        clean_up(lock, directory);
    }
}

static nmt_status take(run_lock *lock, const char *directory, nmt_error *error)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        TRY(open_and_lock(lock, directory, error));
        if (lock->unsupported) {
            return NMT_OK;
        }
        if (is_current(lock)) {
            lock->held = true;
            take_over(lock, directory);
            return write_owner(lock, error);
        }
        close(lock->file);
        lock->open = false;
    }
    return error_set(error, NMT_IO, "%s: cannot be locked: it comes and goes",
                     quote_path(&(path_quotation){{0}}, lock->path));
}

nmt_status run_lock_take(run_lock *lock, const char *directory, nmt_error *error)
{
    *lock = (run_lock){0};
    TRY(io_join(&lock->path, directory, "run.lock", error));
    const nmt_status status = take(lock, directory, error);
    if (status != NMT_OK) {
        run_lock_release(lock);
    }
    return status;
}

void run_lock_release(run_lock *lock)
{
    if (lock->held) { /* first the name, then the lock: who opened it meanwhile finds another file under the name, or
                         none */
        unlink(lock->path);
    }
    if (lock->open) {
        close(lock->file);
    }
    free(lock->path);
    *lock = (run_lock){0};
}
