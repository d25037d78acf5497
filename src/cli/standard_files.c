#include "cli/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void standard_files_fill(void)
{
    /* The other way round than they are used, but for messages. open() gives the lowest number that is free. */
    static const int modes[] = {[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) == -1 && errno == EBADF && open("/dev/null", modes[file]) != file) {
            _exit(1); /* and nobody can be told */
        }
    }
}
