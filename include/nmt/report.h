/** Alignments written for people and for programs. */
#ifndef NMT_REPORT_H
#define NMT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <nmt/error.h>
#include <nmt/translate.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nmt_alignment_format {
    NMT_ALIGNMENT_LONG,    /**< CSV: sentence,target_index,target,source_index,source,weight */
    NMT_ALIGNMENT_MATRIX,  /**< CSV: one block a sentence, a header of source tokens, a row a target token */
    NMT_ALIGNMENT_PHARAOH, /**< `i-j` links, 0-based source-target, the source token of most weight; never `</s>` */
    NMT_ALIGNMENT_TERMINAL, /**< shaded cells for a person to look at */
    NMT_ALIGNMENT_SVG,      /**< a drawing, one heatmap a sentence; held in memory until the end */
    NMT_ALIGNMENT_HTML      /**< a page for the browser, without network: all sentences, word by word */
} nmt_alignment_format;

typedef struct nmt_alignment_writer nmt_alignment_writer;

/**
 * Starts a report on `file`, which stays the caller's; a header is written now. `end_of_sentence` false leaves out
 * the row and the column of `</s>` (weights stay as they are).
 */
NMT_API nmt_status nmt_alignment_writer_create(nmt_alignment_writer **writer, FILE *file, nmt_alignment_format format,
                                               bool end_of_sentence, nmt_error *error);

/** Writes the next sentence (sentences count from 1). Errors: NMT_IO when the file cannot take it. */
NMT_API nmt_status nmt_alignment_writer_add(nmt_alignment_writer *writer, const nmt_alignment *alignment,
                                            nmt_error *error);

/**
 * Writes what ends the report: the drawing and the end of the page, nothing in the other formats. Once, and no sentence
 * comes behind it. Errors: NMT_IO, NMT_NO_MEMORY.
 */
NMT_API nmt_status nmt_alignment_writer_finish(nmt_alignment_writer *writer, nmt_error *error);

/** Frees the writer; a report that was not finished stays without its end. */
NMT_API void nmt_alignment_writer_free(nmt_alignment_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
