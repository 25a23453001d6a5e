/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds probed files that no process maps any more, and chooses those that lose their probes. A job that comes back
 * should find its library probed, so the files that were mapped last stay. When a process maps a dropped file again,
 * the file is probed again, like a new file.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_UNMAPPED_H
#define GPUMEMTRACE_LIVE_PROBE_UNMAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/probe/library.h"

/* X(NAME, number, what it bounds) */
#define UNMAPPED_NUMBERS(X)                                                                \
	X(KEPT, 32, "files that nobody maps and that stay probed, those that were mapped last") \
	X(SHARE, 8, "such files take this part of all descriptors at most: an eighth")    \
	X(AGE_MS, 60000, "a file stays for so long after it was seen mapped")             \
	X(LOOKS, 6, "looks at all processes in that time, at most")                       \
	X(REST, 20, "a look of 1 ms is followed by 20 ms without a look")
enum unmapped_number {
#define X(name, number, text) UNMAPPED_##name = number,
	UNMAPPED_NUMBERS(X)
#undef X
};

struct stream;

struct probed_file {
	struct library library;  /* without probes: refused, or given up */
	uint64_t mapped_ino;     /* as mappings have it, which may be another one below an overlay; 0: unknown */
	uint32_t number;         /* for attach.h; no other file gets the number later */
	uint32_t uid;            /* the file counts for this user, and takes so many descriptors: */
	size_t descriptors;
	bool stays;              /* named by the user of gpumemtrace, or likely to be loaded */
	bool is_seen;            /* mapped, at the newest look */
	uint64_t seen_ns;        /* when it was last seen mapped, or was probed */
};

struct unmapped {
	uint64_t age_ns;         /* UNMAPPED_AGE_MS, or less for a test */
	uint64_t descriptors;    /* that files which nobody maps may take */
	uint64_t next_ns;        /* no look before; 0 at first */
	size_t dropped;          /* files, ever */
	struct stream *stream;   /* gets the records of dropped files */
};

/* If files are so many that some may have to go, and a look at all processes is due: looks, and drops files. They lose
 * their probes, their places in `files`, and their parts of the quota. */
struct attach;
struct quota;
void unmapped_drop(struct unmapped *unmapped, struct probed_file *files, size_t *count, struct attach *attach,
		   struct quota *quota);

/* The next file to drop after a look, or -1: the one whose mapping is longest ago, and at least age_ns, if the files
 * that nobody maps are more than UNMAPPED_KEPT or take more than `descriptors`. Pure. */
int unmapped_choose(const struct probed_file *files, size_t count, uint64_t now_ns, uint64_t age_ns,
		    uint64_t descriptors);

#endif
