/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that a program has written last. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_RELAY_LINE_H
#define GPUMEMTRACE_LIVE_PROCESS_RELAY_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the last line with more than blanks in `text` to `to`, cut to `room` bytes with the NUL. A carriage return
 * begins a line, too, as progress bars use it. Escape sequences are left out; all else stays foreign text. False: there
 * is no such line. */
bool relay_last_line(const char *text, size_t size, char *to, size_t room);

#endif
