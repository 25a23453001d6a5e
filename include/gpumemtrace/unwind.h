/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Native unwinding tables, which user space builds and BPF reads.
 *
 * A module (a file with code, or the vDSO) is a blob of 8-byte words: an index of the module's 64 KiB pages, then rows
 * that are sorted by pc. A blob contains no addresses, so it serves every process that maps the file at any place, and
 * can be kept on disk. Blobs lie one behind the other in a space of words, and a 32-bit slot is the number of a word.
 * The holder of the words decides how they are split into maps.
 *
 * Invariants of a blob, which unwind_table_check() proves before BPF gets it: pcs rise strictly, the
 * first row has pc 0, index[p].first is the first row at or above p << 16, index[p].end the first one
 * at or above (p + 1) << 16.
 */
#ifndef GPUMEMTRACE_UNWIND_H
#define GPUMEMTRACE_UNWIND_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* The machine whose stacks are walked: x86-64, or arm64. A test may ask for arm64 on any machine. */
#if defined(__aarch64__) && !defined(GMT_UNWIND_ARM64)
#define GMT_UNWIND_ARM64
#endif

#define GMT_UNWIND_PAGE_SHIFT 16
#define GMT_UNWIND_PAGE_STEPS 17    /* halvings that find one of the 65536 rows of a page */
#define GMT_UNWIND_MAPPING_STEPS 14 /* halvings that find one of the mappings of a process */
#define GMT_UNWIND_MAPPINGS_MAX 8192
#define GMT_UNWIND_FRAMES_MAX 1024  /* the most that a caller may ask for */
#define GMT_UNWIND_TAKEN_MAX 16     /* more than GMT_INFLIGHT_DEPTH: other tracers have return probes, too */

/*
 * How the caller's frame is found. X(NAME, value): values are stored on disk, so the list is append-only.
 * CFA is DWARF's canonical frame address, fp is rbp or x29. On x86-64 the return address lies at CFA-8. For arm64, see
 * GMT_UNWIND_SLOT_UP. PLT and DEREF are rules of x86-64 alone.
 */
#define GMT_UNWIND_RULES(X)                                                                  \
	X(NONE, 0)        /* no FDE covers this code */                                      \
	X(SP, 1)          /* CFA = sp + 8 * cfa */                                           \
	X(FP, 2)          /* CFA = fp + 8 * cfa */                                           \
	X(PLT, 3)         /* CFA = sp + 8 + 8 * ((pc & 15) >= cfa): ld's rule for .plt */    \
	X(DEREF, 4)       /* CFA = *(fp + 8 * cfa): GCC, stack realigned */                  \
	X(SIGNAL, 5)      /* the kernel's signal frame lies at sp */                         \
	X(STOP, 6)        /* undefined return address: nobody called this */                 \
	X(UNSUPPORTED, 7) /* described, but not by one of these rules */                     \
	X(SWITCH, 8)      /* the code moves stacks: what lies above may be another stack's */

enum gmt_unwind_rule {
#define X(name, value) GMT_UNWIND_##name = value,
	GMT_UNWIND_RULES(X)
#undef X
};

#define GMT_UNWIND_RULE_MASK 0x0f
#define GMT_UNWIND_EVAL 0x80        /* the row lies in CPython's eval loop: Python frames are merged here */
#define GMT_UNWIND_RUNTIME 0x40     /* the row lies in CPython's own file or the C library, and is no signal's */

/*
 * arm64: where the caller's registers are. With gmt_unwind_row.fp = GMT_UNWIND_FP_SAME, the frame pointer is in x29 and
 * the return address in x30. Any other value is the place of a slot: SLOT_UP | n means 8 * n bytes above the CFA's
 * register, which is CFA - 8 * cfa + 8 * n; n without SLOT_UP means CFA - 8 * n. The slot holds x29, and the word above
 * the slot holds the return address. In a row with RA_ALONE the slot holds the return address, and the frame pointer is
 * in x29. A return address may be signed. The rows of both machines have one layout: files on a disk say their machine
 * (user/symbol/unwind/table_cache.h), and BPF gets tables of its own machine alone.
 */
#define GMT_UNWIND_RA_ALONE 0x10
#define GMT_UNWIND_SLOT_UP 0x80
#define GMT_UNWIND_SLOT_MAX 0x7d    /* the largest n: none makes GMT_UNWIND_FP_AT_FP or GMT_UNWIND_FP_LOST */

/* x86-64: where the caller's frame pointer is. Any other value n: at CFA - 8 * n. */
enum gmt_unwind_fp {
	GMT_UNWIND_FP_SAME = 0,     /* in its register */
	GMT_UNWIND_FP_MAX = 0xfd,
	GMT_UNWIND_FP_AT_FP = 0xfe, /* at *fp: DW_CFA_expression breg6+0, GCC, stack realigned */
	GMT_UNWIND_FP_LOST = 0xff,  /* nowhere that this table can describe */
};

/* A row holds from its pc to the next row's pc. */
struct gmt_unwind_row {
	__u32 pc;            /* vaddr of the code - the module's base */
	__s16 cfa;           /* in units of 8 bytes; see GMT_UNWIND_PLT for its other meaning */
	__u8 rule;           /* enum gmt_unwind_rule | GMT_UNWIND_EVAL | GMT_UNWIND_RUNTIME | GMT_UNWIND_RA_ALONE */
	__u8 fp;             /* enum gmt_unwind_fp; arm64: a slot */
};

/* The rows of one 64 KiB page: rows [first, end), and the row before them. */
struct gmt_unwind_page {
	__u32 first;
	__u32 end;
};

union gmt_unwind_word {
	struct gmt_unwind_row row;
	struct gmt_unwind_page page;
	__u64 raw;           /* what a map holds */
};

/* What a walk needs beside pc, sp and the frame pointer. */
struct gmt_unwind_more {
#ifdef GMT_UNWIND_ARM64
	__u64 link;          /* x30: the return address of a function that has made no call */
	__u64 code_mask;     /* the bits of an address; a signature lies in the other bits of a return address */
#endif
};

/* What a walk in a copy of a stack needs beside: return addresses that return probes took. On x86-64 BPF puts these
 * back into the copy. On arm64 nobody knows where a function has saved them. */
struct gmt_unwind_taken {
#ifdef GMT_UNWIND_ARM64
	__u64 trampoline;    /* what the probes put in their place; 0: nothing */
	__u64 count;
	struct {
		__u64 at;    /* the stack pointer at the function's entry */
		__u64 pc;
	} list[GMT_UNWIND_TAKEN_MAX];
#endif
};

/* What is known of a mapping. */
enum gmt_unwind_mapping_flag {
	GMT_UNWIND_MAP_TABLE = 1 << 0, /* slot and pages are valid */
	GMT_UNWIND_MAP_JIT = 1 << 1,   /* code without a file: has no FDE, may keep frame pointers */
};

/* An executable mapping of a process. A process has an array of them, sorted by start. */
struct gmt_unwind_mapping {
	__u64 start;
	__u64 end;
	__u64 base;          /* address where the module's pc 0 lies */
	__u32 slot;          /* first word of the module's blob: the index, with the rows behind it */
	__u32 pages;         /* entries of the index */
	__u32 module;        /* the collector's number of the module; BPF does not use it */
	__u32 flags;         /* enum gmt_unwind_mapping_flag */
};

/*
 * Why unwinding ended. X(NAME, value, complete, json name, text): one list, expanded into the enum, the texts and
 * the counters. A walk that is not over has NONE.
 */
#define GMT_UNWIND_REASONS(X)                                                             \
	X(NONE, 0, 0, "none", "not ended") \
	X(ROOT, 1, 1, "root", "complete: the first function of a thread or a greenlet") \
	X(ZERO, 2, 1, "zero", "complete: return address 0") \
	X(DEPTH, 3, 0, "depth", "more frames than asked for") \
	X(NO_MAPPING, 4, 0, "no_mapping", "return address in no known executable mapping") \
	X(NO_TABLE, 5, 0, "no_table", "module without a table yet") \
	X(NO_ROW, 6, 0, "no_row", "code without unwind information") \
	X(UNSUPPORTED, 7, 0, "unsupported", "unwind rule not supported") \
	X(FP_LOST, 8, 0, "fp_lost", "frame pointer needed, but not known") \
	X(FAULT, 9, 0, "fault", "stack memory could not be read") \
	X(OUTSIDE, 10, 0, "outside", "frame outside of the thread's stack") \
	X(MISALIGNED, 11, 0, "misaligned", "frame at an odd address") \
	X(NO_PROGRESS, 12, 0, "no_progress", "frame not above the one before") \
	X(TRAMPOLINE, 13, 0, "trampoline", "return address taken by a return probe and not found") \
	X(BAD_TABLE, 14, 0, "bad_table", "table damaged") \
	X(NOT_WALKED, 15, 0, "not_walked", "not unwound: --stacks, or the kernel") \
	X(SWITCHED, 16, 0, "switched", "library without symbols that switches stacks (greenlet)") \
	X(REMAPPED, 17, 0, "remapped", "other code was mapped in the place of a frame's")

enum gmt_unwind_reason {
#define X(name, value, complete, ...) GMT_UNWIND_END_##name = value,
	GMT_UNWIND_REASONS(X)
#undef X
	GMT_UNWIND_REASON_COUNT
};

/* Bit r: a stack that ended for reason r has all its frames. */
enum gmt_unwind_complete {
#define X(name, value, complete, ...) | (complete) << (value)
	GMT_UNWIND_COMPLETE = 0 GMT_UNWIND_REASONS(X),
#undef X
};

/* Bit r: a stack that ended for reason r may go on once there are tables for its code. */
#define GMT_UNWIND_CUT                                                                    \
	(1u << GMT_UNWIND_END_NO_MAPPING | 1u << GMT_UNWIND_END_NO_TABLE | 1u << GMT_UNWIND_END_NOT_WALKED)

/*
 * A frame as one word: its pc and flags. The flags are bits that no user address has: 5-level paging ends below bit 56.
 */
#define GMT_FRAME_EXACT (1ULL << 63)   /* pc is the next instruction; without the flag pc is a return address */
#define GMT_FRAME_EVAL (1ULL << 62)    /* CPython's eval loop */
#define GMT_FRAME_GUESSED (1ULL << 61) /* found by its frame pointer, without unwind information */
#define GMT_FRAME_PYTHON (1ULL << 60)  /* the word is a CPython code object, not a pc (struct gmt_stack) */
#define GMT_FRAME_LAST (1ULL << 59)    /* with PYTHON: the outermost frame of its call of the eval loop */
#define GMT_FRAME_PC_MASK ((1ULL << 56) - 1)

_Static_assert(sizeof(struct gmt_unwind_row) == 8, "row layout");
_Static_assert(sizeof(struct gmt_unwind_page) == 8, "page layout");
_Static_assert(sizeof(union gmt_unwind_word) == 8, "word layout");
_Static_assert(sizeof(struct gmt_unwind_mapping) == 40, "mapping layout");
_Static_assert((1 << GMT_UNWIND_PAGE_SHIFT) < (1 << GMT_UNWIND_PAGE_STEPS), "a page is searched to its end");
_Static_assert(GMT_UNWIND_MAPPINGS_MAX < 1 << GMT_UNWIND_MAPPING_STEPS, "mappings are searched to their end");
_Static_assert(GMT_UNWIND_SWITCH <= GMT_UNWIND_RULE_MASK, "rules fit their mask");
_Static_assert((GMT_UNWIND_SLOT_UP | GMT_UNWIND_SLOT_MAX) < GMT_UNWIND_FP_AT_FP, "no slot is another place");
_Static_assert(GMT_UNWIND_REASON_COUNT <= 32, "reasons fit the mask of complete ones");

#endif
