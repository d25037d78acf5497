#include "report/drawing.h"

#include <string.h>

#include "core/utf8.h"
#include "data/text.h"
#include "report/format.h"

enum {
    COLUMN = 8,        /* no less than what most letters take, which count one column of a terminal; ideographs two */
    LABEL_COLUMNS = 32 /* longer tokens are cut; their tooltips are not */
};

void drawing_begin(FILE *file, size_t width, size_t height, int font_size, const char *title)
{
    fprintf(
        file,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" role=\"img\"\n"
        "     font-family=\"'Noto Sans','DejaVu Sans',Arial,'Noto Sans CJK SC',sans-serif\" font-size=\"%d\" "
        "fill=\"#1f2933\">\n"
        "<title>%s</title>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        width, height, width, height, font_size, title);
}

/* Bytes of the token that fit a label. */
static size_t label_length(const char *token)
{
    const size_t length = strlen(token);
    size_t end = 0;
    while (end < length) {
        const size_t bytes = utf8_character(token + end, length - end);
        const size_t next = end + (bytes > 0 ? bytes : 1);
        if (text_width(token, next) > LABEL_COLUMNS) {
            break;
        }
        end = next;
    }
    return end;
}

size_t label_width(const char *token)
{
    const size_t length = label_length(token);
    return COLUMN * (text_width(token, length) + (token[length] != '\0'));
}

size_t label_leaning(size_t width)
{
    return (width * 71 + 99) / 100;
}

void put_label(FILE *file, const char *token)
{
    const size_t length = label_length(token);
    put_xml(file, token, length);
    fputs(token[length] != '\0' ? "…<title>" : "<title>", file);
    put_xml(file, token, strlen(token));
    fputs("</title></text>\n", file);
}
