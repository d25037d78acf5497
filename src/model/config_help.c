/* The text of `--help-config`. */
#include <stdlib.h>
#include <string.h>

#include "core/text_buffer.h"
#include "model/config_messages.h"

enum { HELP_INDENT = 2, HELP_COLUMN = 31, HELP_WIDTH = 100 };

static void help_spaces(text_buffer *out, size_t count)
{
    while (count-- > 0) {
        text_buffer_add(out, " ", 1);
    }
}

/* Words of `text` from the column where the line stands, which is `indent`, broken at the width of the page. */
static void help_wrapped(text_buffer *out, const char *text, size_t indent)
{
    size_t column = indent;
    while (*text != '\0') {
        const size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + word > HELP_WIDTH) {
            text_buffer_add(out, "\n", 1);
            help_spaces(out, indent);
            column = indent;
        }
        if (column > indent) {
            text_buffer_add(out, " ", 1);
            column++;
        }
        text_buffer_add(out, text, word);
        column += word;
        text += word + strspn(text + word, " ");
    }
    text_buffer_add(out, "\n", 1);
}

static void say_default(phrase *line, const config_key *key)
{
    if (key->flags & KEY_FOR_TRAINING) {
        phrase_add(line, "required for training");
        return;
    }
    phrase_add(line, "default ");
    if (key->type == KEY_BOOLEAN) {
        phrase_add(line, key->number != 0 ? "true" : "false");
    } else if (key->type == KEY_INTEGER || key->type == KEY_NUMBER) {
        phrase_add_number(line, key->number);
    } else if (key->text != NULL) {
        phrase_add(line, "\"%s\"", key->text);
    } else {
        phrase_add(line, "null");
    }
}

static void help_key(text_buffer *out, const config_key *key)
{
    phrase kind = {{0}, 0};
    phrase_add_expected(&kind, key);
    phrase_add(&kind, "; ");
    say_default(&kind, key);
    help_spaces(out, HELP_INDENT);
    text_buffer_add(out, key->path, strlen(key->path));
    help_spaces(out, HELP_COLUMN - HELP_INDENT - strlen(key->path));
    help_wrapped(out, kind.text, HELP_COLUMN);
    help_spaces(out, HELP_COLUMN);
    help_wrapped(out, key->meaning, HELP_COLUMN);
}

char *nmt_config_help(void)
{
    text_buffer out = {0};
    for (size_t i = 0; i < config_section_count; i++) {
        phrase title = {{0}, 0};
        phrase_add(&title, "%s: %s", config_sections[i].name, config_sections[i].meaning);
        if (i > 0) {
            text_buffer_add(&out, "\n", 1);
        }
        help_wrapped(&out, title.text, 0);
        for (const config_key *key = config_keys; key < config_keys + config_key_count; key++) {
            if (config_key_is_in(key, config_sections[i].name, strlen(config_sections[i].name))) {
                help_key(&out, key);
            }
        }
    }
    return text_buffer_end(&out);
}
