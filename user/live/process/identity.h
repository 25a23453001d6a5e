/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process a pid means: a pid alone may pass to another process between a look and what follows from the look. A
 * pidfd holds the process, and the start time (field 22 of /proc/PID/stat) tells the process from others.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_IDENTITY_H
#define GPUMEMTRACE_LIVE_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define IDENTITY_MOST 64         /* descriptors at a time; the start time alone tells further processes from others */

/* Counts the descriptors of a session, which are taken and dropped by one thread. */
struct identities {
	uint32_t held;
	uint64_t by_start;           /* processes that were identified by the start time alone */
};

struct identity {
	pid_t pid;
	int fd;                      /* -1: none */
	uint64_t start_ticks;
};

/* Takes the identity of the process that has the pid now. 0; -ESRCH: there is none, or it has ended; else -errno: /proc
 * cannot be read now. Drop an identity that was taken. */
int identity_take(struct identities *identities, pid_t pid, struct identity *identity);
/* Whether the process still runs: then the pid is still its own. */
bool identity_is_there(const struct identity *identity);
void identity_drop(struct identities *identities, struct identity *identity);

#endif
