/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command's output while a screen has the terminal: the command gets a pseudo terminal for its output, and a process
 * of its own (relay_child.h) keeps the text as long as the screen is there and writes the text to the terminal before
 * and after. The command never waits for the tracer, and the process outlives the tracer.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_RELAY_H
#define GPUMEMTRACE_LIVE_PROCESS_RELAY_H

#include <stdbool.h>
#include <stddef.h>

struct command_output;
struct relay;

#define RELAY_LINE 256           /* bytes */

/* For the terminal behind `terminal`, of which standard output or standard error must be; *output says what the command
 * gets, and belongs to the relay. Call while the process has one thread and all its privileges. 0 or -errno. */
int relay_open(struct relay **relay, int terminal, struct command_output *output);
/* The text is passed on from here on, by a process that nobody owns, as long as the command has the pseudo terminal.
 * NULL is fine. */
void relay_close(struct relay *relay);

/* Keeps the text from here on. leaving: the bytes that a screen ends with, for the case that this process is killed. */
void relay_hold(struct relay *relay, const char *leaving, size_t size);
bool relay_holds(const struct relay *relay);
/* Writes what was kept, and passes the text on from here on. relay_let_go() does not wait, and is for any thread;
 * relay_settle() returns when all that was written until now has arrived, after `most_ms` at the latest (-1: as long as
 * the terminal takes). */
void relay_let_go(struct relay *relay);
void relay_settle(struct relay *relay, int most_ms);

/* The pseudo terminal gets the size of the terminal. */
void relay_fit(struct relay *relay);

/* The last line of the text: foreign text. False: there is none, or the text comes too fast. */
bool relay_newest(const struct relay *relay, char line[RELAY_LINE]);

#endif
