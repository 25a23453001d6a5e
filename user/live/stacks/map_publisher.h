/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What BPF is told of processes: who they are at once, what they have mapped and where tables lie on a
 * thread of its own. The kernel lets each change of a map of maps wait for all programs that might still
 * see the old one, tens of milliseconds: a process that lives no longer would be gone before it is read if
 * its reader waited along.
 *
 * What is put is there after all that was put before, and once it is done. One thread calls this.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_MAP_PUBLISHER_H
#define GPUMEMTRACE_LIVE_STACKS_MAP_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>

#define PUBLISHER_NO_SLOT UINT32_MAX

struct publisher;

/* BPF's maps (file descriptors), which outlive who has them. */
struct stack_maps {
	int spaces;
	uint32_t *spaces_changed;     /* the counter, in BPF's memory; NULL: nobody looks */
	int mappings, shards;
};

/* Never NULL: where no thread can be had, who puts something waits. */
struct publisher *publisher_new(const struct stack_maps *maps);
/* What is not done is dropped: the maps go with it. */
void publisher_free(struct publisher *publisher);

/* A list of mappings, a map that is closed here. Gives it a slot. Returns a number for publisher_is_done(),
 * above 0; -ENOSPC: there are too many lists. */
int64_t publisher_put_list(struct publisher *publisher, int fd, uint32_t *slot);
/* No space that BPF knows has it any more. NO_SLOT is ignored. */
void publisher_drop_list(struct publisher *publisher, uint32_t slot);

/* A map of words, which is closed here, and its place. */
void publisher_put_shard(struct publisher *publisher, uint32_t i, int fd);

bool publisher_is_done(struct publisher *publisher, int64_t number);

/* Done at once: what BPF knows of a process, under a new generation. 0 or -errno. */
int publisher_tell(struct publisher *publisher, uint32_t tgid, struct gmt_stack_space *space);
void publisher_forget(struct publisher *publisher, uint32_t tgid);

#endif
