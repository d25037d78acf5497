#include "core/utf8.h"

#include <stdint.h>
#include <string.h>

/* Number of bytes that a lead byte announces and the bounds of the second byte, the only one whose bounds vary. */
static size_t lead(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return 2;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        *low = first == 0xE0 ? 0xA0 : 0x80;
        *high = first == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        *low = first == 0xF0 ? 0x90 : 0x80;
        *high = first == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

size_t utf8_character(const char *text, size_t length)
{
    if (length == 0) {
        return 0;
    }
    unsigned char low, high;
    const size_t count = lead((unsigned char)text[0], &low, &high);
    if (count > length) {
        return 0;
    }
    for (size_t i = 1; i < count; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte < low || byte > high) {
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return count;
}

size_t utf8_error(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint64_t eight;
        if (length - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) { /* all of them ASCII: most text is */
                at += sizeof eight;
                continue;
            }
        }
        const size_t count = utf8_character(text + at, length - at);
        if (count == 0) {
            return at;
        }
        at += count;
    }
    return length;
}
