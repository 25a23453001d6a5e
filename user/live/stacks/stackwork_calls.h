/* SPDX-License-Identifier: BSD-2-Clause */
/* What others tell the stack worker (stack_worker.h), and what the worker tells others. */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACKWORK_CALLS_H
#define GPUMEMTRACE_LIVE_STACKS_STACKWORK_CALLS_H

#include <stdint.h>

#include "live/stacks/stack_names.h"

enum stackwork_due {
	DUE_NOT,
	DUE_SOON,                    /* before long: the process has mapped a file */
	DUE_NOW,
};

struct stackwork_calls {
	naming_put put;              /* gets records for the stream */
	/* Gets a message about a process for the user, each once. */
	void (*say)(void *arg, uint32_t tgid, const char *text);
	/* Hears of a file that cannot be read (parse_gave_up()), what is missing for that, and why (parse_why()). */
	void (*refused)(void *arg, const char *path, const char *missing, int err, const char *why);
	/* Hears of a process that the worker has forgotten, as it is gone, though nobody told its end. */
	void (*forgotten)(void *arg, uint32_t tgid);
	void *arg;
};

#endif
