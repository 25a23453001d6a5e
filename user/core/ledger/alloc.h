/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that are known by an address or a handle: what cuMemAlloc and its like, pinned and
 * registered host memory, pools, arrays, imports and graph nodes gave out.
 *
 * A table maps the address to 24 bytes. The one invariant: every entry is booked in the process's
 * account, at the row and with the size it has here.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_ALLOC_H
#define GPUMEMTRACE_CORE_LEDGER_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/account/account.h"

struct process;
struct event;
struct undo;

enum alloc_flag {
	ALLOC_BEFORE = 1,    /* learned of, from before attach: not booked */
	ALLOC_UNPLANNED = 2, /* a graph's node whose memory was freed: not booked until it is made again */
	ALLOC_DEFERRED = 4,  /* an array without memory of its own */
};

#define ALLOC_SIZE_MAX ((1ULL << 48) - 1) /* more than any address space of a GPU; larger ones are noise */
/* No GPU has addresses from here on. */
#define ALLOC_ADDRESS_END (1ULL << 50)
#define ORDINAL_NONE 255                  /* CUDA ordinal not known */

struct alloc {
	uint64_t size : 48;
	uint64_t row : 8;
	uint64_t class : 4;  /* enum gmt_class, CLASS_NONE */
	uint64_t flags : 4;  /* enum alloc_flag */
	uint64_t ts_ns;
	uint32_t stack_id;
	uint16_t owner;      /* number of the context it was made in (context.h); 0 unknown or none */
	uint8_t ordinal;
	uint8_t reserved;
};
_Static_assert(sizeof(struct alloc) == 24, "with its key an allocation takes 32 bytes of a slot");
_Static_assert(CLASS_NONE < 16, "class has 4 bits");

static inline bool alloc_is_booked(const struct alloc *a)
{
	return !(a->flags & (ALLOC_BEFORE | ALLOC_UNPLANNED));
}

/* Whether memory may lie there: records may say anything. */
static inline bool alloc_is_place(uint64_t base, uint64_t length)
{
	return length && length < ALLOC_ADDRESS_END / 8 && base < ALLOC_ADDRESS_END - length;
}

struct allocs {
	struct hash by_address;  /* struct alloc */
	struct hash arrays;      /* struct alloc, by handle */
	struct hash externals;   /* struct alloc, by CUexternalMemory */
	struct hash opens;       /* uint32_t: how often an IPC handle was opened at the address */
};

void allocs_init(struct allocs *allocs);
void allocs_fini(struct allocs *allocs);
uint64_t allocs_count(const struct allocs *allocs);
uint64_t allocs_bytes(const struct allocs *allocs);

/* What a call asks for. Made the same for a call that failed: then it is counted as such. */
struct alloc_request {
	struct hash *table;
	uint64_t key;
	uint64_t address;    /* 0: the key is none */
	uint64_t size;
	bool size_unread;
	enum gmt_class class;
	unsigned int owner, ordinal, flags;
};
void alloc_add(struct event *e, const struct alloc_request *request);

/* Frees all that lived in context `owner`, and goes with it. */
void alloc_drop_owner(struct process *p, unsigned int owner, uint64_t ts_ns);

/* Something was learned: allocations on the unknown GPU move to theirs. All of them after an ordinal
 * or a context was learned, the one at `address` after a mapping. */
void alloc_resolve(struct process *p, uint64_t ts_ns);
void alloc_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns);

/* The same for memory at an address, the first value, made in the thread's current context. */
void alloc_in_context(struct event *e, enum gmt_class class, uint64_t size, bool size_unread);

/* The release of the first value, and how it is taken back. */
void alloc_release(struct event *e, struct hash *table);
void alloc_release_undo(struct event *e, struct undo *u);

/* A graph's node at the address no longer leaves memory behind. */
void alloc_unplan(struct process *p, uint64_t address, uint64_t ts_ns);

/* Operations (api.h). */
void alloc_device(struct event *e);
void alloc_pitch(struct event *e);
void alloc_managed(struct event *e);
void alloc_host(struct event *e);
void alloc_register(struct event *e);
void alloc_learn(struct event *e);
void alloc_array(struct event *e);
void alloc_array_requirements(struct event *e);

void alloc_free(struct event *e);
void alloc_array_destroy(struct event *e);
void alloc_free_undo(struct event *e, struct undo *u);

#endif
