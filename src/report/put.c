/* Numbers and text of a report, whatever the locale is and whatever a token holds. */
#include <math.h>
#include <string.h>

#include "core/utf8.h"
#include "report/format.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Puts digits of printf as they are in the C locale: the caller's may have another decimal point than '.', of any
 * length: it is whatever is neither digit nor sign nor letter. */
static void put_digits(FILE *file, const char *digits)
{
    for (const char *cursor = digits; *cursor != '\0';) {
        const size_t plain = strspn(cursor, "+-0123456789abcdefghijklmnopqrstuvwxyz");
        fwrite(cursor, 1, plain, file);
        cursor += plain;
        if (*cursor != '\0') {
            putc('.', file);
            cursor += strcspn(cursor, "+-0123456789abcdefghijklmnopqrstuvwxyz");
        }
    }
}

void put_weight(FILE *file, float weight)
{
    char digits[48];
    snprintf(digits, sizeof digits, "%.9g", (double)weight);
    put_digits(file, digits);
}

void put_number(FILE *file, double number)
{
    char digits[48];
    snprintf(digits, sizeof digits, fabs(number) >= 1000 && number == floor(number) ? "%.0f" : "%.4g", number);
    put_digits(file, digits);
}

/* XML 1.0 has no control characters but these three, nor U+FFFE and U+FFFF. */
static bool is_xml(const char *character, size_t length)
{
    const unsigned char first = (unsigned char)character[0];
    if (length == 1) {
        return first >= 0x20 || first == '\t' || first == '\n' || first == '\r';
    }
    return length != 3 || memcmp(character, "\xef\xbf", 2) != 0 || (unsigned char)character[2] < 0xbe;
}

void put_xml(FILE *file, const char *text, size_t length)
{
    static const char special[] = "<>&\"'\t\n\r";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&#9;", "&#10;", "&#13;"};
    for (size_t at = 0; at < length;) {
        const size_t bytes = utf8_character(text + at, length - at);
        const char *found = bytes == 1 && text[at] != '\0' ? strchr(special, text[at]) : NULL;
        if (bytes == 0 || !is_xml(text + at, bytes)) {
            fputs(replacement, file);
        } else if (found != NULL) {
            fputs(entities[found - special], file);
        } else {
            fwrite(text + at, 1, bytes, file);
        }
        at += bytes > 0 ? bytes : 1;
    }
}

/* Escapes too what would end a script or open a comment in it ('<', '&', '>') and the line separators of JavaScript. */
void put_json_text(FILE *file, const char *text)
{
    const size_t length = strlen(text);
    putc('"', file);
    for (size_t at = 0; at < length;) {
        const size_t bytes = utf8_character(text + at, length - at);
        const unsigned char first = (unsigned char)text[at];
        if (bytes == 0) {
            fputs(replacement, file);
        } else if (bytes == 1 && (first < 0x20 || first == 0x7f || strchr("\"\\<>&", first) != NULL)) {
            fprintf(file, "\\u%04x", first);
        } else if (bytes == 3 && memcmp(text + at, "\xe2\x80\xa8", 3) == 0) {
            fputs("\\u2028", file);
        } else if (bytes == 3 && memcmp(text + at, "\xe2\x80\xa9", 3) == 0) {
            fputs("\\u2029", file);
        } else {
            fwrite(text + at, 1, bytes, file);
        }
        at += bytes > 0 ? bytes : 1;
    }
    putc('"', file);
}
