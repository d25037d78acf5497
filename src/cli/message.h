/* What the commands say to a person, all of it on standard error. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

/* One line, "nmt COMMAND: ..." (COMMAND NULL: "nmt: ..."). Control characters and bytes that are not UTF-8, which may
 * have come in through a file or an argument, are written as escapes. */
void message(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
