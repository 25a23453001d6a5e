/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walks a thread's CPython frames from the thread pointer, innermost first. This file compiles as BPF and as ordinary
 * C (user/symbol/python/pyversion.c). A file that includes this one first defines two macros:
 *
 *	PY_READ(dst, size, addr)        reads the thread's memory; 0, or not 0 if the memory could not be read
 *	PY_READ_AGAIN(dst, size, addr)  the same, for a value that follows from other values of the same thread.
 *	                                Optional.
 *
 * Both may use the variable `walk`. struct gmt_py_walk has to lie in map memory, not on the BPF stack: the verifier
 * knows only the bounds of the offsets at which the fields of a frame are found.
 *
 * The native unwinder calls gmt_py_start() once. At each frame inside CPython's eval function the unwinder calls
 * gmt_py_step() until the answer is not GMT_PY_MORE: these are the Python frames that this one native frame runs.
 * Then the unwinder goes on natively. A caller without native frames calls gmt_py_step() until GMT_PY_OVER.
 *
 * Invariant: the walk reads only the thread state, the frames in the thread state's chain, the heads of their code
 * objects, and names of these. The walk reads at most GMT_PY_FRAMES_MAX frames, so a walk in a circle ends.
 */
#ifndef GMT_PYTHON_BPF_H
#define GMT_PYTHON_BPF_H

#include <gpumemtrace/python.h>

#ifndef PY_READ_AGAIN
#define PY_READ_AGAIN(dst, size, addr) PY_READ(dst, size, addr)
#endif
#ifndef PY_INLINE
#define PY_INLINE static inline __attribute__((always_inline))
#endif

enum gmt_py_step {
	GMT_PY_MORE = 0,     /* *frame is a frame; its eval call has more */
	GMT_PY_LAST = 1,     /* *frame is the outermost frame of its eval call */
	GMT_PY_NOTHING = 2,  /* no frame; the eval call ends here */
	GMT_PY_OVER = 3,     /* no frame; the walk is over: walk->reason */
};

struct gmt_py_walk {
	__u64 next;          /* address of the next frame to read */
	__u32 count;         /* frames read, shims included */
	__u32 reason;        /* enum gmt_py_reason */
	__u64 raw[GMT_PY_FRAME_BYTES / 8];
	union {
		__u64 head[GMT_PY_HEAD_WORDS];
		__u32 check[GMT_PY_CHECK_WORDS]; /* the same bytes */
	};
	__u64 text[GMT_PY_TEXT_WORDS];
};

/* CPython's objects are aligned to at least 8 bytes and lie in user space. On x86-64 an address has at most 47 bits
 * unless a process asks for more, and CPython does not ask. On arm64: 52 bits (CONFIG_ARM64_VA_BITS). */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define GMT_PY_ADDRESS_MAX (1ULL << 47)
#else
#define GMT_PY_ADDRESS_MAX (1ULL << 52)
#endif

#define GMT_PY_PAGE 4096ULL /* the smallest page */

PY_INLINE int gmt_py_is_object(__u64 addr)
{
	return addr >= 4096 && addr < GMT_PY_ADDRESS_MAX && !(addr & 7);
}

PY_INLINE int gmt_py_end(struct gmt_py_walk *walk, __u32 reason)
{
	walk->next = 0;
	walk->reason = reason;
	return GMT_PY_OVER;
}

/* The address of a thread's Python thread state. 0: none, and walk->reason says why. */
PY_INLINE __u64 gmt_py_tstate(const struct gmt_py_config *py, struct gmt_py_walk *walk, __u64 tp)
{
	__u64 block = tp, tstate = 0, self = 0;

	walk->reason = GMT_PY_END_NO_STATE;
	if (py->key_block) {
		if (PY_READ(&block, sizeof(block), tp + py->key_block)) {
			walk->reason = GMT_PY_END_FAULT;
			return 0;
		}
		if (!gmt_py_is_object(block))
			return 0; /* the thread has never used a key of this block */
	}
	if (PY_READ(&tstate, sizeof(tstate), block + py->key_value)) {
		walk->reason = GMT_PY_END_FAULT;
		return 0;
	}
	if (!tstate)
		return 0;
	walk->reason = GMT_PY_END_BAD_POINTER;
	if (!gmt_py_is_object(tstate))
		return 0;
	walk->reason = GMT_PY_END_FAULT;
	if (PY_READ_AGAIN(&self, sizeof(self), tstate + py->tstate_thread))
		return 0;
	/* glibc reuses key slots, and after fork() a thread state may belong to another thread. */
	walk->reason = GMT_PY_END_STALE;
	return self == tp + py->thread_self ? tstate : 0;
}

/* If there are several interpreters, the state that the thread runs: known if the thread has the GIL. The result is as
 * gmt_py_tstate()'s. */
PY_INLINE __u64 gmt_py_interpreter(const struct gmt_py_config *py, struct gmt_py_walk *walk, __u64 tp, __u64 tstate)
{
	__u64 newest = 0, current = 0, self = 0;

	if (!py->interps)
		return tstate;
	walk->reason = GMT_PY_END_FAULT;
	if (PY_READ(&newest, sizeof(newest), py->interps))
		return 0;
	if (newest == py->main_interp)
		return tstate;
	if (PY_READ(&current, sizeof(current), py->current))
		return 0;
	walk->reason = GMT_PY_END_INTERPRETERS;
	if (!gmt_py_is_object(current) || PY_READ(&self, sizeof(self), current + py->tstate_thread))
		return 0;
	return self == tp + py->thread_self ? current : 0;
}

/* Finds the innermost frame of the thread whose thread pointer is `tp`. 0, or GMT_PY_OVER. */
PY_INLINE int gmt_py_start(const struct gmt_py_config *py, struct gmt_py_walk *walk, __u64 tp)
{
	__u64 tstate, frame = 0;

	walk->next = 0;
	walk->count = 0;
	tstate = gmt_py_tstate(py, walk, tp);
	if (tstate)
		tstate = gmt_py_interpreter(py, walk, tp, tstate);
	if (!tstate)
		return GMT_PY_OVER;
	if (PY_READ(&frame, sizeof(frame), tstate + py->tstate_frame))
		return gmt_py_end(walk, GMT_PY_END_FAULT);
	if (py->cframe_frame >= 0) {
		if (!gmt_py_is_object(frame))
			return gmt_py_end(walk, GMT_PY_END_BAD_POINTER);
		if (PY_READ(&frame, sizeof(frame), frame + py->cframe_frame))
			return gmt_py_end(walk, GMT_PY_END_FAULT);
	}
	walk->next = frame;
	walk->reason = GMT_PY_END_NONE;
	return 0;
}

PY_INLINE __u64 gmt_py_word(const struct gmt_py_walk *walk, __u32 offset)
{
	return walk->raw[offset / 8 % (GMT_PY_FRAME_BYTES / 8)];
}

PY_INLINE __u8 gmt_py_owner(const struct gmt_py_config *py, const struct gmt_py_walk *walk)
{
	return (__u8)(gmt_py_word(walk, py->frame_owner) >> (py->frame_owner & 7) * 8);
}

PY_INLINE __s32 gmt_py_lasti(const struct gmt_py_config *py, __u64 code, __u64 instr)
{
	__s64 distance;

	if (py->instr_kind != GMT_PY_INSTR_POINTER) {
		distance = (__s32)instr;
		if (distance < 0)
			return -1;
		distance *= py->instr_kind == GMT_PY_LASTI_UNITS ? 2 : 1;
	} else {
		distance = (__s64)(instr - (code + py->code_start));
	}
	/* prev_instr of 3.11 and 3.12 begins one unit before the first instruction. */
	if (distance < 0)
		return distance == -2 ? -1 : GMT_PY_LASTI_UNKNOWN;
	return distance < 1 << 30 ? (__s32)distance : GMT_PY_LASTI_UNKNOWN;
}

/* Reads the words of a str into walk->text. A short str may end before them, at the end of a page behind which nothing
 * was ever used. */
PY_INLINE int gmt_py_read_text(struct gmt_py_walk *walk, __u64 text)
{
	__u64 part = GMT_PY_PAGE - ((text + GMT_PY_TEXT_AT) & (GMT_PY_PAGE - 1));

	if (!gmt_py_is_object(text))
		return -1;
	if (!PY_READ(walk->text, sizeof(walk->text), text + GMT_PY_TEXT_AT))
		return 0;
	if (part >= sizeof(walk->text))
		return -1;
	__builtin_memset(walk->text, 0, sizeof(walk->text));
	return PY_READ(walk->text, part & (sizeof(walk->text) - 1), text + GMT_PY_TEXT_AT);
}

/* The check word of a code object; 0: an object could not be read. */
PY_INLINE __u32 gmt_py_check_code(const struct gmt_py_config *py, struct gmt_py_walk *walk, __u64 code)
{
	__u64 text;
	__u32 sum;

	if (!py->code_text) {
		if (PY_READ(walk->check, sizeof(walk->check), code + py->code_check))
			return 0;
		return gmt_py_check(walk->check, py->check_mask);
	}
	if (PY_READ(walk->head, sizeof(walk->head), code + py->code_check))
		return 0;
	sum = gmt_py_check(walk->check, py->check_mask);
	text = walk->head[py->code_text % GMT_PY_HEAD_WORDS];
	if (gmt_py_read_text(walk, text))
		return 0;
	return gmt_py_check_names(sum, walk->head, py->code_text, walk->text, 1);
}

PY_INLINE void gmt_py_fill(const struct gmt_py_config *py, struct gmt_py_walk *walk, __u64 code,
			   struct gmt_py_frame *frame)
{
	frame->code = code;
	frame->lasti = gmt_py_lasti(py, code, gmt_py_word(walk, py->frame_instr));
	/* A frame counts even if its code object is not resident. */
	frame->check = gmt_py_check_code(py, walk, code);
}

/* Reads one frame and goes on to its caller. Returns enum gmt_py_step. */
PY_INLINE int gmt_py_step(const struct gmt_py_config *py, struct gmt_py_walk *walk,
			  struct gmt_py_frame *frame)
{
	__u64 at = walk->next, code;
	__u8 owner;

	if (!at)
		return gmt_py_end(walk, walk->reason ? walk->reason : GMT_PY_END_ROOT);
	if (walk->count >= GMT_PY_FRAMES_MAX)
		return gmt_py_end(walk, GMT_PY_END_DEPTH);
	if (!gmt_py_is_object(at))
		return gmt_py_end(walk, GMT_PY_END_BAD_POINTER);
	if (PY_READ(walk->raw, py->frame_bytes & (GMT_PY_FRAME_BYTES - 1), at))
		return gmt_py_end(walk, GMT_PY_END_FAULT);
	walk->count++;
	walk->next = gmt_py_word(walk, py->frame_previous);
	owner = gmt_py_owner(py, walk);
	if (py->boundary == GMT_PY_SHIM && owner >= py->owner_shim)
		return GMT_PY_NOTHING;
	code = gmt_py_word(walk, py->frame_code) & ~(__u64)py->code_tag;
	if (!gmt_py_is_object(code))
		return gmt_py_end(walk, GMT_PY_END_BAD_POINTER);
	gmt_py_fill(py, walk, code, frame);
	if (py->boundary == GMT_PY_EACH || (py->boundary == GMT_PY_ENTRY && owner))
		return GMT_PY_LAST;
	return GMT_PY_MORE;
}

#endif
