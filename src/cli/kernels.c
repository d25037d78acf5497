#include "cli/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"

static const char core_variable[] = "OPENBLAS_CORETYPE";
static const char history_variable[] = "NMT_BLAS_HISTORY";

static char **arguments;

void kernels_remember_arguments(char **argv)
{
    arguments = argv;
}

/* Returns only where it cannot. */
static void start_again(const nmt_blas_advice *advice)
{
    const int set = advice->core[0] != '\0' ? setenv(core_variable, advice->core, 1) : unsetenv(core_variable);
    if (set == 0 && setenv(history_variable, advice->history, 1) == 0) {
        execv("/proc/self/exe", arguments);
    }
}

int kernels_settle(const char *wish)
{
    nmt_blas_advice advice;
    nmt_blas_advise(&advice, wish);
    if (advice.action == NMT_BLAS_RESTART && arguments != NULL) {
        start_again(&advice);
        message(NULL, "cannot start again for other kernels of OpenBLAS: %s; to have them, set %s=%s", strerror(errno),
                core_variable, advice.core);
        return 0;
    }
    unsetenv(history_variable);
    if (advice.action == NMT_BLAS_REFUSE) {
        message(NULL, "option --blas-core: %s", advice.message);
        return EXIT_FAILURE;
    }
    if (advice.message[0] != '\0') {
        message(NULL, "%s", advice.message);
    }
    return 0;
}
