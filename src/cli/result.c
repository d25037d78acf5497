#include "cli/result.h"

#include "cli/signals.h"

nmt_status result_open(result *to, const char *path, nmt_error *error)
{
    const nmt_status status = nmt_writer_open(&to->writer, path, error);
    if (status != NMT_OK) {
        to->writer = NULL;
    } else if (path != NULL) {
        signals_catch();
    }
    return status;
}

nmt_status result_open_alignments(result *to, const char *path, size_t format, bool end_of_sentence, nmt_error *error)
{
    nmt_status status = result_open(to, path, error);
    if (status == NMT_OK) {
        status = nmt_alignment_writer_create(&to->alignments, nmt_writer_file(to->writer), (nmt_alignment_format)format,
                                             end_of_sentence, error);
    }
    return status;
}

nmt_status result_flush(result *to, nmt_error *error)
{
    return to->writer != NULL ? nmt_writer_flush(to->writer, error) : NMT_OK;
}

nmt_status result_close(result *to, nmt_status status, nmt_error *error)
{
    if (to->alignments != NULL && status == NMT_OK) {
        status = nmt_alignment_writer_finish(to->alignments, error);
    }
    nmt_alignment_writer_free(to->alignments);
    if (to->writer != NULL && status == NMT_OK) {
        status = nmt_writer_commit(to->writer, error);
    } else {
        nmt_writer_abandon(to->writer);
    }
    *to = (result){0};
    return status;
}
