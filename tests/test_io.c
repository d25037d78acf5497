#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "core/hash.h"
#include "core/io.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "support_files.h"

static nmt_error error;

/* ---- utf8, quote, hash --------------------------------------------------------------------------------------------
 */

static void test_utf8(void **state)
{
    (void)state;
    static const char *const valid[] = {
        "",
        "plain",
        "h\xc3\xbcgel",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf4\x8f\xbf\xbf",
        "\xf0\x90\x80\x80",
    };
    for (size_t i = 0; i < sizeof valid / sizeof valid[0]; i++) {
        assert_int_equal(utf8_error(valid[i], strlen(valid[i])), strlen(valid[i]));
    }
    static const char *const faults[] = {
        "\x80",             /* a continuation alone */
        "\xc0\xaf",         /* overlong, two bytes */
        "\xc1\xbf",         /* overlong, two bytes */
        "\xe0\x9f\xbf",     /* overlong, three bytes */
        "\xf0\x8f\xbf\xbf", /* overlong, four bytes */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* over U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xe4\xbd", /* cut short */
        "\xe4\xbd"
        "a", /* third byte wrong */
        "\xf0\x90\x80"
        "a",
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        /* Behind every number of bytes, so that each way into the fault is taken. */
        for (size_t before = 0; before < 20; before++) {
            char text[64];
            memset(text, 'a', before);
            strcpy(text + before, faults[i]);
            assert_int_equal(utf8_error(text, strlen(text)), before);
            strcat(text, "bcdefghijk");
            assert_int_equal(utf8_error(text, strlen(text)), before);
        }
    }
}

static void check_quote(const char *text, const char *expected)
{
    assert_string_equal(quote(&(quotation){{0}}, text, strlen(text)), expected);
}

static void test_quote(void **state)
{
    (void)state;
    check_quote("", "\"\"");
    check_quote("M\xc3\xa4nner", "\"M\xc3\xa4nner\"");
    check_quote("a\nb\x1b[31m\x7f", "\"a\\x0Ab\\x1B[31m\\x7F\"");
    check_quote("a\xc2\x85"
                "b\xe2\x80\xa8"
                "c\xe2\x80\xae"
                "d\xe2\x81\xa6",
                "\"a\\u0085b\\u2028c\\u202Ed\\u2066\"");
    check_quote("a\xff\"\\", "\"a\\xFF\\\"\\\\\"");
    assert_string_equal(quote(&(quotation){{0}}, "a\0b", 3), "\"a\\x00b\"");
    assert_string_equal(quote_path(&(path_quotation){{0}}, "a \"b\"\n"), "a \"b\"\\x0A");
}

static void test_quote_is_bounded(void **state)
{
    (void)state;
    for (size_t length = 100; length < 300; length++) {
        char text[1024];
        for (size_t i = 0; i < length; i++) {
            memcpy(text + 2 * i, "\xc3\xa4", 2);
        }
        quotation buffer;
        memset(buffer.text, 'x', sizeof buffer.text);
        quote(&buffer, text, 2 * length);
        const size_t shown = strlen(buffer.text);
        assert_true(shown < sizeof buffer.text);
        assert_true(shown > sizeof buffer.text - 8);
        assert_int_equal(utf8_error(buffer.text, shown), shown);
        assert_string_equal(buffer.text + shown - 4, "...\"");
    }
    char exact[QUOTE_CAPACITY];
    memset(exact, 'a', sizeof exact);
    const char *all = quote(&(quotation){{0}}, exact, QUOTE_CAPACITY - 3);
    assert_int_equal(strlen(all), QUOTE_CAPACITY - 1);
    assert_null(strstr(all, "..."));
    const char *cut = quote(&(quotation){{0}}, exact, QUOTE_CAPACITY - 2);
    assert_int_equal(strlen(cut), QUOTE_CAPACITY - 1);
    assert_non_null(strstr(cut, "a...\""));
}

static void test_hash(void **state)
{
    (void)state;
    char text[40] = {0};
    uint64_t seen[41];
    for (size_t length = 0; length <= 40; length++) { /* zeros only: the length must count */
        seen[length] = hash_bytes(text, length);
        for (size_t i = 0; i < length; i++) {
            assert_true(seen[i] != seen[length]);
            text[i] = 1;
            assert_true(hash_bytes(text, length) != seen[length]);
            text[i] = 0;
        }
    }
    assert_true(hash_join(hash_join(0, 1), 2) != hash_join(hash_join(0, 2), 1));
    /* Pinned: a fingerprint written by one machine is read by another. */
    assert_true(hash_bytes("attention", 9) == UINT64_C(0xbdad6b537a8458e6));
}

static void a_hash_with_a_key(void **state)
{
    (void)state;
    /* The example of the paper's appendix A: SipHash-2-4 of the bytes 0 to 14 with the key of the bytes 0 to 15. */
    const hash_key key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    const char bytes[] = "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16";
    assert_true(hash_siphash(&key, bytes, 15, 2, 4) == UINT64_C(0xa129ca6149be45e5));
    const hash_key other = {{key.words[0], key.words[1] + 1}}, zero = {{0}};
    assert_true(hash_siphash(&key, bytes, 15, 1, 3) != hash_siphash(&other, bytes, 15, 1, 3));
    assert_true(hash_secret(bytes, 15) == hash_secret(bytes, 15) && hash_secret(bytes, 15) != hash_secret(bytes, 14));
    assert_true(hash_secret(bytes, 15) != hash_siphash(&zero, bytes, 15, 1, 3)); /* a key was drawn */
}

/* ---- reader -------------------------------------------------------------------------------------------------------
 */

static nmt_reader *open_text(const char *bytes, size_t length)
{
    nmt_reader *reader;
    assert_int_equal(nmt_reader_open(&reader, support_write_bytes("text", bytes, length), &error), NMT_OK);
    return reader;
}

static void check_next(nmt_reader *reader, const char *expected)
{
    const char *line;
    size_t length;
    assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_OK);
    if (expected == NULL) {
        assert_null(line);
        return;
    }
    assert_non_null(line);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(line, expected);
}

static void check_lines(const char *text, const char *const *expected, size_t count)
{
    nmt_reader *reader = open_text(text, strlen(text));
    for (size_t i = 0; i < count; i++) {
        check_next(reader, expected[i]);
        assert_int_equal(nmt_reader_line(reader), i + 1);
    }
    check_next(reader, NULL);
    check_next(reader, NULL);
    assert_int_equal(nmt_reader_line(reader), count);
    nmt_reader_close(reader);
}

#define CHECK_LINES(text, ...)                                                                                         \
    check_lines((text), (const char *const[]){__VA_ARGS__},                                                            \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void test_lines(void **state)
{
    (void)state;
    check_lines("", NULL, 0);
    CHECK_LINES("\n", "");
    CHECK_LINES("one\ntwo\n", "one", "two");
    CHECK_LINES("one\n\ntwo", "one", "", "two");
    CHECK_LINES("one\r\ntwo\r\n\r\nthree", "one", "two", "", "three");
    CHECK_LINES("a\rb\r\r\n", "a\rb\r"); /* only the carriage return of the line's end goes */
    CHECK_LINES("a\xc2\x85"
                "b\xe2\x80\xa8"
                "c\xc2\xa0"
                "d\x0b\x0c\n",
                "a\xc2\x85"
                "b\xe2\x80\xa8"
                "c\xc2\xa0"
                "d\x0b\x0c");
}

static void test_byte_order_mark(void **state)
{
    (void)state;
    CHECK_LINES("\xef\xbb\xbfone\ntwo\n", "one", "two");
    CHECK_LINES("\xef\xbb\xbf\r\ntwo", "", "two");
    CHECK_LINES("\xef\xbb\xbfone", "one");
    check_lines("\xef\xbb\xbf", NULL, 0);
    CHECK_LINES("\xef\xbb\xbf\xef\xbb\xbfone\n\xef\xbb\xbftwo", "\xef\xbb\xbfone", "\xef\xbb\xbftwo");
}

static void test_offsets(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbfone\r\n\ntwo\nthree";
    static const uint64_t expected[] = {3, 8, 9, 13};
    nmt_reader *reader = open_text(text, sizeof text - 1);
    const char *line;
    size_t length;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_OK);
        assert_int_equal(io_reader_offset(reader), expected[i]);
        assert_memory_equal(text + expected[i], line, length);
    }
    nmt_reader_close(reader);
}

static void check_fault(nmt_reader *reader, const char *expected)
{
    const char *line;
    size_t length;
    char message[700];
    assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_INVALID);
    assert_null(line);
    snprintf(message, sizeof message, "%s%s", support_path("text"), expected);
    assert_string_equal(error.message, message);
}

static void test_invalid_text(void **state)
{
    (void)state;
    static const char text[] = "good\n\xc3\xa4xy\xffz\nnul\0\xff\nagain\n\xe4\xbd";
    nmt_reader *reader = open_text(text, sizeof text - 1);
    check_next(reader, "good");
    check_fault(reader, ":2: byte 5 is not valid UTF-8 (0xff)");
    check_fault(reader, ":3: byte 4 is a NUL, which no text holds");
    check_next(reader, "again");
    check_fault(reader, ":5: byte 1 is not valid UTF-8 (0xe4)");
    check_next(reader, NULL);
    nmt_reader_close(reader);

    reader = open_text("\xef\xbb\xbf"
                       "a\xff",
                       5); /* bytes count as they stand in the file */
    check_fault(reader, ":1: byte 5 is not valid UTF-8 (0xff)");
    nmt_reader_close(reader);
}

static void test_gzip(void **state)
{
    (void)state;
    nmt_reader *reader = open_text("\x1f\x8b\x08\x00\x00", 5);
    const char *line;
    size_t length;
#ifdef NMT_ZLIB_VERSION
    const nmt_status expected = NMT_INVALID; /* cut short */
#else
    const nmt_status expected = NMT_UNSUPPORTED;
#endif
    for (int i = 0; i < 2; i++) { /* nor does it become text by asking again */
        assert_false(nmt_reader_would_wait(reader));
        assert_int_equal(nmt_reader_next(reader, &line, &length, &error), expected);
    }
    assert_non_null(strstr(error.message, "gzip"));
    assert_non_null(strstr(error.message, support_path("text")));
    nmt_reader_close(reader);
}

static void test_unreadable(void **state)
{
    (void)state;
    nmt_reader *reader;
    assert_int_equal(nmt_reader_open(&reader, support_path("missing\n"), &error), NMT_IO);
    assert_null(reader);
    assert_non_null(strstr(error.message, "/missing\\x0A: cannot be opened: No such file or directory"));

    const char *line;
    size_t length;
    assert_int_equal(nmt_reader_open(&reader, support_directory, &error), NMT_OK);
    assert_false(nmt_reader_would_wait(reader));
    assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_IO);
    assert_non_null(strstr(error.message, ": cannot be read: Is a directory"));
    nmt_reader_close(reader);
    nmt_reader_close(NULL);
}

static void test_long_line(void **state)
{
    (void)state;
    const size_t size = 1 << 20;
    char *text = malloc(2 * size + 16);
    assert_non_null(text);
    memcpy(text, "short\n", 6);
    for (size_t i = 0; i < size; i += 2) {
        memcpy(text + 6 + i, i % 1000 == 0 ? " x" : "\xc3\xa4", 2);
    }
    memcpy(text + 6 + size, "\nend", 4);
    nmt_reader *reader = open_text(text, size + 10);
    check_next(reader, "short");
    text[6 + size] = '\0';
    check_next(reader, text + 6);
    check_next(reader, "end");
    check_next(reader, NULL);
    nmt_reader_close(reader);
    free(text);
}

static void test_would_wait(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    nmt_reader *reader;
    assert_int_equal(nmt_reader_open(&reader, path, &error), NMT_OK);
    assert_true(nmt_reader_would_wait(reader));
    assert_int_equal(write(ends[1], "one\ntwo\nthr", 11), 11);
    assert_false(nmt_reader_would_wait(reader));
    const char *line;
    size_t length;
    assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_OK);
    assert_false(nmt_reader_would_wait(reader));
    check_next(reader, "two");
    assert_true(nmt_reader_would_wait(reader)); /* half a line has come */
    assert_int_equal(write(ends[1], "ee\nfour", 7), 7);
    assert_false(nmt_reader_would_wait(reader));
    check_next(reader, "three");
    assert_true(nmt_reader_would_wait(reader));
    close(ends[1]);
    assert_false(nmt_reader_would_wait(reader)); /* the last line needs no newline */
    check_next(reader, "four");
    assert_false(nmt_reader_would_wait(reader));
    check_next(reader, NULL);
    close(ends[0]);
    nmt_reader_close(reader);
}

static void test_line_survives_would_wait(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    nmt_reader *reader;
    assert_int_equal(nmt_reader_open(&reader, path, &error), NMT_OK);
    assert_int_equal(write(ends[1], "one\n", 4), 4);
    const char *line;
    size_t length;
    assert_int_equal(nmt_reader_next(reader, &line, &length, &error), NMT_OK);
    for (int i = 0; i < 40; i++) { /* more than the buffer's first size, without a newline */
        static char block[4096];
        memset(block, 'x', sizeof block);
        assert_int_equal(write(ends[1], block, sizeof block), sizeof block);
        assert_true(nmt_reader_would_wait(reader));
    }
    assert_string_equal(line, "one");
    close(ends[0]);
    close(ends[1]);
    nmt_reader_close(reader);
}

/* ---- writer -------------------------------------------------------------------------------------------------------
 */

static void check_content(const char *path, const char *expected)
{
    char *text;
    size_t length;
    assert_int_equal(io_read_file(&text, &length, path, 1 << 20, &error), NMT_OK);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
    free(text);
}

static nmt_writer *open_writer(const char *path)
{
    nmt_writer *writer;
    assert_int_equal(nmt_writer_open(&writer, path, &error), NMT_OK);
    return writer;
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

static void test_write(void **state)
{
    (void)state;
    const char *path = support_path("new");
    const size_t files = support_count();
    const mode_t mask = umask(027);
    nmt_writer *writer = open_writer(path);
    umask(mask);
    fputs("hello\n", nmt_writer_file(writer));
    assert_int_equal(nmt_writer_flush(writer, &error), NMT_OK);
    assert_int_equal(access(path, F_OK), -1); /* not there before it is whole */
    assert_int_equal(nmt_writer_commit(writer, &error), NMT_OK);
    check_content(path, "hello\n");
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(support_count(), files + 1);
}

static void test_replace(void **state)
{
    (void)state;
    const char *path = support_write("old", "before");
    assert_int_equal(chmod(path, 0604), 0);
    const size_t files = support_count();
    nmt_writer *writer = open_writer(path);
    fputs("half", nmt_writer_file(writer));
    assert_int_equal(nmt_writer_flush(writer, &error), NMT_OK);
    nmt_writer_abandon(writer);
    check_content(path, "before");
    assert_int_equal(support_count(), files);

    writer = open_writer(path);
    fputs("after", nmt_writer_file(writer));
    assert_int_equal(nmt_writer_commit(writer, &error), NMT_OK);
    check_content(path, "after");
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(support_count(), files);
    nmt_writer_abandon(NULL);
}

static void test_link_stays(void **state)
{
    (void)state;
    const char *path = support_write("linked", "before");
    const char *link = support_path("link");
    assert_int_equal(symlink(path, link), 0);
    nmt_writer *writer = open_writer(link);
    fputs("after", nmt_writer_file(writer));
    assert_int_equal(nmt_writer_commit(writer, &error), NMT_OK);
    check_content(path, "after");
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void test_write_faults(void **state)
{
    (void)state;
    nmt_writer *writer;
    assert_int_equal(nmt_writer_open(&writer, support_path("missing/file"), &error), NMT_IO);
    assert_null(writer);
    assert_non_null(strstr(error.message, "/missing/file: cannot be written: No such file or directory"));
    assert_int_equal(nmt_writer_open(&writer, support_directory, &error), NMT_IO);
    assert_non_null(strstr(error.message, ": cannot be written: Is a directory"));

    if (access("/dev/full", W_OK) == 0) {
        writer = open_writer("/dev/full");
        fputs("lost", nmt_writer_file(writer));
        assert_int_equal(nmt_writer_flush(writer, &error), NMT_IO);
        assert_string_equal(error.message, "/dev/full: cannot be written: No space left on device");
        assert_int_equal(nmt_writer_commit(writer, &error), NMT_IO);

        /* A fault in the middle of writing is found at the end. */
        writer = open_writer("/dev/full");
        for (int i = 0; i < 10000; i++) {
            fputs("more than a buffer\n", nmt_writer_file(writer));
        }
        assert_int_equal(nmt_writer_commit(writer, &error), NMT_IO);
        assert_non_null(strstr(error.message, "/dev/full: cannot be written: "));
    }
}

static void test_write_directly(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    char got[8] = {0};
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    nmt_writer *writer = open_writer(path);
    fputs("ab", nmt_writer_file(writer));
    assert_int_equal(nmt_writer_flush(writer, &error), NMT_OK);
    assert_int_equal(read(ends[0], got, sizeof got), 2);
    assert_string_equal(got, "ab");
    assert_int_equal(nmt_writer_commit(writer, &error), NMT_OK);
    close(ends[0]);
    close(ends[1]);
}

/* ---- files and directories ----------------------------------------------------------------------------------------
 */

static void test_read_file(void **state)
{
    (void)state;
    const char *path = support_write_bytes("whole", "a\0b\n", 4);
    char *text;
    size_t length;
    assert_int_equal(io_read_file(&text, &length, path, 4, &error), NMT_OK);
    assert_int_equal(length, 4);
    assert_memory_equal(text, "a\0b\n", 5);
    free(text);
    assert_int_equal(io_read_file(&text, &length, path, 3, &error), NMT_INVALID);
    assert_null(text);
    assert_non_null(strstr(error.message, "larger than the 3 bytes"));
    assert_int_equal(io_read_file(&text, &length, support_path("missing"), 9, &error), NMT_IO);
    assert_int_equal(io_read_file(&text, &length, support_directory, 9, &error), NMT_IO);
    check_content(support_write("empty", ""), "");
}

static void test_directories(void **state)
{
    (void)state;
    const char *deep = support_path("a/b//c");
    assert_int_equal(io_make_directories(deep, &error), NMT_OK);
    assert_int_equal(io_make_directories(deep, &error), NMT_OK);
    assert_int_equal(access(deep, W_OK), 0);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(support_path("a/b")), 0);
    support_write("file", "");
    assert_int_equal(io_make_directories(support_path("file/b"), &error), NMT_IO);
    assert_non_null(strstr(error.message, "/file: cannot be created: Not a directory"));
}

static void test_join(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}, {".", "b", "./b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path;
        assert_int_equal(io_join(&path, cases[i][0], cases[i][1], &error), NMT_OK);
        assert_string_equal(path, cases[i][2]);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_is_bounded),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(a_hash_with_a_key),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_invalid_text),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_would_wait),
        cmocka_unit_test(test_line_survives_would_wait),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_link_stays),
        cmocka_unit_test(test_write_faults),
        cmocka_unit_test(test_write_directly),
        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_join),
    };
    return cmocka_run_group_tests(tests, support_setup, support_teardown);
}
