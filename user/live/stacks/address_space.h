/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one traced process: its modules as /proc/PID/maps has them, and what BPF is told of
 * them: a sorted list of mappings, each with its table, and the process's Python. Of one thread only.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_ADDRESS_SPACE_H
#define GPUMEMTRACE_LIVE_STACKS_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>

#include "symbol/elf/modules.h"
#include "symbol/python/pyversion.h"

struct publisher;
struct pycode;
struct tables;

enum space_python {
	SPACE_PYTHON_UNKNOWN,         /* ask (again) */
	SPACE_PYTHON_NONE,            /* not now: a module that comes may bring it */
	SPACE_PYTHON_FOUND,
	SPACE_PYTHON_REFUSED,         /* python.why says why */
};

struct space {
	uint32_t tgid;
	bool is_told;                 /* BPF knows it */
	bool is_python_told;          /* ... and its Python */
	bool is_listed;               /* the newest list was given */
	bool is_gone;                 /* the process has ended: what is known of it is kept for names */
	bool shares_mounts;           /* its files are ours: they can be opened when it is gone */
	bool with_python;             /* Python is looked for */
	uint32_t slot, mapping_count; /* the list that BPF has; 0 of them: none */
	uint32_t next_slot, next_count; /* ... and that it will have when this is done, 0: */
	int64_t next;
	struct modules modules;
	struct gmt_unwind_mapping *mappings; /* of modules.maps */
	bool *is_pending;             /* of modules.list: its table is not built yet */
	size_t pending;
	enum space_python python_state;
	unsigned int refusals;        /* how often it was a Python that cannot be read */
	struct pyversion python;
	struct pycode *codes;
};

void space_init(struct space *space, uint32_t tgid, bool with_python);
void space_fini(struct space *space, struct publisher *publisher);

/* Reads what is mapped now. 1: it has changed since; 0: it has not; -ESRCH: the process is gone; else
 * -errno. Tables that BPF has are used, the others become pending. */
int space_read(struct space *space, const struct tables *tables);

/* Builds the table of one pending module: milliseconds, for the largest a second. */
void space_build_one(struct space *space, struct tables *tables);

/*
 * Tells BPF: of Python at once, of what is mapped before long. `may_list`: a new list may be given now.
 * 0: it knows everything; -EAGAIN: call it again; else -errno; -ENOSPC: too many processes.
 */
int space_publish(struct space *space, struct publisher *publisher, bool may_list);

/* The process has ended: its files are opened by their paths from now on, where these are the same for us. */
void space_lose(struct space *space);
/* The same, if it has; whether it has. */
bool space_is_lost(struct space *space);

/* The process has ended, or runs another program: BPF forgets it. */
void space_withdraw(struct space *space, struct publisher *publisher);

#endif
