/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * CPython's frames: the layout of a process's interpreter, which user space gives to BPF, and the record of one frame.
 *
 * A frame is three facts that BPF can read: the code object, the place in it, and a check word over what never changes
 * of the code object. User space reads names and lines later, and compares the check word, because another code object
 * may have taken the memory. From 3.12 on no two code objects have the same co_version, which is in the check. Before
 * that the check is over the addresses of names, and over the length and the hash of the name that is shown. If CPython
 * has not computed the hash, as for some qualified names of 3.11, the first 32 characters count if all are ASCII.
 */
#ifndef GPUMEMTRACE_PYTHON_H
#define GPUMEMTRACE_PYTHON_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GMT_PY_FRAMES_MAX 1024      /* most frames of one thread; deeper recursion is cut off */
#define GMT_PY_FRAME_BYTES 128      /* room for the part of a frame that BPF reads; a power of two */
#define GMT_PY_EVAL_RANGES 4        /* the eval function and its cold part; BOLT makes two of each */
#define GMT_PY_CHECK_WORDS 8        /* words of 4 bytes, read from gmt_py_config.code_check on */
#define GMT_PY_HEAD_WORDS 16        /* words of 8 bytes, from there on, that also hold the addresses of the names */
#define GMT_PY_TEXT_WORDS 8         /* words of 8 bytes of a str, read from GMT_PY_TEXT_AT on */
#define GMT_PY_TEXT_AT 16           /* PyASCIIObject.length; hash and state follow (cpython/unicodeobject.h) */
#define GMT_PY_LASTI_UNKNOWN (-2)   /* the instruction does not lie in the code object */

/* How the frames of one call of the eval function are separated from those of the call before. */
enum gmt_py_boundary {
	GMT_PY_NO_PYTHON = 0,       /* an unused configuration */
	GMT_PY_EACH = 1,            /* 3.8 to 3.10: every frame has its own call */
	GMT_PY_ENTRY = 2,           /* 3.11: the outermost frame of a call says so (is_entry) */
	GMT_PY_SHIM = 3,            /* 3.12 on: a frame without Python code lies below them (owner) */
};

/* How a frame stores its instruction. */
enum gmt_py_instr {
	GMT_PY_LASTI_BYTES = 0,     /* int, bytes: 3.8, 3.9 */
	GMT_PY_LASTI_UNITS = 1,     /* int, units of two bytes: 3.10 */
	GMT_PY_INSTR_POINTER = 2,   /* address: 3.11 on */
};

struct gmt_py_range {
	__u64 start;
	__u64 end;
};

/* The part of a version's layout that BPF needs. X(type in the map, type in user space, name): user space checks the
 * offsets before it narrows them. Offsets are in bytes; user/symbol/python/pylayout.c names their sources. */
#define GMT_PY_OFFSETS(X)                                                     \
	X(__u16, __u16, tstate_frame)   /* thread state: frame, current_frame, or in 3.11 and 3.12 the _PyCFrame */ \
	X(__u16, __u16, tstate_thread)  /* thread state: pthread_self() of its thread */ \
	X(__s16, __s16, cframe_frame)   /* _PyCFrame: current frame; -1: there is none */ \
	X(__u16, __u16, code_check)     /* code object: where the check words begin */ \
	X(__u16, __u16, code_start)     /* co_code_adaptive (INSTR_POINTER); 0: the code is a bytes object */ \
	X(__u8, __u8, boundary)         /* enum gmt_py_boundary */ \
	X(__u8, __u8, instr_kind)       /* enum gmt_py_instr */ \
	X(__u8, __u16, frame_bytes)     /* of a frame to be read, below GMT_PY_FRAME_BYTES */ \
	X(__u8, __u16, frame_code)      /* these four: multiples of 8 */ \
	X(__u8, __u16, frame_previous) \
	X(__u8, __u16, frame_instr) \
	X(__u8, __u16, frame_owner)     /* one byte: is_entry or owner */ \
	/* 3.12, 3.13: an int in the owner's word. _PyFrame_GetStackPointer() sets it to -1, and \
	 * _PyFrame_SetStackPointer() before another frame is pushed in the same eval call sets it \
	 * (pycore_frame.h): it is -1 while the frame itself runs or waits for C. 0: no such field; 3.14 sets \
	 * it before calls of C, too. */ \
	X(__u8, __u16, frame_stacktop) \
	X(__u8, __u8, owner_shim)       /* SHIM: the smallest owner of a frame without Python code */ \
	X(__u8, __u8, code_tag)         /* low bits of the code pointer that do not belong to the address (3.14) */ \
	X(__u8, __u8, check_mask)       /* bit i: word i of the check never changes */ \
	/* Up to 3.11: the index, in the head's words of 8 bytes, of the name that is shown. It and the two words \
	 * before it count. 0: the check has co_version. */ \
	X(__u8, __u8, code_text)

/* One process. */
struct gmt_py_config {
	/* The thread state is pthread_getspecific(autoTSSkey), whether or not the thread has the GIL. glibc keeps 32
	 * keys in struct pthread, and further keys in blocks behind pointers. */
	__s32 key_block;            /* offset of the pointer to the key's block from the thread pointer; 0: no block */
	__s32 key_value;            /* offset of the value from the block; without a block, from the thread pointer */
	__s32 thread_self;          /* pthread_self() - thread pointer: 0 on x86-64 */
#define X(type, user_type, name) type name;
	GMT_PY_OFFSETS(X)
#undef X
	__u8 reserved[6];
	__u32 version;              /* PY_VERSION_HEX; patch level 0 if unknown */
	__u32 eval_count;
	struct gmt_py_range eval[GMT_PY_EVAL_RANGES]; /* addresses of the eval function in the process */
	/* Up to 3.11 the key leads to the thread's first state, whichever interpreter the thread runs. `interps`: the
	 * address of _PyRuntime.interpreters.head, which is `main_interp` unless there are several interpreters.
	 * `current`: the address of gilstate.tstate_current, the state of the thread that has the GIL. interps 0: from
	 * 3.12 on the key leads to the right state. */
	__u64 interps, main_interp, current;
};

/* One Python frame, innermost first. The stack's hash covers all of it. */
struct gmt_py_frame {
	__u64 code;                 /* address of the code object */
	__s32 lasti;                /* bytes from the first instruction; negative: none has run */
	__u32 check;                /* gmt_py_check(), never 0; 0: the code object could not be read */
};

/* Why a walk ended. X(NAME, value, json name, text), append-only as the lists of terms.h. */
#define GMT_PY_REASONS(X)                                                     \
	X(NONE, 0, "none", "not ended, or not begun") \
	X(ROOT, 1, "root", "the thread's outermost frame") \
	X(NO_STATE, 2, "no_state", "thread without Python state") \
	X(STALE, 3, "stale", "thread state of another thread") \
	X(FAULT, 4, "fault", "memory could not be read") \
	X(BAD_POINTER, 5, "bad_pointer", "pointer that is no address") \
	X(DEPTH, 6, "depth", "more frames than are taken") \
	X(INTERPRETERS, 7, "interpreters", "one of several interpreters of Python up to 3.11, without the GIL") \
	/* The collector says these two, of stacks that BPF sent without them. */ \
	X(UNRECOGNIZED, 8, "unrecognized", "taken before Python was recognized") \
	X(UNNAMED, 9, "unnamed", "code was gone before its name was read")

enum gmt_py_reason {
#define X(name, value, ...) GMT_PY_END_##name = value,
	GMT_PY_REASONS(X)
#undef X
	GMT_PY_REASON_COUNT
};

/* Bit r: a stack that ended for reason r lacks Python frames, or names of them. */
#define GMT_PY_CUT                                                                        \
	(1u << GMT_PY_END_FAULT | 1u << GMT_PY_END_BAD_POINTER | 1u << GMT_PY_END_DEPTH | \
	 1u << GMT_PY_END_INTERPRETERS | 1u << GMT_PY_END_UNRECOGNIZED | 1u << GMT_PY_END_UNNAMED)

/* FNV-1a over words, with its 32-bit basis and prime; never 0. */
static inline __attribute__((always_inline)) __u32 gmt_py_check(const __u32 *words, __u8 mask)
{
	__u32 sum = 0x811c9dc5;

#pragma GCC unroll 8
	for (int i = 0; i < GMT_PY_CHECK_WORDS; i++)
		sum = (sum ^ (mask >> i & 1 ? words[i] : 0)) * 0x01000193;
	return sum ? sum : 1;
}

static inline __attribute__((always_inline)) __u32 gmt_py_mix(__u32 sum, __u64 word)
{
	sum = (sum ^ (__u32)word) * 0x01000193;
	return (sum ^ (__u32)(word >> 32)) * 0x01000193;
}

/* The first characters of an ASCII text, 8 of them: those behind its end are 0. */
static inline __attribute__((always_inline)) __u64 gmt_py_chars(const __u64 text[GMT_PY_TEXT_WORDS], __u32 i)
{
	__u64 begin = 8 * (__u64)i, left = text[0] > begin ? text[0] - begin : 0;

	if (left >= 8)
		return text[4 + i];
	return left ? text[4 + i] & ((1ULL << 8 * left) - 1) : 0;
}

/* Adds the names to a check: `head` and `text` are the words of the code object and of the str that is shown. A hash of
 * -1 is not computed yet; without `with_hash`, none is. */
static inline __attribute__((always_inline)) __u32 gmt_py_check_names(__u32 sum, const __u64 *head, __u8 at,
								      const __u64 text[GMT_PY_TEXT_WORDS],
								      int with_hash)
{
#pragma GCC unroll 3
	for (__u32 i = 0; i < 3; i++)
		sum = gmt_py_mix(sum, head[(at - i) % GMT_PY_HEAD_WORDS]);
	sum = gmt_py_mix(sum, text[0]);
	if (with_hash && text[1] != ~0ULL) {
		sum = gmt_py_mix(sum, text[1]);
	} else if (text[2] >> 6 & 1) { /* state.ascii */
#pragma GCC unroll 4
		for (__u32 i = 0; i < 4; i++)
			sum = gmt_py_mix(sum, gmt_py_chars(text, i));
	}
	return sum ? sum : 1;
}

_Static_assert(sizeof(struct gmt_py_frame) == 16, "a hash runs over it");
_Static_assert(sizeof(struct gmt_py_config) == 136, "a map's value, no padding");
_Static_assert(!(GMT_PY_FRAME_BYTES & (GMT_PY_FRAME_BYTES - 1)), "offsets are masked with it");

#endif
