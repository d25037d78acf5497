/*
 * SentencePiece behind an interface in C. Its library and that of C++ take longer to load than a small model takes to
 * translate, so they stand behind a shared object of their own (piece_library.cpp, PIECE_LIBRARY_FILE), which is loaded
 * when the first text is to be cut into pieces. Nothing is thrown across this interface.
 */
#ifndef DATA_PIECE_LIBRARY_H
#define DATA_PIECE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIECE_LIBRARY_FILE "nmt_sentencepiece.so"

enum { PIECE_LIBRARY_INTERFACE = 1, PIECE_MESSAGE_ROOM = 300 };

/* Why a call failed, in the words of SentencePiece. */
typedef struct piece_message {
    char text[PIECE_MESSAGE_ROOM];
} piece_message;

typedef struct piece_training {
    const char *type; /* "bpe" or "unigram" */
    size_t size;      /* pieces, the unknown one among them */
    double coverage;  /* share of the characters that get pieces */
} piece_training;

/* The next line to learn from, borrowed until the next call; false: there are no more. */
typedef bool (*piece_lines)(void *context, const char **line, size_t *length);

/* Takes what is made, in order; false: give up. */
typedef bool (*piece_sink)(void *context, const char *bytes, size_t length);

/* Each call but `close` returns whether it succeeded. */
typedef struct piece_library {
    int interface; /* PIECE_LIBRARY_INTERFACE of the time of building */
    /* Learns a model, which goes to `take` in one piece. */
    bool (*train)(const piece_training *how, piece_lines next, piece_sink take, void *context, piece_message *why);
    bool (*open)(void **opened, const char *model, size_t size, piece_message *why);
    /* Only the given pieces, and single characters, are made from here on. */
    bool (*restrict_to)(void *opened, const char *const *pieces, size_t count, piece_message *why);
    bool (*encode)(const void *opened, const char *text, size_t length, piece_sink take, void *context,
                   piece_message *why);
    void (*close)(void *opened);
} piece_library;

/* The symbol of the shared object. */
#define PIECE_LIBRARY_SYMBOL "nmt_piece_library"

/* Loads it at the first call; NULL where this build has none, or where it is not found: `*why` says so. */
const piece_library *piece_library_load(const char **why);

#ifdef __cplusplus
}
#endif
#endif
