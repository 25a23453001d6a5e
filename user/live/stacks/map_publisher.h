/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives BPF its knowledge of processes: their entries at once, lists of mappings and tables on a thread of its own. The
 * kernel delays each change of a map of maps until no program can see the old map, tens of milliseconds: if the reader
 * of processes waited for that, short processes would be gone before they are read.
 *
 * Orders are carried out one after the other. One thread calls these functions.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_MAP_PUBLISHER_H
#define GPUMEMTRACE_LIVE_STACKS_MAP_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>

#define PUBLISHER_NO_SLOT UINT32_MAX

struct publisher;

/* BPF's maps (file descriptors), which outlive the publisher. */
struct stack_maps {
	int spaces;
	uint32_t *spaces_changed;     /* the counter, in BPF's memory; NULL: there is none */
	int mapped;                   /* the numbers of processes' newest executable mappings */
	int mappings, shards;
};

/* Never NULL: if no thread can be made, the caller of the functions below waits. */
struct publisher *publisher_new(const struct stack_maps *maps);
/* Drops the orders that are left. */
void publisher_free(struct publisher *publisher);

/* Puts a list of mappings, a map, into a slot and closes the descriptor. Returns a number for publisher_is_done(),
 * above 0; -ENOSPC: there are too many lists. */
int64_t publisher_put_list(struct publisher *publisher, int fd, uint32_t *slot);
/* Removes a list that no entry names any more. NO_SLOT is ignored. */
void publisher_drop_list(struct publisher *publisher, uint32_t slot);

/* Puts a map of words in its place and closes the descriptor. */
void publisher_put_shard(struct publisher *publisher, uint32_t i, int fd);
/* Bytes of the lists and shards that BPF has: their descriptors are closed. */
uint64_t publisher_bytes(const struct publisher *publisher);

bool publisher_is_done(struct publisher *publisher, int64_t number);
/* -errno of the first list or shard that the kernel refused; 0: there is none. */
int publisher_refusal(struct publisher *publisher);

/* The number of the process's newest executable mapping (struct gmt_code_mapped). From the first call on, and from the
 * process's first stack on, mappings are numbered. 0: there are too many processes. */
uint32_t publisher_mapped(struct publisher *publisher, uint32_t tgid);

/* Sets the entry of a process at once, with a new generation. 0 or -errno. */
int publisher_tell(struct publisher *publisher, uint32_t tgid, struct gmt_stack_space *space);
void publisher_forget(struct publisher *publisher, uint32_t tgid);

/* The process has ended: its mappings are no longer numbered. */
void publisher_ended(struct publisher *publisher, uint32_t tgid);

#endif
