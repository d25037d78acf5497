#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/command.h"

static volatile sig_atomic_t caught;
static volatile sig_atomic_t pipe_closed;

static void note_closed_pipe(int number)
{
    (void)number;
    pipe_closed = 1;
}

static void note_signal(int number)
{
    if (caught != 0) {
        _exit(EXIT_SIGNAL + number);
    }
    caught = number;
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void signals_note_closed_pipe(void)
{
    handle(SIGPIPE, note_closed_pipe, SA_RESTART);
}

bool signals_pipe_closed(void)
{
    return pipe_closed != 0;
}

void signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            handle(numbers[i], note_signal, 0);
        }
    }
}

int signals_caught(void)
{
    return caught;
}
