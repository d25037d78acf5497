/*
 * A history is a list of cores, "Prescott,SkylakeX": what the library chose for itself, then what each restart asked
 * for; "-" asked for the library's own choice again. Each restart adds an entry that was not there, so there are at
 * most three.
 */
#include "core/blas_core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_CAPACITY = sizeof((nmt_blas_advice *)0)->core };

typedef enum kernel_level { OLDER, AVX2, AVX512 } kernel_level;

/* The vectors that OpenBLAS's kernels use. A core that is not listed belongs to a library that knows newer processors
 * than we do, or to another architecture: its choice is trusted. */
static const struct {
    const char *core;
    kernel_level level;
} known[] = {
    {"Katmai", OLDER},       {"Coppermine", OLDER},  {"Northwood", OLDER},       {"Prescott", OLDER},
    {"Banias", OLDER},       {"Atom", OLDER},        {"Core2", OLDER},           {"Penryn", OLDER},
    {"Dunnington", OLDER},   {"Nehalem", OLDER},     {"Athlon", OLDER},          {"Opteron", OLDER},
    {"Opteron_SSE3", OLDER}, {"Barcelona", OLDER},   {"Bobcat", OLDER},          {"Nano", OLDER},
    {"Bulldozer", OLDER},    {"Piledriver", OLDER},  {"Steamroller", OLDER},     {"Sandybridge", OLDER},
    {"Unknown", OLDER},      {"Excavator", AVX2},    {"Haswell", AVX2},          {"Zen", AVX2},
    {"SkylakeX", AVX512},    {"Cooperlake", AVX512}, {"SapphireRapids", AVX512},
};

/* What to ask for, best first. */
static const struct {
    const char *core;
    kernel_level level;
} candidates[] = {{"SkylakeX", AVX512}, {"Haswell", AVX2}};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

static const char own_choice[] = "-"; /* no core has such a name */

static bool find_level(const char *core, kernel_level *level)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcasecmp(known[i].core, core) == 0) {
            *level = known[i].level;
            return true;
        }
    }
    return false;
}

static bool is_name(const char *text)
{
    const size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < NAME_CAPACITY && text[length] == '\0';
}

static bool can_run(cpu_features cpu, kernel_level level)
{
    return level == OLDER || (level == AVX2 && cpu.avx2) || (level == AVX512 && cpu.avx512);
}

/* The processor has vectors that the kernels in use leave idle. */
static bool is_trapped(cpu_features cpu, const char *core)
{
    kernel_level level;
    return (cpu.avx2 || cpu.avx512) && find_level(core, &level) && level == OLDER;
}

static bool is_in_history(const char *history, const char *core)
{
    const size_t length = strlen(core);
    for (const char *entry = history; *entry != '\0'; entry += strcspn(entry, ","), entry += *entry == ',') {
        if (strcspn(entry, ",") == length && strncasecmp(entry, core, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The best candidate that no start has asked for yet, or NULL. */
static const char *next_candidate(cpu_features cpu, const char *history)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (can_run(cpu, candidates[i].level) && !is_in_history(history, candidates[i].core)) {
            return candidates[i].core;
        }
    }
    return NULL;
}

const char *blas_core_better(cpu_features cpu, const char *core)
{
    return is_trapped(cpu, core) ? next_candidate(cpu, "") : NULL;
}

__attribute__((format(printf, 3, 4))) static void conclude(nmt_blas_advice *advice, nmt_blas_action action,
                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(advice->message, sizeof advice->message, format, arguments);
    va_end(arguments);
    advice->action = action;
}

static void restart(nmt_blas_advice *advice, const blas_situation *now, const char *core)
{
    const bool first = now->history == NULL;
    advice->action = NMT_BLAS_RESTART;
    snprintf(advice->core, sizeof advice->core, "%s", strcmp(core, own_choice) == 0 ? "" : core);
    snprintf(advice->history, sizeof advice->history, "%s,%s", first ? now->core : now->history, core);
}

/* Kernels that the user named, before a restart. */
static void ask_for_named(nmt_blas_advice *advice, const blas_situation *now)
{
    kernel_level level = OLDER;
    if (strcasecmp(now->core, now->wish) == 0) {
        return;
    }
    if (!is_name(now->wish)) {
        conclude(advice, NMT_BLAS_REFUSE,
                 "expected auto, keep or the name of a core as OpenBLAS has them, found '%.63s'", now->wish);
    } else if (!now->choosable) {
        conclude(advice, NMT_BLAS_REFUSE, "expected auto, keep or %s, the only kernels in this OpenBLAS, found '%s'",
                 now->core, now->wish);
    } else if (find_level(now->wish, &level) && !can_run(now->cpu, level)) {
        conclude(advice, NMT_BLAS_REFUSE, "the kernels '%s' need %s, which this processor does not have", now->wish,
                 level == AVX512 ? "AVX-512" : "AVX2 and FMA");
    } else {
        restart(advice, now, now->wish);
    }
}

/* The same behind it. */
static void judge_named(nmt_blas_advice *advice, const blas_situation *now)
{
    if (strcasecmp(now->core, now->wish) != 0) {
        conclude(advice, NMT_BLAS_REFUSE,
                 "OpenBLAS has no kernels '%.63s' for this processor: asked for them, it took %s", now->wish,
                 now->core);
    } else if (!now->right) {
        conclude(advice, NMT_BLAS_REFUSE, "the %s kernels of OpenBLAS give wrong products on this processor",
                 now->core);
    } else {
        conclude(advice, NMT_BLAS_KEEP, "restarted with the %s kernels of OpenBLAS, as asked; their products are right",
                 now->core);
    }
}

/* Behind a restart of our own accord: are the kernels better than those before, and right? */
static void judge_restart(nmt_blas_advice *advice, const blas_situation *now)
{
    const char *tried = now->history + strcspn(now->history, ",") + 1;
    const bool own = is_in_history(now->history, own_choice);
    const char *next = own ? NULL : next_candidate(now->cpu, now->history);
    if (now->right && !is_trapped(now->cpu, now->core)) {
        conclude(advice, NMT_BLAS_KEEP,
                 "OpenBLAS chose its slow %.*s kernels for this processor; restarted with %s, whose products are right",
                 (int)(tried - now->history - 1), now->history, now->core);
    } else if (next != NULL) {
        restart(advice, now, next);
    } else if (now->right) {
        conclude(advice, NMT_BLAS_KEEP,
                 "OpenBLAS stays with its slow %s kernels: it took none that are better for this processor and right "
                 "(tried %.*s)",
                 now->core, (int)(strlen(tried) - (own ? strlen(",-") : 0)), tried);
    } else if (!own) {
        restart(advice, now, own_choice);
    } else {
        conclude(advice, NMT_BLAS_REFUSE,
                 "OpenBLAS gives wrong products on this processor, with all of its kernels tried");
    }
}

/* The core that the last restart asked for is what the variable says, or the history is not of this process. */
static bool is_our_restart(const blas_situation *now)
{
    if (now->history == NULL) {
        return false;
    }
    const char *comma = strrchr(now->history, ',');
    const char *asked = comma != NULL ? comma + 1 : "";
    if (strcmp(asked, own_choice) == 0) {
        return now->variable == NULL;
    }
    return *asked != '\0' && now->variable != NULL && strcmp(asked, now->variable) == 0;
}

static const char *non_empty(const char *text)
{
    return text != NULL && *text != '\0' ? text : NULL;
}

void blas_core_decide(nmt_blas_advice *advice, const blas_situation *given)
{
    blas_situation now = *given;
    now.variable = non_empty(given->variable);
    now.history = non_empty(given->history);
    *advice = (nmt_blas_advice){.action = NMT_BLAS_KEEP};
    if (!is_our_restart(&now)) {
        now.history = NULL;
    }
    if (strcmp(now.wish, "keep") == 0) {
        return;
    }
    if (strcmp(now.wish, "auto") != 0) {
        (now.history == NULL ? ask_for_named : judge_named)(advice, &now);
    } else if (now.history != NULL) {
        judge_restart(advice, &now);
    } else if (now.variable == NULL && now.choosable && is_trapped(now.cpu, now.core)) {
        const char *next = next_candidate(now.cpu, "");
        if (next != NULL) {
            restart(advice, &now, next);
        }
    }
}
