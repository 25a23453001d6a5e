/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one traced process: its modules from /proc/PID/maps, the sorted list of mappings for BPF, each with its
 * table, and the process's Python. For one thread only.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_ADDRESS_SPACE_H
#define GPUMEMTRACE_LIVE_STACKS_ADDRESS_SPACE_H

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
struct tables;

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
	enum space_python python_state;
	unsigned int refusals;        /* how often its Python could not be read */
	struct pyversion python;
	struct pycode *codes;
};

/* `client` reads the process's files, and must stay. */
void space_init(struct space *space, uint32_t tgid, struct parse_client *client, bool with_python);
void space_fini(struct space *space, struct publisher *publisher);

/* Reads the mappings. 1: they have changed; 0: they have not; -ESRCH: the process is gone; else -errno. Tables that BPF
 * has are used, the others become pending. */
int space_read(struct space *space, const struct tables *tables, struct publisher *publisher);

/* The list that tells which code an address was at a moment; NULL: that is not known, or there was none. */
struct modules *space_code_at(struct space *space, uint32_t moment, uint64_t address);

/* Whether the list that is used now may have other code at an address than there was at a moment. */
bool space_has_changed(const struct space *space, uint32_t moment, uint64_t address);

/* Whether all that was mapped before the last reading has been told. */
bool space_is_told_all(const struct space *space);

/* Builds the table of one pending module, which takes milliseconds, and a second for the largest module. 0; else the
 * error of tables_build(), and the path of the module. */
int space_build_one(struct space *space, struct tables *tables, const char **path);

/*
 * Gives BPF the process's Python at once, and its mappings before long. `may_list`: a new list may be given now.
 * 0: BPF has everything; -EAGAIN: call again; -ENOSPC: too many processes; else -errno.
 */
int space_publish(struct space *space, struct publisher *publisher, bool may_list);

/* Whether this user may open the process's files: the way leads through the process's root, which another user's
 * process shows with CAP_SYS_PTRACE alone. */
bool space_may_open(const struct space *space);

/* The process has ended: from now on its files are opened by their paths, if the paths are the same for us. */
void space_lose(struct space *space);
/* Calls space_lose() if the process has ended. Returns whether it has ended. */
bool space_is_lost(struct space *space);

/* Makes BPF forget the process, which has ended or runs another program. */
void space_withdraw(struct space *space, struct publisher *publisher);

#endif
