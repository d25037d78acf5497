/* Compressed text reads as what was compressed; what is damaged is an error. Without zlib: an error that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "core/gzip.h"
#include "core/io.h"
#include "data/corpus.h"
#include "support_files.h"

#ifdef NMT_ZLIB_VERSION

#include <zlib.h>

enum { ROOM = 1 << 21 };

static char text[ROOM], packed[ROOM];

/* Appends `count` bytes as a member; returns the new size. */
static size_t pack(size_t at, const char *bytes, size_t count)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = (Bytef *)packed + at;
    stream.avail_out = (uInt)(sizeof packed - at);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t size = at + stream.total_out;
    deflateEnd(&stream);
    return size;
}

/* Lines of any length, some of which repeat themselves for longer than any buffer. */
static size_t write_text(void)
{
    size_t size = 0;
    uint32_t draw = 1;
    for (size_t i = 0; i < 300; i++) {
        draw = draw * 1664525 + 1013904223;
        const size_t length = i == 200 ? 1 << 20 : draw >> 22;
        for (size_t c = 0; c < length; c++) {
            draw = draw * 1664525 + 1013904223;
            text[size++] = i == 200 || i % 3 == 0 ? 'a' : (char)('b' + (draw >> 28));
        }
        text[size++] = '\n';
    }
    return size;
}

/* Reads all of it; the status of the end. What was read is in `read`, a newline behind each line. */
static nmt_status read_all(const char *path, char *read, size_t *size, nmt_error *error)
{
    nmt_reader *reader;
    const char *line;
    size_t length;
    *size = 0;
    assert_int_equal(nmt_reader_open(&reader, path, error), NMT_OK);
    nmt_status status;
    while ((status = nmt_reader_next(reader, &line, &length, error)) == NMT_OK && line != NULL) {
        assert_true(*size + length < ROOM);
        memcpy(read + *size, line, length);
        read[*size + length] = '\n';
        *size += length + 1;
        nmt_reader_would_wait(reader);
    }
    nmt_reader_close(reader);
    return status;
}

static void assert_reads_as_text(const char *path, size_t size)
{
    static char read[ROOM];
    size_t found;
    nmt_error error;
    assert_int_equal(read_all(path, read, &found, &error), NMT_OK);
    assert_int_equal(found, size);
    assert_memory_equal(read, text, size);
}

static void compressed_text_reads_as_the_text(void **state)
{
    (void)state;
    const size_t size = write_text();
    const size_t one = pack(0, text, size);
    assert_reads_as_text(support_write_bytes("one.gz", packed, one), size);
    size_t several = pack(0, text, 1000);
    several = pack(several, text, 0);
    several = pack(several, text + 1000, size - 1000);
    assert_reads_as_text(support_write_bytes("several.gz", packed, several), size);
}

static void assert_refused(size_t size, const char *message)
{
    static char read[ROOM];
    size_t found;
    nmt_error error;
    const char *path = support_write_bytes("bad.gz", packed, size);
    assert_int_equal(read_all(path, read, &found, &error), NMT_INVALID);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, message));
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const char line[] = "one red book\n";
    const size_t size = pack(0, line, sizeof line - 1);
    for (size_t cut = 2; cut < size; cut++) {
        assert_refused(cut, "gzip: cut short");
    }
    for (size_t i = 10; i < size; i++) { /* behind the header */
        packed[i] ^= 1;
        assert_refused(size, "gzip: ");
        packed[i] ^= 1;
    }
    memcpy(packed + size, "tail", 4);
    assert_refused(size + 4, "gzip: corrupt");
}

static void a_corpus_may_be_compressed(void **state)
{
    (void)state;
    static const char source[] = "a b\nc\n\nb b a\n";
    const size_t size = pack(0, source, sizeof source - 1);
    const char *plain = support_write_bytes("t", "x\ny\nz\nz x\n", 10);
    const char *zipped = support_write_bytes("s.gz", packed, size);
    const corpus_options options = {.source_path = zipped, .target_path = plain};
    const char *const list[] = {"<unk>", "<s>", "</s>", "a", "b", "c"};
    nmt_error error;
    corpus *pairs;
    vocabulary *words;
    int32_t ids[3], other[3];
    const size_t before = support_count();
    setenv("TMPDIR", support_directory, 1);
    assert_int_equal(corpus_open(&pairs, &options, NULL, NULL, &error), NMT_OK);
    assert_int_equal(support_count(), before); /* the expanded copy has no name */
    assert_int_equal(vocabulary_from_words(&words, list, 6, "list", &error), NMT_OK);
    assert_int_equal(corpus_size(pairs), 3);
    for (int i = 2; i >= 0; i--) {
        assert_int_equal(corpus_read(pairs, (size_t)i, words, words, ids, other, &error), NMT_OK);
    }
    assert_int_equal(ids[0], 3);
    assert_int_equal(ids[1], 4);
    corpus_close(pairs);
    vocabulary_free(words);
    support_write_bytes("s.gz", packed, size - 3);
    assert_int_equal(corpus_open(&pairs, &options, NULL, NULL, &error), NMT_INVALID);
    assert_non_null(strstr(error.message, "s.gz: gzip: cut short"));
}

#else

static void without_zlib_an_error_says_so(void **state)
{
    (void)state;
    nmt_reader *reader;
    nmt_error error;
    const char *line;
    size_t length;
    assert_int_equal(nmt_reader_open(&reader, support_write_bytes("x.gz", "\x1f\x8b\x08\n", 4), &error), NMT_OK);
    assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_UNSUPPORTED);
    assert_non_null(strstr(error.message, "x.gz: compressed with gzip; plain text was expected"));
    nmt_reader_close(reader);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef NMT_ZLIB_VERSION
        cmocka_unit_test(compressed_text_reads_as_the_text),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(a_corpus_may_be_compressed),
#else
        cmocka_unit_test(without_zlib_an_error_says_so),
#endif
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
