/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session waits for: its sources of events, and the signals that end it. session.c takes the events. */
#ifndef GPUMEMTRACE_EVENTS_H
#define GPUMEMTRACE_EVENTS_H

#include <stdint.h>

struct session;

/* Where an event comes from. An event of TARGET also has the process's pidfd. */
enum session_source {
	SESSION_RING, SESSION_WATCH, SESSION_SIGNAL, SESSION_ENDING, SESSION_TICK, SESSION_KEYS, SESSION_TARGET
};
#define SESSION_EVENT(source, fd) ((uint64_t)(source) << 32 | (uint32_t)(fd))
#define SESSION_EVENT_SOURCE(event) ((enum session_source)((event)->data.u64 >> 32))
#define SESSION_EVENT_FD(event) ((int)(uint32_t)(event)->data.u64)

/* Opens the sources that each session has. 0, or the exit status after a sentence on standard error. */
int events_open(struct session *session);
/* Adds a source. 0 or -errno. */
int events_add(struct session *session, int fd, enum session_source source);

#endif
