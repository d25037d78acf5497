#include "data/piece_library.h"

#ifdef NMT_SENTENCEPIECE_VERSION

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const piece_library *loaded;
static char reason[PIECE_MESSAGE_ROOM];

/* Found as the libraries of a program are: by the run path of the program, else where the system keeps them. It stays
 * loaded to the end. */
static void load(void)
{
    void *object = dlopen(PIECE_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);
    const piece_library *found = object != NULL ? dlsym(object, PIECE_LIBRARY_SYMBOL) : NULL;
    if (found == NULL) {
        snprintf(reason, sizeof reason, "SentencePiece cannot be loaded: %s", dlerror());
    } else if (found->interface != PIECE_LIBRARY_INTERFACE) {
        snprintf(reason, sizeof reason, "%s is of another version of this program", PIECE_LIBRARY_FILE);
    } else {
        loaded = found;
    }
}

const piece_library *piece_library_load(const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    *why = reason;
    return loaded;
}

#else

const piece_library *piece_library_load(const char **why)
{
    *why = "this build has no SentencePiece: install libsentencepiece-dev and build again";
    return NULL;
}

#endif
