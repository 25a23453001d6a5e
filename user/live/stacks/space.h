/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of the code of one traced process (address_space.h, space_tables.h). */
#ifndef GPUMEMTRACE_LIVE_STACKS_SPACE_H
#define GPUMEMTRACE_LIVE_STACKS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>

#include "live/stacks/code_events.h"
#include "symbol/elf/modules.h"
#include "symbol/python/pyversion.h"

struct parse_client;
struct publisher;
struct pycode;

enum space_python {
	SPACE_PYTHON_UNKNOWN,         /* ask (again) */
	SPACE_PYTHON_NONE,            /* none now: a later module may bring one */
	SPACE_PYTHON_FOUND,
	SPACE_PYTHON_REFUSED,         /* python.why says why */
};

#define SPACE_OLD_LISTS 4         /* former lists of mappings that are kept */

/* The mappings between two moments (code_events.h): those of `first` are in the list, those up to `last` may be. */
struct code_list {
	struct modules modules;
	uint32_t first, last;
};

struct space {
	uint32_t tgid;
	struct parse_client *client;
	bool is_told;                 /* BPF knows it */
	bool is_python_told;          /* ... and its Python */
	bool is_listed;               /* the newest list was given */
	bool is_gone;                 /* the process has ended: its modules are kept for names */
	bool shares_mounts;           /* its paths are ours: files can be opened when it is gone */
	bool with_python;             /* Python is looked for */
	uint32_t slot, mapping_count; /* the list that BPF has; 0 of them: none */
	uint32_t slot_moment;         /* ... and its code_list.first */
	uint32_t next_slot, next_count, next_moment; /* the list that BPF gets next */
	int64_t next;                 /* publisher_is_done()'s number of that list; 0: there is none */
	struct modules modules;
	uint32_t first, last;         /* the moments of `modules`: code_list's */
	struct code_list old[SPACE_OLD_LISTS]; /* former lists whose mappings went, the newest first */
	struct code_events events;
	struct gmt_unwind_mapping *mappings; /* of modules.maps */
	bool *is_pending;             /* of modules.list: its table is not built yet */
	size_t pending;
	uint32_t next_pending;        /* no module before it is pending, but for those that are postponed: */
	size_t postponed;             /* their files could not be opened now; they are not among `pending` */
	unsigned int retries;         /* of postponed modules */
	enum space_python python_state;
	unsigned int refusals;        /* how often its Python could not be read */
	struct pyversion python;
	struct pycode *codes;
};

#endif
