/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for libraries that processes have mapped, when the mapping events do not say it all: events were lost, or one
 * process has so many that each cannot have its own look. Any process of the machine can send as many events as it
 * likes. So looks at all targets are rare enough to take a small share of the time.
 */
#ifndef GPUMEMTRACE_RESCAN_H
#define GPUMEMTRACE_RESCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

#define RESCAN_SHARE 20                /* a look of 1 ms is followed by 20 ms without a look */
#define RESCAN_PERIOD_NS 100000000ull  /* at least, between looks at all targets */

/* When the next look may begin after a look that began and ended at these times: at least `least_ns` later. */
uint64_t rescan_next(uint64_t start_ns, uint64_t now_ns, uint64_t least_ns);

/* Removes probes that would kill a process (probed_files.h), and says so. */
void rescan_guard(struct session *session, bool at_once);
/* Says that probes were removed, now and in the report. */
void rescan_give_up(struct session *session, const char *cause);

/* Whether a process may be looked at now. If not, a look at all targets becomes due. is_late: the process has mapped a
 * libcuda that is not probed. */
bool rescan_may_look(struct session *session, pid_t pid, bool is_late);
/* A look at the process has begun at that time, and ends now. */
void rescan_looked(struct session *session, pid_t pid, uint64_t start_ns);

/* A look at a process has ended that mapped a libcuda while the library was not probed. Counts the process if it may
 * have made calls until now. */
void rescan_note_late(struct session *session, pid_t pid);

/* Events were lost: a look at all targets becomes due. */
void rescan_ask(struct session *session, uint64_t lost);
/* Looks at all targets, if that is due and the time has come. */
void rescan_look(struct session *session);

#endif
