#include <nmt/version.h>
#include <pthread.h>
#include <stdio.h>

#include "core/blas.h"
#include "core/parallel.h"

const char *nmt_version(void)
{
    return NMT_VERSION;
}

#ifdef NMT_SENTENCEPIECE_VERSION
#define PIECES "SentencePiece " NMT_SENTENCEPIECE_VERSION
#else
#define PIECES "none (built without SentencePiece)"
#endif

#ifdef NMT_ZLIB_VERSION
#define GZIP "zlib " NMT_ZLIB_VERSION
#else
#define GZIP "none (built without zlib)"
#endif

static char description[512];

static void describe(void)
{
    snprintf(description, sizeof description,
             "BLAS      %s\n"
             "cJSON     " NMT_CJSON_VERSION "\n"
             "utf8proc  " NMT_UTF8PROC_VERSION "\n"
             "pieces    " PIECES "\n"
             "gzip      " GZIP "\n"
             "compiler  " __VERSION__ "\n",
             blas_description());
}

const char *nmt_build_description(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe);
    return description;
}

nmt_status nmt_set_threads(size_t threads, nmt_error *error)
{
    return parallel_set_threads(threads, error);
}
