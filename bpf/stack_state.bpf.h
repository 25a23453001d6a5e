/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The data behind stacks: the state of one walk, the maps that the collector fills, and the functions by which the two
 * walkers (unwind.bpf.h, python.bpf.h) read memory and tables and hand out frames.
 */
#ifndef GMT_STACK_STATE_BPF_H
#define GMT_STACK_STATE_BPF_H

#include "thread.bpf.h"

struct gmt_unwind_row;
struct stack_state;
static __always_inline int stack_read64(struct stack_state *s, __u64 address, __u64 *val);
static __always_inline int stack_read_return(struct stack_state *s, __u64 address, __u64 *val);
static __always_inline int stack_read_python(struct stack_state *s, void *to, __u32 size, __u64 address);
static __always_inline const __u64 *stack_table_word(__u32 slot);
static __always_inline const struct gmt_unwind_mapping *stack_mapping(struct stack_state *s, __u32 i);
static __always_inline int stack_frame(struct stack_state *s, __u64 word);
static __always_inline int stack_repair(struct stack_state *s, __u64 slot, __u64 *pc);
static __always_inline __u64 stack_other(struct stack_state *s, __u64 sp);
static __always_inline int stack_row_known(struct stack_state *s, __u64 pc, struct gmt_unwind_row *row);
static __always_inline void stack_row_keep(struct stack_state *s, __u64 pc, const struct gmt_unwind_row *row);
struct gmt_py_walk;
static __always_inline struct stack_state *stack_of_python(struct gmt_py_walk *walk);

#define UNWIND_READ64(walk, address, val) stack_read64((struct stack_state *)(walk), address, val)
#define UNWIND_READ_RETURN(walk, address, val) stack_read_return((struct stack_state *)(walk), address, val)
#define UNWIND_WORD(walk, slot) stack_table_word(slot)
#define UNWIND_MAPPING(walk, i) stack_mapping((struct stack_state *)(walk), i)
#define UNWIND_FRAME(walk, word) stack_frame((struct stack_state *)(walk), word)
#define UNWIND_REPAIR(walk, slot, pc) stack_repair((struct stack_state *)(walk), slot, pc)
#define UNWIND_OTHER_STACK(walk, sp) stack_other((struct stack_state *)(walk), sp)
#define UNWIND_KNOWN(walk, pc, row) stack_row_known((struct stack_state *)(walk), pc, row)
#define UNWIND_KEEP(walk, pc, row) stack_row_keep((struct stack_state *)(walk), pc, row)
#include "unwind.bpf.h"

#define PY_READ(dst, size, addr) stack_read_python(stack_of_python(walk), dst, size, addr)
#define PY_READ_AGAIN(dst, size, addr) bpf_probe_read_user(dst, size, (void *)(addr))
#include "python.bpf.h"

/* The most words of a remembered stack: in the windows, outside of the windows, and on the way to Python's frames. */
#define STACK_MEMO_INSIDE 384
#define STACK_MEMO_OUTSIDE 256
#define STACK_MEMO_FAR 8
/* The windows: words of Python frames and of the stack, read at once. PyTorch's operators take 3 to 12 KiB. */
#define STACK_PY_WORDS 1024
#define STACK_WINDOW_WORDS 2048
#define STACK_WINDOWS (STACK_PY_WORDS + STACK_WINDOW_WORDS)
/* Words outside of the windows are read in chunks: they belong to deep stacks, to deep Python code, and to the frames
 * of Python up to 3.10, which lie anywhere. */
#define STACK_CHUNK 2048         /* bytes; at most a page */
#define STACK_CHUNK_WORDS (STACK_CHUNK / sizeof(__u64))
#define STACK_CHUNKS 32
#define STACK_POINTERS_MAX 128   /* frames of the kernel's own walk: kernel.perf_event_max_stack is 127 */
#define STACK_ADDRESS_LEAST 4096 /* the first page is nobody's: vm.mmap_min_addr is not less, but where it is 0 */
#define STACK_PAGE 4096
#define STACK_MIX 0x9e3779b97f4a7c15ULL /* 2^64 / golden ratio */
#define STACK_HEAD (sizeof(struct gmt_stack) / sizeof(__u64))

/* Where a walk begins: the thread's registers. */
struct stack_start {
	__u64 pc, sp, fp;
	__u64 ret;               /* at a function's entry, which has no frame yet: PT_REGS_RET(); else see
	                          * arch_set_syscall_ret() */
	__u64 bytes;             /* bytes that the call asks for; 0: unknown */
	__u64 now_ns;            /* bpf_ktime_get_ns(), if the clock has been read; else 0 */
};

/* The memory that led to a stack: where its words lie in the target, and sums of their values. A training has hundreds
 * of these. They are seldom in the CPU's cache, so their size decides what they cost. */
struct stack_memo {
	__u64 pc, sp, fp;
	struct arch_link link;
	__u64 py_base;           /* beginning of Python's window (the stack's begins at sp); 0: no Python frame */
	__u64 inside_sum, outside_sum;
	__u32 py_low;            /* used part of Python's window: words [py_low, STACK_PY_WORDS) */
	__u32 end;               /* used part of the stack's window: words [0, end) */
	__u32 generation;
	__u32 mapped;            /* number of the process's newest executable mapping */
	__u32 needs_fp;
	__u32 reserved;
	__u32 inside, outside, far; /* numbers of words */
	__u32 chunks;
	struct {
		__u64 at, val;
	} far_words[STACK_MEMO_FAR];
	__u16 inside_at[STACK_MEMO_INSIDE];   /* index in the windows */
	__u16 outside_at[STACK_MEMO_OUTSIDE]; /* STACK_CHUNK_WORDS * index of the chunk + index in it */
	__u64 chunk_at[STACK_CHUNKS];         /* addresses */
};

#define STACK_MEMO_NEXT 4
#define STACK_MEMO_BITS 12
_Static_assert(GMT_STACK_MEMOS_BLOCKS <= 1 << STACK_MEMO_BITS, "slots are numbered in these bits");

/* A stack that is remembered, see stack_memo.bpf.h. */
struct stack_memo_slot {
	__u64 key;               /* names the stack and the thread that had it */
	__u64 used_ns;
	__u64 walked_ns;         /* when the stack was walked last */
	__u32 hits, walked_hits; /* how often the stack came, and had come at its last walk */
	/* The stacks that the thread had after this stack, the newest first. Each is the stack's slot, with the
	 * memo_tag() of its registers in the bits from STACK_MEMO_BITS on; 0: none. */
	__u32 next[STACK_MEMO_NEXT];
	__u32 id;                /* 0: none yet */
	__u32 version;           /* odd: the program that made the version odd is writing the slot */
	struct stack_memo memo;
};

enum stack_walk_state {
	STACK_NATIVE,            /* the next step is a native frame */
	STACK_PYTHON,            /* the next step is a Python frame that the last native frame runs */
	STACK_DRAIN,             /* the native walk is over: the next step is a Python frame that is left */
};

/* The state of one walk, 28 KiB. A walk ends with its program, so there are as many states as programs can be preempted
 * in the middle of a walk, not one for each thread. */
struct stack_state {
	struct unwind_walk walk;
	__u32 is_taken;          /* a program that runs or was preempted uses this state */
	__u32 reserved;
	__u64 returns;           /* the cursor of unwind_repair() */
	struct unwind_stack other; /* a copy of struct stack_thread's, because the walk does not see that structure */
	struct gmt_py_walk py;
	struct gmt_stack_space space; /* likewise */
	__u64 hash;
	__u32 count;             /* words of the record */
	__u32 state;             /* enum stack_walk_state */
	__u32 may_keep;          /* the memo holds everything that the walk has read */
	__u32 in_python;         /* the walk has met Python's newest frame */
	__u32 mapped;            /* a copy of struct stack_thread's */
	__u32 due;               /* the slot that has the stack's words, but is due to be walked; 0: none */
	/* The newest return address and where it lies; return_at 0: the address is in the memo or need not be. */
	__u64 return_at, return_val;
	/* The newest shim's pointer to its caller, and where it lies; shim_val 0: likewise. */
	__u64 shim_at, shim_val;
	__u32 last_python;       /* index of the newest Python frame's first word; 0: none */
	struct stack_memo memo;  /* the memo of this walk */
	__u64 chunk[STACK_CHUNK_WORDS]; /* while memos are compared */
	union {
		__u64 window[STACK_WINDOWS];                /* while memos are compared: Python's, the stack's */
		__u64 record[STACK_HEAD + GMT_STACK_WORDS + 1]; /* a struct gmt_stack under construction */
	};
};

/* The collector sets the real number: gmt.config.stack_walks. */
MAP(stack_walks, ARRAY, 1, __u32, struct stack_state, 0);

/* Takes a free state. Null: all states that the CPU may take are in use. The first state is the CPU's own, and is still
 * in its cache. The next states are for programs that preempt each other. */
static __always_inline struct stack_state *stack_begin(void)
{
	__u32 at = bpf_get_smp_processor_id();

#pragma clang loop unroll(disable)
	for (int i = 0; i < GMT_STACK_WALKS_TRIED; i++) {
		__u32 slot = at;
		struct stack_state *s = bpf_map_lookup_elem(&stack_walks, &slot);

		if (s && !__sync_val_compare_and_swap(&s->is_taken, 0, 1))
			return s;
		at += gmt.config.cpus;
		if (at >= gmt.config.stack_walks)
			at -= gmt.config.stack_walks - 1; /* the states of the next CPU */
	}
	return NULL;
}

/* Frees a state. The exchange is atomic, because all writes must be visible before the state is free. */
static __always_inline void stack_end(struct stack_state *s)
{
	__sync_lock_test_and_set(&s->is_taken, 0);
}

/* The spaces by tgid. */
MAP(stack_spaces, HASH, GMT_STACK_SPACES, __u32, struct gmt_stack_space, BPF_F_NO_PREALLOC);

/* The number of a process's newest executable mapping, from 1 on: mapped.bpf.h. */
MAP(stack_mapped, HASH, GMT_STACK_SPACES, __u32, __u32, BPF_F_NO_PREALLOC);

/* Counts the changes of the spaces, by the collector, and of mappings. */
volatile __u32 spaces_changed SEC(".data.spaces") = 0;

/* A list of mappings. Each list has the length that its process needs. */
INNER_MAP(stack_mappings, ARRAY, 1, __u32, struct gmt_unwind_mapping, BPF_F_INNER_MAP | BPF_F_MMAPABLE);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GMT_STACK_SPACES);
	__type(key, __u32);
	__array(values, struct stack_mappings);
} stack_mappings SEC(".maps");

INNER_MAP(stack_shard, ARRAY, GMT_SHARD_WORDS, __u32, __u64, BPF_F_MMAPABLE);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GMT_SHARDS);
	__type(key, __u32);
	__array(values, struct stack_shard);
} stack_shards SEC(".maps");

/* Slot 0 is not used. The collector sets the real number of slots. */
MAP(stack_memos, ARRAY, GMT_STACK_MEMOS, __u32, struct stack_memo_slot, 0);

/* The slot that a key had last. */
MAP(stack_memo_keys, LRU_HASH, GMT_STACK_MEMOS, __u64, __u32, 0);

__u32 memos_taken SEC(".data.stacks") = 0;

/* A stack's id by the stack's hash. */
MAP(stack_ids, LRU_HASH, GMT_STACKS_KNOWN, __u64, __u32, 0);

__u32 stacks_sent SEC(".data.stacks") = 0;

#include "stack_rows.bpf.h"

/* ---- what the walks need ---- */

static __always_inline struct stack_state *stack_of_python(struct gmt_py_walk *walk)
{
	return (void *)((char *)walk - __builtin_offsetof(struct stack_state, py));
}

/* The number of the address's chunk. A new chunk gets a number here. STACK_CHUNKS: there are too many chunks. */
static __always_inline __u32 memo_chunk(struct stack_memo *memo, __u64 address)
{
	__u64 at = address & ~(STACK_CHUNK - 1ULL);
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < STACK_CHUNKS; i++) {
		if (i >= memo->chunks) {
			memo->chunk_at[i] = at;
			memo->chunks = i + 1;
			break;
		}
		if (memo->chunk_at[i] == at)
			break;
	}
	return i;
}

/* Adds a word to the memo. The verifier checks a global function once, not at each call. */
__noinline int memo_word(struct stack_state *s, __u64 address, __u64 val)
{
	__u64 on_stack, of_python;
	struct stack_memo *memo;
	__u32 i;

	if (!s)
		return 0;
	memo = &s->memo;
	on_stack = (address - memo->sp) / 8;
	of_python = (address - memo->py_base) / 8;
	/* The words at unaligned addresses are not in the windows. */
	if ((address | memo->sp) & 7)
		on_stack = ~0ULL;
	if (on_stack < STACK_WINDOW_WORDS || of_python < STACK_PY_WORDS) {
		i = memo->inside++;
		if (i >= STACK_MEMO_INSIDE)
			goto too_many;
		if (on_stack >= STACK_WINDOW_WORDS) {
			memo->inside_at[i] = of_python;
			if (of_python < memo->py_low)
				memo->py_low = of_python;
		} else {
			memo->inside_at[i] = STACK_PY_WORDS + on_stack;
			if (on_stack >= memo->end)
				memo->end = on_stack + 1;
		}
		memo->inside_sum = memo->inside_sum * STACK_MIX + val;
	} else if (memo->py_base || on_stack < 1 << 16) {
		__u32 chunk = memo_chunk(memo, address);

		i = memo->outside++;
		if (i >= STACK_MEMO_OUTSIDE || chunk >= STACK_CHUNKS)
			goto too_many;
		memo->outside_at[i] = chunk * STACK_CHUNK_WORDS + address / sizeof(__u64) % STACK_CHUNK_WORDS;
		memo->outside_sum = memo->outside_sum * STACK_MIX + val;
	} else { /* a single word, which leads to Python's frames */
		i = memo->far++;
		if (i >= STACK_MEMO_FAR)
			goto too_many;
		memo->far_words[i].at = address;
		memo->far_words[i].val = val;
	}
	return 0;
too_many:
	s->may_keep = 0;
	return 0;
}

/* Whether the current frame needs no word in the memo. Outside of the newest Python frame, the frames of CPython and of
 * the C library follow from the Python frames. Of each Python frame, the place, the code and the instruction are
 * compared. Most of a deep stack follows in this way. */
static __always_inline int stack_is_implied(const struct stack_state *s)
{
	return s->in_python && s->walk.in_runtime;
}

static __always_inline int stack_read64(struct stack_state *s, __u64 address, __u64 *val)
{
	if (bpf_probe_read_user(val, sizeof(*val), (void *)address))
		return -1;
	if (!stack_is_implied(s))
		memo_word(s, address, *val);
	return 0;
}

/* Keeps the return address aside: only the next look-up tells which code it belongs to. */
static __always_inline int stack_read_return(struct stack_state *s, __u64 address, __u64 *val)
{
	if (bpf_probe_read_user(val, sizeof(*val), (void *)address))
		return -1;
	s->return_at = address;
	s->return_val = *val;
	return 0;
}

static __always_inline void stack_keep_return(struct stack_state *s)
{
	if (s->return_at)
		memo_word(s, s->return_at, s->return_val);
	s->return_at = 0;
}

static __always_inline void stack_keep_shim(struct stack_state *s)
{
	if (s->shim_val)
		memo_word(s, s->shim_at, s->shim_val);
	s->shim_val = 0;
}

/* Adds single words to the memo. stack_keep_python() adds the words of frames. Words of a code object are never added:
 * a code object cannot change while a frame at the same place runs it. */
static __always_inline int stack_read_python(struct stack_state *s, void *to, __u32 size, __u64 address)
{
	if (bpf_probe_read_user(to, size, (void *)address))
		return -1;
	if (__builtin_constant_p(size) && size == sizeof(__u64))
		memo_word(s, address, *(__u64 *)to);
	return 0;
}

static __always_inline const __u64 *stack_table_word(__u32 slot)
{
	__u32 shard = slot / GMT_SHARD_WORDS, i = slot % GMT_SHARD_WORDS;
	void *words = bpf_map_lookup_elem(&stack_shards, &shard);

	return words ? bpf_map_lookup_elem(words, &i) : NULL;
}

static __always_inline const struct gmt_unwind_mapping *stack_mapping(struct stack_state *s, __u32 i)
{
	__u32 slot = s->space.slot; /* a copy on the stack: up to 6.1 a key must not lie in a map's value */
	void *list = bpf_map_lookup_elem(&stack_mappings, &slot);

	return list ? bpf_map_lookup_elem(list, &i) : NULL;
}

static __always_inline void stack_hash(struct stack_state *s, __u64 word)
{
	__u64 hash = (s->hash ^ word) * STACK_MIX;

	s->hash = hash ^ hash >> 29;
}

static __always_inline int stack_push(struct stack_state *s, __u64 word)
{
	__u32 at = s->count;

	if (at >= GMT_STACK_WORDS)
		return -1;
	s->record[STACK_HEAD + at] = word;
	s->count = at + 1;
	stack_hash(s, word);
	return 0;
}

static __always_inline int stack_push_python(struct stack_state *s, const struct gmt_py_frame *frame)
{
	__u64 code = frame->code | GMT_FRAME_PYTHON, where = (__u32)frame->lasti | (__u64)frame->check << 32;
	__u32 at = s->count;

	if (at > GMT_STACK_WORDS - 2)
		return -1;
	s->record[STACK_HEAD + at] = code;
	s->record[STACK_HEAD + 1 + at] = where;
	s->count = at + 2;
	s->last_python = at;
	stack_hash(s, code);
	stack_hash(s, where);
	return 0;
}

static __always_inline int stack_frame(struct stack_state *s, __u64 word)
{
	if (!stack_is_implied(s))
		stack_keep_return(s);
	s->return_at = 0;
	if ((word & GMT_FRAME_EVAL) && s->py.next && s->state == STACK_NATIVE) {
		s->state = STACK_PYTHON;
		s->in_python = 1;
	}
	return stack_push(s, word);
}

static __always_inline int stack_repair(struct stack_state *s, __u64 slot, __u64 *pc)
{
	s->may_keep = 0; /* the slot has the same word for every caller */
	return unwind_repair(&s->returns, slot, pc);
}

static __always_inline __u64 stack_other(struct stack_state *s, __u64 sp)
{
	s->may_keep = 0; /* the words lie on two stacks */
	return unwind_stack_end(bpf_get_current_task_btf(), &s->other, sp);
}

#endif
