/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The unwinder walks the native stack of a thread by the tables of include/gpumemtrace/unwind.h. It compiles as BPF
 * and as ordinary C, and uses neither maps nor helpers. A file that includes this one first defines:
 *
 *   UNWIND_READ64(walk, address, &val)  reads a word of the thread's stack, __u64; returns 0 or an error
 *   UNWIND_READ_RETURN(walk, address, &val)  does the same for a return address. Optional.
 *   UNWIND_WORD(walk, slot)             the word of the tables at a slot: const __u64 *, or NULL
 *   UNWIND_MAPPING(walk, i)             mapping i of the process: const struct gmt_unwind_mapping *, or NULL
 *   UNWIND_FRAME(walk, word)            takes a frame (GMT_FRAME_*), the innermost first; nonzero: the walk ends
 *   UNWIND_REPAIR(walk, at, &pc)        finds the return address that a return probe took; at: the stack pointer at
 *                                       the function's entry. Returns 0 or an error
 *   UNWIND_OTHER_STACK(walk, sp)        the end of the stack that a signal interrupted, if the signal's handler
 *                                       runs on another stack; 0: unknown. Optional.
 *   UNWIND_KNOWN(walk, pc, row)         nonzero: *row is the row that was kept for this address
 *   UNWIND_KEEP(walk, pc, row)          keeps a row. Both are optional: without them, each row is searched for.
 *
 * struct unwind_walk may be the first member of the caller's own structure. Fill it with unwind_start(). Run
 * unwind_step(i, &walk), where walk is a pointer, until unwind_step() returns 1: in BPF by
 * bpf_loop(frames + 1, unwind_step, &walk, 0). Then unwind_end() tells why the walk ended.
 *
 * Two invariants hold, whatever the tables and the memory contain. The walk reads only aligned words in [sp at the
 * start, end of the stack), so it never touches a device mapping. Each frame lies above the frame before, so the walk
 * ends. (On arm64 a frame that made no call may be empty. Its caller is none of these.)
 */
#ifndef GMT_UNWIND_BPF_H
#define GMT_UNWIND_BPF_H

#include <gpumemtrace/unwind.h>

#define UNWIND_INLINE static inline __attribute__((always_inline))

#ifndef UNWIND_OTHER_STACK
#define UNWIND_OTHER_STACK(walk, sp) 0
#endif
#ifndef UNWIND_READ_RETURN
#define UNWIND_READ_RETURN(walk, address, val) UNWIND_READ64(walk, address, val)
#endif
#ifndef UNWIND_KNOWN
#define UNWIND_KNOWN(walk, pc, row) 0
#define UNWIND_KEEP(walk, pc, row) do { } while (0)
#endif

struct unwind_walk {
	__u64 pc, sp;
	__u64 fp;            /* valid when fp_slot is 0 */
	__u64 fp_slot;       /* where fp is saved; read only when a frame needs fp, which most frames do not */
	__u64 stack_low;     /* the stack pointer at the start */
	__u64 stack_end;
	__u64 trampoline;    /* the return address that a return probe puts on the stack ([uprobes]); 0: none */
	__u32 mapping_count;
	__u32 max_frames;
	__u32 frames;        /* taken so far */
	__u8 reason;         /* enum gmt_unwind_reason */
	__u8 is_exact;       /* pc is not a return address */
	__u8 is_guessed;     /* pc was found by the frame pointer alone */
	__u8 fp_lost;
	__u8 fp_is_start;    /* fp still has the value that the register had at the start */
	__u8 start_fp_used;  /* a frame was found by that value: the stack depends on it */
	__u8 in_runtime;     /* the current frame runs code of CPython itself or of the C library */
	struct gmt_unwind_more more; /* unwind_start() does not know these: the caller sets them */
	struct gmt_unwind_mapping mapping; /* the mapping of the newest frame: the next frame is often in it too */
};

/* Begins a walk at the registers that the kernel saved. stack_end: the end of the mapping that sp is in. */
UNWIND_INLINE void unwind_start(struct unwind_walk *walk, __u64 pc, __u64 sp, __u64 fp, __u64 stack_end,
				__u64 trampoline, __u32 mapping_count, __u32 max_frames)
{
	__builtin_memset(walk, 0, sizeof(*walk));
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->stack_low = sp;
	walk->stack_end = stack_end;
	walk->trampoline = trampoline;
	walk->mapping_count = mapping_count;
	walk->max_frames = max_frames;
	walk->is_exact = 1;
	walk->fp_is_start = 1;
}

/* Why the walk ended. A walk that was stopped after the frames that were asked for has reached its depth. */
UNWIND_INLINE __u32 unwind_end(const struct unwind_walk *walk)
{
	return walk->reason == GMT_UNWIND_END_NONE ? GMT_UNWIND_END_DEPTH : walk->reason;
}

/* The next functions return the reason why the walk ends, or GMT_UNWIND_END_NONE (0): the walk goes on. */

UNWIND_INLINE __u32 unwind_may_read(const struct unwind_walk *walk, __u64 address)
{
	if (address & 7)
		return GMT_UNWIND_END_MISALIGNED;
	if (address < walk->stack_low || address >= walk->stack_end || walk->stack_end - address < 8)
		return GMT_UNWIND_END_OUTSIDE;
	return GMT_UNWIND_END_NONE;
}

UNWIND_INLINE __u32 unwind_read(struct unwind_walk *walk, __u64 address, __u64 *val)
{
	__u32 reason = unwind_may_read(walk, address);

	return !reason && UNWIND_READ64(walk, address, val) ? GMT_UNWIND_END_FAULT : reason;
}

UNWIND_INLINE __u32 unwind_read_return(struct unwind_walk *walk, __u64 address, __u64 *val)
{
	__u32 reason = unwind_may_read(walk, address);

	return !reason && UNWIND_READ_RETURN(walk, address, val) ? GMT_UNWIND_END_FAULT : reason;
}

/* Sets walk->mapping to the mapping that holds an address. */
UNWIND_INLINE __u32 unwind_find_mapping(struct unwind_walk *walk, __u64 pc)
{
	__u32 low = 0, high = walk->mapping_count;
	const struct gmt_unwind_mapping *mapping;

	if (pc >= walk->mapping.start && pc < walk->mapping.end)
		return GMT_UNWIND_END_NONE;
	for (int i = 0; i < GMT_UNWIND_MAPPING_STEPS; i++) {
		__u32 middle = low + (high - low) / 2;

		if (low >= high)
			return GMT_UNWIND_END_NO_MAPPING;
		mapping = UNWIND_MAPPING(walk, middle);
		if (!mapping)
			return GMT_UNWIND_END_NO_MAPPING;
		if (pc < mapping->start) {
			high = middle;
		} else if (pc >= mapping->end) {
			low = middle + 1;
		} else {
			walk->mapping = *mapping;
			return GMT_UNWIND_END_NONE;
		}
	}
	return GMT_UNWIND_END_NO_MAPPING;
}

/* Finds the last row at or below an address in walk->mapping. */
UNWIND_INLINE __u32 unwind_find_row(struct unwind_walk *walk, __u64 pc, struct gmt_unwind_row *row)
{
	__u32 rows = walk->mapping.slot + walk->mapping.pages, low, high;
	__u64 at = pc - walk->mapping.base;
	union gmt_unwind_word word;
	const __u64 *raw;

	if (at >> GMT_UNWIND_PAGE_SHIFT >= walk->mapping.pages)
		return GMT_UNWIND_END_NO_ROW;
	raw = UNWIND_WORD(walk, walk->mapping.slot + (__u32)(at >> GMT_UNWIND_PAGE_SHIFT));
	if (!raw)
		return GMT_UNWIND_END_BAD_TABLE;
	word.raw = *raw;
	low = word.page.first;
	high = word.page.end;
	for (int i = 0; i < GMT_UNWIND_PAGE_STEPS; i++) {
		__u32 middle = low + (high - low) / 2;

		if (low >= high)
			break;
		raw = UNWIND_WORD(walk, rows + middle);
		if (!raw)
			return GMT_UNWIND_END_BAD_TABLE;
		word.raw = *raw;
		if (word.row.pc <= at)
			low = middle + 1;
		else
			high = middle;
	}
	raw = low ? UNWIND_WORD(walk, rows + low - 1) : (const __u64 *)0;
	if (!raw)
		return GMT_UNWIND_END_BAD_TABLE;
	word.raw = *raw;
	*row = word.row;
	return GMT_UNWIND_END_NONE;
}

/* Sets walk->fp to the frame pointer of the current frame. */
UNWIND_INLINE __u32 unwind_get_fp(struct unwind_walk *walk)
{
	__u64 val = 0;
	__u32 reason;

	if (walk->fp_lost)
		return GMT_UNWIND_END_FP_LOST;
	if (!walk->fp_slot) {
		walk->start_fp_used |= walk->fp_is_start;
		return GMT_UNWIND_END_NONE;
	}
	reason = unwind_read(walk, walk->fp_slot, &val);
	walk->fp = val;
	walk->fp_is_start = 0;
	walk->fp_slot = 0;
	return reason;
}

/* For code without a table: JIT code often keeps frame pointers. The guess was right if the return address is code and
 * the caller's frame lies above this frame. */
UNWIND_INLINE void unwind_guess(struct unwind_walk *walk, struct gmt_unwind_row *row)
{
	row->rule = GMT_UNWIND_FP;
	row->cfa = 2;
	row->fp = 2;
	walk->is_guessed = 1;
}

UNWIND_INLINE __u32 unwind_cfa(struct unwind_walk *walk, const struct gmt_unwind_row *row, __u64 *cfa)
{
	__u32 rule = row->rule & GMT_UNWIND_RULE_MASK, reason;
	__s64 offset = (__s64)row->cfa * 8;

	if (rule == GMT_UNWIND_SP) {
		*cfa = walk->sp + offset;
		return GMT_UNWIND_END_NONE;
	}
	if (rule == GMT_UNWIND_PLT) {
		*cfa = walk->sp + 8 + ((walk->pc & 15) >= (__u64)row->cfa ? 8 : 0);
		return GMT_UNWIND_END_NONE;
	}
	if (rule == GMT_UNWIND_STOP)
		return GMT_UNWIND_END_ROOT;
	if (rule == GMT_UNWIND_SWITCH)
		return GMT_UNWIND_END_SWITCHED;
	if (rule != GMT_UNWIND_FP && rule != GMT_UNWIND_DEREF)
		return GMT_UNWIND_END_UNSUPPORTED;
	reason = unwind_get_fp(walk);
	if (reason)
		return reason;
	*cfa = walk->fp + offset;
	return rule == GMT_UNWIND_FP ? GMT_UNWIND_END_NONE : unwind_read(walk, *cfa, cfa);
}

#ifdef GMT_UNWIND_ARM64
#include "unwind_arm64.bpf.h"
#else
#include "unwind_x86.bpf.h"
#endif

/* Goes to the code that a signal interrupted. The registers of that code lie in the signal frame. */
UNWIND_INLINE __u32 unwind_signal(struct unwind_walk *walk)
{
	__u64 pc = 0, sp = 0, end;
	__u32 reason;

	reason = unwind_read(walk, walk->sp + UNWIND_SIGNAL_SP, &sp);
	if (!reason)
		reason = unwind_read(walk, walk->sp + UNWIND_SIGNAL_PC, &pc);
	if (!reason)
		reason = unwind_signal_more(walk);
	if (reason)
		return reason;
	walk->fp_slot = walk->sp + UNWIND_SIGNAL_FP;
	walk->fp_lost = 0;
	if (sp <= walk->sp || sp >= walk->stack_end) {
		/* The handler ran on a stack of its own (sigaltstack), which ends with this frame. */
		reason = unwind_get_fp(walk);
		end = UNWIND_OTHER_STACK(walk, sp);
		if (reason || end <= sp)
			return GMT_UNWIND_END_OUTSIDE;
		walk->stack_low = sp;
		walk->stack_end = end;
	}
	walk->sp = sp;
	walk->pc = pc;
	walk->is_exact = 1;
	walk->is_guessed = 0;
	return GMT_UNWIND_END_NONE;
}

UNWIND_INLINE __u32 unwind_take(struct unwind_walk *walk, __u8 rule)
{
	__u64 word = walk->pc & GMT_FRAME_PC_MASK;

	if (walk->frames >= walk->max_frames)
		return GMT_UNWIND_END_DEPTH;
	if (walk->is_exact)
		word |= GMT_FRAME_EXACT;
	if (walk->is_guessed)
		word |= GMT_FRAME_GUESSED;
	if (rule & GMT_UNWIND_EVAL)
		word |= GMT_FRAME_EVAL;
	if (UNWIND_FRAME(walk, word))
		return GMT_UNWIND_END_DEPTH;
	walk->frames++;
	return GMT_UNWIND_END_NONE;
}

/* Finds the row of an address. JIT code has no row and needs none. */
UNWIND_INLINE __u32 unwind_look_up(struct unwind_walk *walk, __u64 at, struct gmt_unwind_row *row)
{
	__u32 reason = unwind_find_mapping(walk, at);

	if (reason)
		return reason;
	if (!(walk->mapping.flags & GMT_UNWIND_MAP_TABLE))
		return walk->mapping.flags & GMT_UNWIND_MAP_JIT ? GMT_UNWIND_END_NONE : GMT_UNWIND_END_NO_TABLE;
	reason = unwind_find_row(walk, at, row);
	if (!reason)
		UNWIND_KEEP(walk, at, row);
	return reason;
}

/* Walks one frame: finds the frame's row, hands the frame out, and goes to its caller. */
UNWIND_INLINE __u32 unwind_one(struct unwind_walk *walk)
{
	/* If a call is the last instruction of its function, the return address lies behind the function. */
	__u64 at = walk->is_exact ? walk->pc : walk->pc - 1;
	struct gmt_unwind_row row = { 0 };
	__u32 found = GMT_UNWIND_END_NONE, reason;

	if (!UNWIND_KNOWN(walk, at, &row))
		found = unwind_look_up(walk, at, &row);
	walk->in_runtime = (row.rule & GMT_UNWIND_RUNTIME) != 0;
	if (found == GMT_UNWIND_END_NO_MAPPING && walk->is_guessed)
		return GMT_UNWIND_END_NO_ROW;
	reason = unwind_take(walk, row.rule);
	walk->is_guessed = 0;
	if (reason)
		return reason;
	if (found)
		return found;
	if ((row.rule & GMT_UNWIND_RULE_MASK) == GMT_UNWIND_SIGNAL)
		return unwind_signal(walk);
	if ((row.rule & GMT_UNWIND_RULE_MASK) == GMT_UNWIND_NONE)
		unwind_guess(walk, &row);
	reason = unwind_apply(walk, &row);
	return reason && walk->is_guessed ? GMT_UNWIND_END_NO_ROW : reason;
}

/* The callback for bpf_loop(). The verifier wants a context that lies on the stack, so ctx is the address of a pointer
 * to the walk. Returns 1 when the walk is over. */
static __attribute__((unused)) long unwind_step(__u32 i, void *ctx)
{
	struct unwind_walk *walk = *(struct unwind_walk **)ctx;

	(void)i;
	walk->reason = unwind_one(walk);
	return walk->reason != GMT_UNWIND_END_NONE;
}

#endif
