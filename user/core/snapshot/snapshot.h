/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's device memory in the form of PyTorch's memory snapshots: the segments, their blocks, and the events that
 * led there. An allocation of the driver's that PyTorch does not manage is a segment with one block.
 *
 * Viewers go back from the end and trust each event. So, whatever was lost, four rules hold. An event that ends memory
 * ends memory that is there at that moment. An event that begins memory begins it where no memory is. A live block lies
 * in a live segment. The blocks of a segment cover the segment.
 */
#ifndef GPUMEMTRACE_CORE_SNAPSHOT_SNAPSHOT_H
#define GPUMEMTRACE_CORE_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash;
struct history;
struct snapshot_index;
struct window;

/* X(NAME, name): PyTorch's words. */
#define SNAPSHOT_ACTIONS(X)                                                       \
	X(ALLOC, "alloc")                                                         \
	X(FREE_REQUESTED, "free_requested")                                       \
	X(FREE_COMPLETED, "free_completed")                                       \
	X(SEGMENT_ALLOC, "segment_alloc")                                         \
	X(SEGMENT_FREE, "segment_free")                                           \
	X(SEGMENT_MAP, "segment_map")                                             \
	X(SEGMENT_UNMAP, "segment_unmap")                                         \
	X(OOM, "oom")
enum snapshot_action {
#define X(name, text) SNAPSHOT_##name,
	SNAPSHOT_ACTIONS(X)
#undef X
};

/* X(NAME, text): a remark beside a stack, or in place of a stack. */
#define SNAPSHOT_WHYS(X)                                                          \
	X(NONE, "")                                                               \
	X(NO_STACK, "gpumemtrace: no stack trace was taken")                      \
	X(NOT_NAMED, "gpumemtrace: the frame names of this stack trace are unknown") \
	X(BEFORE, "gpumemtrace: allocated before tracing began")                  \
	X(FREED, "gpumemtrace: the memory that is freed here was allocated by")   \
	X(EARLIER, "gpumemtrace: allocated before the events in this file, by")   \
	X(WORKED_FOR, "gpumemtrace: the thread with the frames above worked for")   \
	X(MISSED, "gpumemtrace: the allocation was not seen")                     \
	X(GUESSED, "gpumemtrace: allocated before tracing began; the size is a guess") \
	X(UNSEEN, "gpumemtrace: everything that PyTorch allocated before tracing began; the address is made up")
enum snapshot_why {
#define X(name, text) SNAPSHOT_WHY_##name,
	SNAPSHOT_WHYS(X)
#undef X
};

struct snapshot_event {
	uint64_t ts_ns;
	uint64_t address;        /* OOM: bytes that were free on the GPU, 0 unknown */
	uint64_t size;
	uint32_t stack_id;       /* 0 none */
	uint8_t action;          /* enum snapshot_action */
	uint8_t why;             /* enum snapshot_why */
	uint8_t device;          /* CUDA ordinal in the process */
	uint8_t category;        /* of PyTorch's blocks: enum gmt_category + 1; 0: not known */
	bool is_plain;           /* of or in a segment that is not PyTorch's: a block is the whole segment */
	bool is_guessed;         /* of a segment that is older than tracing: address and size are a guess */
};

/* A named range of the program begins or ends. */
struct snapshot_mark {
	uint64_t ts_ns;
	const char *name;        /* the history's */
	bool is_end;
};

struct snapshot_block {
	uint64_t address, size;
	uint64_t asked;          /* of an active block: requested bytes, or size where they are not known */
	uint64_t born_ns;        /* of an active block; 0: not seen */
	uint32_t stack_id;
	uint8_t why;
	uint8_t category;        /* of PyTorch's blocks: enum gmt_category + 1; 0: not known */
	bool active;
};

struct snapshot_segment {
	uint64_t address, size;
	uint64_t active, asked;  /* sums over its active blocks */
	size_t first_block, block_count; /* by address */
	uint32_t stack_id;
	uint64_t born_ns;        /* of its first piece; 0: not seen */
	uint8_t why, device;
	bool is_torch, is_expandable; /* expandable: made of pieces by cuMemMap */
};

struct snapshot {
	struct snapshot_event *events;   /* the oldest first */
	size_t event_count;
	struct snapshot_segment *segments; /* by address */
	size_t segment_count;
	struct snapshot_block *blocks;
	size_t block_count;
	struct snapshot_mark *marks;     /* the oldest first */
	size_t mark_count;
	const struct hash *waiting;      /* the process's struct waiting_ids by stack id (waiting.h); NULL: none */
	unsigned int device_count;       /* greater than every device number */
	bool is_expandable;              /* at least one of PyTorch's segments is */
	uint64_t dropped;                /* older events that were not kept, of all processes */
};

/* Makes the snapshot of h->processes[process]; snapshot_free() releases its arrays. */
void snapshot_build(const struct history *h, uint32_t process, struct snapshot *out);
/* The segments and blocks of a window alone. */
void snapshot_place(const struct window *w, struct snapshot *out);
/* The same for one of many processes of a history. */
void snapshot_build_from(const struct snapshot_index *x, uint32_t process, struct snapshot *out);
/* Drops the segments and events of other devices; wanted[] is by CUDA ordinal. The numbers of devices stay. */
void snapshot_keep_devices(struct snapshot *snapshot, const bool *wanted);
void snapshot_free(struct snapshot *snapshot);

/* The stack that waited while a thread of autograd allocated by this stack (waiting_only()); 0: none. */
uint32_t snapshot_waited(const struct snapshot *snapshot, uint32_t stack_id);

static inline enum snapshot_why snapshot_why_of(uint32_t stack_id)
{
	return stack_id ? SNAPSHOT_WHY_NONE : SNAPSHOT_WHY_NO_STACK;
}

/* Makes the events alone, in an empty snapshot or one that has the memory at the end, going back from there. */
void snapshot_replay(const struct snapshot_index *x, uint32_t process, const struct window *end, struct snapshot *out);

#endif
