#include "model/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io.h"
#include "core/memory.h"

enum {
    LENGTH_BYTES = 8, /* of the number in front of the header */
    ALIGNMENT = 8,    /* of the header's end */
    CHUNK = 4096      /* numbers converted at a time */
};

static const uint64_t header_limit = 100000000; /* the bound of the format */

static size_t stored_size(const stored_tensor *each)
{
    return each->rows * (each->columns > 0 ? each->columns : 1);
}

static uint64_t stored_bytes(const stored_tensor *each)
{
    return (each->bytes != NULL ? 1 : 4) * (uint64_t)stored_size(each);
}

static const char *stored_type(const stored_tensor *each)
{
    return each->bytes != NULL ? "U8" : "F32";
}

__attribute__((format(printf, 4, 5))) static nmt_status complain(nmt_error *error, nmt_status status, const char *path,
                                                                 const char *format, ...)
{
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(error, status, "%s: %s", quote_path(&(path_quotation){{0}}, path), message);
}

static nmt_status not_finite(const stored_tensor *each, size_t index, double value, const char *path, nmt_error *error)
{
    return complain(error, NMT_NOT_FINITE, path, "tensor %s: expected finite numbers, found %s at element %zu",
                    quote(&(quotation){{0}}, each->name, strlen(each->name)), isnan(value) ? "NaN" : "infinity", index);
}

/* ---- bytes: float32 and 64-bit lengths, little-endian whatever the machine is -------------------------------------
 */

static void put_float(unsigned char bytes[4], float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(bits >> 8 * i);
    }
}

static float get_float(const unsigned char bytes[4])
{
    uint32_t bits = 0;
    float value;
    for (int i = 0; i < 4; i++) {
        bits |= (uint32_t)bytes[i] << 8 * i;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_length(unsigned char bytes[LENGTH_BYTES], uint64_t value)
{
    for (int i = 0; i < LENGTH_BYTES; i++) {
        bytes[i] = (unsigned char)(value >> 8 * i);
    }
}

static uint64_t get_length(const unsigned char bytes[LENGTH_BYTES])
{
    uint64_t value = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    return value;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* {"dtype":"F32","shape":[rows,columns],"data_offsets":[begin,end]}; NULL when out of memory. */
static json *describe(const stored_tensor *each, uint64_t begin)
{
    json *entry = json_new_object(), *shape = json_new_array(), *offsets = json_new_array();
    bool made = json_append(shape, json_new_number((double)each->rows));
    if (each->columns > 0) {
        made = json_append(shape, json_new_number((double)each->columns)) && made;
    }
    made = json_append(offsets, json_new_number((double)begin)) && made;
    made = json_append(offsets, json_new_number((double)(begin + stored_bytes(each)))) && made;
    made = json_add(entry, "dtype", json_new_string(stored_type(each))) && made;
    made = json_add(entry, "shape", shape) && made;
    made = json_add(entry, "data_offsets", offsets) && made;
    if (!made) {
        json_free(entry);
        return NULL;
    }
    return entry;
}

/* The header's text; NULL when out of memory. Takes ownership of `metadata`. */
static char *describe_all(json *metadata, const stored_tensor *list, size_t count)
{
    json *header = json_new_object();
    uint64_t begin = 0;
    bool made = json_add(header, "__metadata__", metadata);
    for (size_t i = 0; i < count; i++) {
        made = json_add(header, list[i].name, describe(&list[i], begin)) && made;
        begin += stored_bytes(&list[i]);
    }
    char *text = made ? json_print(header, false) : NULL;
    json_free(header);
    return text;
}

/* Its length, its text, and spaces up to a multiple of 8 so that the numbers behind it are aligned. */
static nmt_status write_header(FILE *file, const char *text, const char *path, nmt_error *error)
{
    static const char spaces[] = "        ";
    const size_t length = strlen(text), padding = (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT;
    unsigned char bytes[LENGTH_BYTES];
    if (length + padding > header_limit) {
        return complain(error, NMT_INVALID, path,
                        "expected a header of at most %" PRIu64 " bytes, found %zu: the vocabularies are too large",
                        header_limit, length + padding);
    }
    put_length(bytes, length + padding);
    fwrite(bytes, 1, sizeof bytes, file);
    fwrite(text, 1, length, file);
    fwrite(spaces, 1, padding, file);
    return NMT_OK; /* what the stream could not take, the writer's commit reports */
}

static nmt_status write_values(FILE *file, const stored_tensor *each, const char *path, nmt_error *error)
{
    unsigned char bytes[4 * CHUNK];
    const size_t size = stored_size(each);
    if (each->bytes != NULL) {
        fwrite(each->bytes, 1, size, file);
        return NMT_OK;
    }
    for (size_t start = 0; start < size; start += CHUNK) {
        const size_t count = size - start < CHUNK ? size - start : CHUNK;
        for (size_t i = 0; i < count; i++) {
            const float value = (float)each->values[start + i];
            if (!isfinite(value)) {
                return not_finite(each, start + i, value, path, error);
            }
            put_float(bytes + 4 * i, value);
        }
        fwrite(bytes, 4, count, file);
    }
    return NMT_OK;
}

static nmt_status write_all(FILE *file, const char *header, const stored_tensor *list, size_t count, const char *path,
                            nmt_error *error)
{
    TRY(write_header(file, header, path, error));
    for (size_t i = 0; i < count; i++) {
        TRY(write_values(file, &list[i], path, error));
    }
    return NMT_OK;
}

nmt_status safetensors_save(const char *path, json *metadata, const stored_tensor *list, size_t count, nmt_error *error)
{
    nmt_writer *writer;
    char *header = describe_all(metadata, list, count);
    if (header == NULL) {
        return complain(error, NMT_NO_MEMORY, path, "out of memory: the header of %zu tensors", count);
    }
    nmt_status status = nmt_writer_open(&writer, path, error);
    if (status == NMT_OK) {
        status = write_all(nmt_writer_file(writer), header, list, count, path, error);
        if (status == NMT_OK) {
            status = nmt_writer_commit(writer, error);
        } else {
            nmt_writer_abandon(writer);
        }
    }
    free(header);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

void safetensors_close(safetensors *from)
{
    if (from->file != NULL) {
        fclose(from->file);
    }
    json_free(from->header);
}

static nmt_status read_bytes(safetensors *from, void *bytes, size_t count, nmt_error *error)
{
    errno = 0;
    if (fread(bytes, 1, count, from->file) == count) {
        return NMT_OK;
    }
    if (ferror(from->file)) {
        return io_failure(error, from->path, "cannot be read", errno);
    }
    return complain(error, NMT_INVALID, from->path, "expected %zu more bytes, found the end of the file", count);
}

const char *safetensors_place(place *buffer, const safetensors *from, const char *what)
{
    snprintf(buffer->text, sizeof buffer->text, "%s (%s)", from->path, what);
    return buffer->text;
}

static nmt_status parse_header(safetensors *from, uint64_t length, nmt_error *error)
{
    char *text;
    place where;
    TRY(memory_new(&text, length, 1, "the header of a model file", error));
    nmt_status status = read_bytes(from, text, length, error);
    if (status == NMT_OK && (length == 0 || text[0] != '{')) {
        status = complain(error, NMT_INVALID, from->path, "expected a safetensors header that starts with {, found %s",
                          length == 0 ? "nothing" : quote(&(quotation){{0}}, text, 1));
    }
    if (status == NMT_OK) {
        status = json_parse(&from->header, text, length, safetensors_place(&where, from, "header"), error);
    }
    free(text);
    return status;
}

static nmt_status read_header(safetensors *from, nmt_error *error)
{
    struct stat facts;
    unsigned char bytes[LENGTH_BYTES];
    if (fstat(fileno(from->file), &facts) != 0) {
        return io_failure(error, from->path, "cannot be read", errno);
    }
    if (!S_ISREG(facts.st_mode)) {
        return complain(error, NMT_INVALID, from->path, "expected a regular file");
    }
    const uint64_t size = (uint64_t)facts.st_size;
    if (size < LENGTH_BYTES) {
        return complain(error, NMT_INVALID, from->path, "expected a safetensors file, found %" PRIu64 " bytes in all",
                        size);
    }
    TRY(read_bytes(from, bytes, sizeof bytes, error));
    const uint64_t length = get_length(bytes), room = size - LENGTH_BYTES;
    if (length > room || length > header_limit) {
        return complain(error, NMT_INVALID, from->path,
                        "expected a safetensors header of at most %" PRIu64 " bytes, found a length of %" PRIu64,
                        room < header_limit ? room : header_limit, length);
    }
    from->data_start = LENGTH_BYTES + length;
    from->data_size = room - length;
    return parse_header(from, length, error);
}

static nmt_status check_metadata(safetensors *from, const char *format, nmt_error *error)
{
    from->metadata = json_get(from->header, "__metadata__");
    if (from->metadata == NULL || json_type_of(from->metadata) != JSON_OBJECT) {
        return complain(error, NMT_INVALID, from->path, "__metadata__: expected an object, found %s",
                        from->metadata == NULL ? "nothing" : json_type_name(json_type_of(from->metadata)));
    }
    const json *found = json_get(from->metadata, "format");
    const bool text = found != NULL && json_type_of(found) == JSON_STRING;
    if (!text || strcmp(json_string(found), format) != 0) {
        return complain(error, NMT_INVALID, from->path, "format: expected \"%s\", found %s", format,
                        text ? quote(&(quotation){{0}}, json_string(found), strlen(json_string(found))) : "nothing");
    }
    return NMT_OK;
}

nmt_status safetensors_open(safetensors *from, const char *path, const char *format, nmt_error *error)
{
    *from = (safetensors){.path = path};
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe, refused below, shall not be waited for */
    from->file = file >= 0 ? fdopen(file, "rb") : NULL;
    if (from->file == NULL) {
        const int cause = errno;
        if (file >= 0) {
            close(file);
        }
        return io_failure(error, path, "cannot be opened", cause);
    }
    TRY(read_header(from, error));
    return check_metadata(from, format, error);
}

bool safetensors_has(const safetensors *from, const char *key)
{
    return json_get(from->metadata, key) != NULL;
}

nmt_status safetensors_text(const safetensors *from, const char *key, const char **text, nmt_error *error)
{
    const json *value = json_get(from->metadata, key);
    if (value == NULL || json_type_of(value) != JSON_STRING) {
        return complain(error, NMT_INVALID, from->path, "__metadata__.%s: expected a string, found %s", key,
                        value == NULL ? "nothing" : json_type_name(json_type_of(value)));
    }
    *text = json_string(value);
    return NMT_OK;
}

nmt_status safetensors_json(const safetensors *from, const char *key, json_type type, json **value, nmt_error *error)
{
    const char *text = "";
    place where;
    *value = NULL;
    TRY(safetensors_text(from, key, &text, error));
    TRY(json_parse(value, text, strlen(text), safetensors_place(&where, from, key), error));
    if (json_type_of(*value) != type) {
        const json_type found = json_type_of(*value);
        json_free(*value);
        *value = NULL;
        return complain(error, NMT_INVALID, from->path, "__metadata__.%s: expected %s, found %s", key,
                        json_type_name(type), json_type_name(found));
    }
    return NMT_OK;
}

/* ---- tensors: everything is checked before the first number is read -----------------------------------------------
 */

/* Where the numbers of a tensor stand, in bytes from the start of the data. */
typedef struct extent {
    const stored_tensor *wanted;
    uint64_t begin, end;
} extent;

static nmt_status tensor_error(const safetensors *from, const char *name, const char *expected, const char *found,
                               nmt_error *error)
{
    return complain(error, NMT_INVALID, from->path, "tensor %s: expected %s, found %s",
                    quote(&(quotation){{0}}, name, strlen(name)), expected, found);
}

/* A list of sizes; false if it is anything else or longer than `room`. */
static bool read_sizes(const json *list, uint64_t *sizes, size_t room, size_t *count)
{
    *count = 0;
    if (list == NULL || json_type_of(list) != JSON_ARRAY) {
        return false;
    }
    for (const json *each = json_first(list); each != NULL; each = json_next(each)) {
        const double size = json_type_of(each) == JSON_NUMBER ? json_number(each) : -1;
        if (*count == room || !(size >= 0 && size <= 9007199254740992.0 && floor(size) == size)) {
            return false;
        }
        sizes[(*count)++] = (uint64_t)size;
    }
    return true;
}

/* `value` as it stands in the file, bounded and escaped. */
static const char *show(path_quotation *buffer, const json *value)
{
    char *printed = value != NULL ? json_print(value, false) : NULL;
    quote_path(buffer, printed != NULL ? printed : "nothing");
    free(printed);
    return buffer->text;
}

static nmt_status check_type(const safetensors *from, const stored_tensor *wanted, const json *entry, nmt_error *error)
{
    path_quotation found;
    const json *type = json_get(entry, "dtype");
    if (type == NULL || json_type_of(type) != JSON_STRING || strcmp(json_string(type), stored_type(wanted)) != 0) {
        char expected[16];
        snprintf(expected, sizeof expected, "dtype \"%s\"", stored_type(wanted));
        return tensor_error(from, wanted->name, expected, show(&found, type), error);
    }
    return NMT_OK;
}

static nmt_status check_shape(const safetensors *from, const stored_tensor *wanted, const json *entry, nmt_error *error)
{
    uint64_t sizes[2] = {0, 0};
    size_t count;
    const json *shape = json_get(entry, "shape");
    const bool is_list = read_sizes(shape, sizes, 2, &count);
    const size_t dimensions = wanted->columns > 0 ? 2 : 1;
    if (!is_list || count != dimensions || sizes[0] != wanted->rows || sizes[1] != wanted->columns) {
        char expected[64];
        path_quotation found;
        if (dimensions == 2) {
            snprintf(expected, sizeof expected, "shape [%zu,%zu]", wanted->rows, wanted->columns);
        } else {
            snprintf(expected, sizeof expected, "shape [%zu]", wanted->rows);
        }
        return tensor_error(from, wanted->name, expected, show(&found, shape), error);
    }
    return NMT_OK;
}

/* The size of the extent is that of the shape; where it stands is for check_cover. */
static nmt_status check_offsets(const safetensors *from, const json *entry, extent *where, nmt_error *error)
{
    uint64_t offsets[2];
    size_t count;
    const json *list = json_get(entry, "data_offsets");
    const uint64_t bytes = stored_bytes(where->wanted);
    const bool is_list = read_sizes(list, offsets, 2, &count);
    if (!is_list || count != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes) {
        char expected[128];
        path_quotation found;
        snprintf(expected, sizeof expected, "data_offsets of %" PRIu64 " bytes", bytes);
        return tensor_error(from, where->wanted->name, expected, show(&found, list), error);
    }
    where->begin = offsets[0];
    where->end = offsets[1];
    return NMT_OK;
}

static nmt_status check_entry(const safetensors *from, extent *where, nmt_error *error)
{
    const json *entry = json_get(from->header, where->wanted->name);
    if (entry == NULL || json_type_of(entry) != JSON_OBJECT) {
        return tensor_error(from, where->wanted->name, "an object in the header",
                            entry == NULL ? "nothing" : json_type_name(json_type_of(entry)), error);
    }
    TRY(check_type(from, where->wanted, entry, error));
    TRY(check_shape(from, where->wanted, entry, error));
    if (json_count(entry) != 3) {
        return tensor_error(from, where->wanted->name, "dtype, shape and data_offsets", "other keys as well", error);
    }
    return check_offsets(from, entry, where, error);
}

/* No tensor in the header that is not in the list. */
static nmt_status check_names(const safetensors *from, const stored_tensor *list, size_t count, nmt_error *error)
{
    for (const json *entry = json_first(from->header); entry != NULL; entry = json_next(entry)) {
        const char *name = json_key(entry);
        bool known = strcmp(name, "__metadata__") == 0;
        for (size_t i = 0; i < count && !known; i++) {
            known = strcmp(name, list[i].name) == 0;
        }
        if (!known) {
            return tensor_error(from, name, "no tensor of this name", "one", error);
        }
    }
    return NMT_OK;
}

static int compare_extents(const void *a, const void *b)
{
    const extent *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* The extents cover the data from its start to its end, each byte once. Sorts them. */
static nmt_status check_cover(const safetensors *from, extent *extents, size_t count, nmt_error *error)
{
    uint64_t expected = 0;
    qsort(extents, count, sizeof *extents, compare_extents);
    for (size_t i = 0; i < count; i++) {
        if (extents[i].begin != expected) {
            const char *name = extents[i].wanted->name;
            return complain(error, NMT_INVALID, from->path,
                            "tensor %s: expected to start at byte %" PRIu64 " of the data, found %" PRIu64 ": %s",
                            quote(&(quotation){{0}}, name, strlen(name)), expected, extents[i].begin,
                            extents[i].begin < expected ? "an overlap" : "a gap");
        }
        expected = extents[i].end;
    }
    if (expected != from->data_size) {
        return complain(error, NMT_INVALID, from->path,
                        "expected %" PRIu64 " bytes of data, as the header says, found %" PRIu64 ": %s", expected,
                        from->data_size,
                        from->data_size < expected ? "the file is cut short" : "something is appended");
    }
    return NMT_OK;
}

static nmt_status seek(safetensors *from, uint64_t offset, nmt_error *error)
{
    return fseeko(from->file, (off_t)(from->data_start + offset), SEEK_SET) == 0
               ? NMT_OK
               : io_failure(error, from->path, "cannot be read", errno);
}

static nmt_status read_values(safetensors *from, const stored_tensor *wanted, nmt_error *error)
{
    unsigned char bytes[4 * CHUNK];
    const size_t size = stored_size(wanted);
    for (size_t start = 0; start < size; start += CHUNK) {
        const size_t count = size - start < CHUNK ? size - start : CHUNK;
        TRY(read_bytes(from, bytes, 4 * count, error));
        for (size_t i = 0; i < count; i++) {
            const float value = get_float(bytes + 4 * i);
            if (!isfinite(value)) {
                return not_finite(wanted, start + i, value, from->path, error);
            }
            wanted->values[start + i] = value;
        }
    }
    return NMT_OK;
}

/* Leaves the extents in the order of the file. */
static nmt_status check(const safetensors *from, extent *extents, const stored_tensor *list, size_t count,
                        nmt_error *error)
{
    TRY(check_names(from, list, count, error));
    for (size_t i = 0; i < count; i++) {
        extents[i].wanted = &list[i];
        TRY(check_entry(from, &extents[i], error));
    }
    return check_cover(from, extents, count, error);
}

static nmt_status check_and_read(safetensors *from, extent *extents, const stored_tensor *list, size_t count,
                                 nmt_error *error)
{
    TRY(check(from, extents, list, count, error));
    for (size_t i = 0; i < count; i++) {
        if (extents[i].wanted->bytes == NULL) {
            TRY(seek(from, extents[i].begin, error));
            TRY(read_values(from, extents[i].wanted, error));
        }
    }
    return NMT_OK;
}

nmt_status safetensors_check(const safetensors *from, const stored_tensor *list, size_t count, nmt_error *error)
{
    extent *extents;
    TRY(memory_new(&extents, count, sizeof *extents, "the tensors of a model file", error));
    const nmt_status status = check(from, extents, list, count, error);
    free(extents);
    return status;
}

nmt_status safetensors_read(safetensors *from, const stored_tensor *list, size_t count, nmt_error *error)
{
    extent *extents;
    TRY(memory_new(&extents, count, sizeof *extents, "the tensors of a model file", error));
    const nmt_status status = check_and_read(from, extents, list, count, error);
    free(extents);
    return status;
}

nmt_status safetensors_read_bytes(safetensors *from, const char *name, char **bytes, size_t *size, nmt_error *error)
{
    uint64_t length;
    size_t count;
    const json *entry = json_get(from->header, name);
    const json *shape = entry != NULL && json_type_of(entry) == JSON_OBJECT ? json_get(entry, "shape") : NULL;
    if (!read_sizes(shape, &length, 1, &count) || count != 1 || length == 0 || length > from->data_size) {
        path_quotation found;
        return tensor_error(from, name, "a row of bytes within the file", show(&found, shape), error);
    }
    const stored_tensor wanted = {.name = name, .rows = (size_t)length, .bytes = ""};
    extent where = {.wanted = &wanted};
    TRY(check_entry(from, &where, error));
    if (where.end > from->data_size) {
        return tensor_error(from, name, "bytes within the file", "others", error);
    }
    char *made;
    TRY(memory_new(&made, (size_t)length, 1, "a piece model", error));
    nmt_status status = seek(from, where.begin, error);
    if (status == NMT_OK) {
        status = read_bytes(from, made, (size_t)length, error);
    }
    if (status != NMT_OK) {
        free(made);
        return status;
    }
    *bytes = made;
    *size = (size_t)length;
    return NMT_OK;
}
