/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of the live view: its modes, its keys, and the way back to how it was. Only who has the terminal's
 * foreground may use it: a job in the background neither draws nor reads.
 */
#ifndef GPUMEMTRACE_SCREEN_TERMINAL_H
#define GPUMEMTRACE_SCREEN_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct terminal;

/* The terminal behind the descriptor, opened once more so that writes do not wait. has_keys: keys of standard input are
 * for the screen, if standard input is a terminal; else all keys and modes are another program's. NULL: there is no
 * terminal. */
struct terminal *terminal_open(int fd, bool has_keys);
void terminal_close(struct terminal *terminal);   /* NULL is fine; gives the terminal back */

int terminal_fd(const struct terminal *terminal);
int terminal_keys_fd(const struct terminal *terminal);  /* -1: there are no keys */

bool terminal_is_ours(const struct terminal *terminal);
/* Keys come one at a time and without echo. Ctrl-C and Ctrl-Z stay signals; Ctrl-\ is a key. leaving: the bytes that
 * a screen ends with, kept, not copied. */
void terminal_take(struct terminal *terminal, const char *leaving, size_t size);
/* The modes are as before. Keys that nobody has read are dropped: they were not meant for the shell. */
void terminal_give_back(struct terminal *terminal);

/* For a process that ends at once, on any thread: writes the bytes of terminal_take(), restores the modes. False: the
 * terminal was not taken. */
bool terminal_rescue(struct terminal *terminal);

#endif
