#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double redraw_seconds = 0.2;
static const double line_seconds = 30;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *state, bool quiet)
{
    const bool terminal = isatty(STDERR_FILENO) == 1;
    /* A terminal shows the first update at once, a file waits for its turn. */
    *state = (progress){.quiet = quiet, .terminal = terminal, .last = terminal ? 0 : seconds_now()};
}

/* "42s", "3m07s" or "2h05m". */
static void format_duration(char *text, size_t capacity, double seconds)
{
    if (!(seconds < 1e7)) {
        snprintf(text, capacity, "very long");
        return;
    }
    const unsigned long whole = (unsigned long)(seconds + 0.5);
    if (whole < 60) {
        snprintf(text, capacity, "%lus", whole);
    } else if (whole < 3600) {
        snprintf(text, capacity, "%lum%02lus", whole / 60, whole % 60);
    } else {
        snprintf(text, capacity, "%luh%02lum", whole / 3600, whole / 60 % 60);
    }
}

static void format_line(char *line, size_t capacity, const nmt_progress *now, double loss)
{
    char left[40] = "";
    if (now->seconds_left >= 0) {
        char duration[24];
        format_duration(duration, sizeof duration, now->seconds_left);
        snprintf(left, sizeof left, "  %s left", duration);
    }
    snprintf(line, capacity, "epoch %zu/%zu  update %llu/%llu  loss %.4f  ppl %.2f  %.0f tok/s  |g| %.3g  lr %.3g%s",
             now->epoch, now->epochs, (unsigned long long)now->update, (unsigned long long)now->updates, loss,
             exp(loss), now->tokens_per_second, now->gradient_norm, now->learning_rate, left);
}

/* Draws over the line before, cut to the window. */
static void draw(const char *line)
{
    struct winsize window;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
    fprintf(stderr, "\r\033[K%.*s", width - 1, line);
}

void progress_log(void *context, const char *line)
{
    progress *state = context;
    if (state->quiet) {
        return;
    }
    fprintf(stderr, "%s%s\n", state->drawn ? "\r\033[K" : "", line);
    state->drawn = false;
}

void progress_update(void *context, const nmt_progress *now)
{
    progress *state = context;
    if (state->quiet) {
        return;
    }
    state->loss_sum += now->loss;
    state->updates++;
    const double time = seconds_now();
    if (time - state->last < (state->terminal ? redraw_seconds : line_seconds)) {
        return;
    }
    char line[256];
    format_line(line, sizeof line, now, state->loss_sum / (double)state->updates);
    if (state->terminal) {
        draw(line);
        state->drawn = true;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    state->last = time;
    state->loss_sum = 0;
    state->updates = 0;
}

void progress_end(progress *state)
{
    if (state->drawn) {
        putc('\n', stderr);
        state->drawn = false;
    }
}
