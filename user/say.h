/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for the user, on standard error. */
#ifndef GPUMEMTRACE_SAY_H
#define GPUMEMTRACE_SAY_H

/* Prints one line: the program's name and the sentence, with control characters and broken UTF-8 as '?'. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
