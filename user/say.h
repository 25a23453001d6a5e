/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for the user, on standard error. While the live view has the terminal of standard error, messages are kept:
 * the view shows the newest, and all of them are printed when the terminal is as before.
 */
#ifndef GPUMEMTRACE_SAY_H
#define GPUMEMTRACE_SAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

/* Prints one line: the program's name and the sentence, with control characters and broken UTF-8 as '?'. On a terminal
 * the line is broken at blanks. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From here on messages are kept. is_held: they are not printed before say_release(). */
void say_keep(bool is_held);
/* Prints the messages that were held. They are kept no longer. */
void say_release(void);
/* The process ends: from here on a message that standard error does not take at once is left out. */
void say_hurry(void);

struct said {
	char *text;
	uint64_t at_ns;          /* CLOCK_MONOTONIC */
};

#define SAY_SHOWN 64
/* Copies the newest messages, the newest last; the caller frees the texts. Returns their number. */
size_t say_newest(struct said copies[SAY_SHOWN]);

#endif
