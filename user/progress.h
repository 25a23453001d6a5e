/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of a file has been read, on the terminal of standard error, if reading takes a while. */
#ifndef GPUMEMTRACE_PROGRESS_H
#define GPUMEMTRACE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: nothing is shown. */
struct progress {
	const char *name;
	uint64_t total;          /* bytes; 0: not known, and nothing is shown */
	uint64_t next_ns;        /* CLOCK_MONOTONIC: the next time to look */
	unsigned int looks;
	bool is_shown;
};

/* Begins to show, if standard error is a terminal. */
void progress_begin(struct progress *p, const char *name, uint64_t total);
/* So many bytes have been read: cheap, for each record. */
void progress_see(struct progress *p, uint64_t done);
/* Takes what is shown from the terminal. */
void progress_end(struct progress *p);

#endif
