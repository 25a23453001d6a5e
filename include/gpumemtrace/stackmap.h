/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What the collector tells BPF so that it can take stacks: per process its mappings and its Python, for
 * the whole machine the words of all unwinding tables.
 */
#ifndef GPUMEMTRACE_STACKMAP_H
#define GPUMEMTRACE_STACKMAP_H

#include <gpumemtrace/python.h>
#include <gpumemtrace/unwind.h>

/* Words of tables: slot s of a blob is word s % SHARD_WORDS of map s / SHARD_WORDS. A blob may cross. */
#define GMT_SHARD_WORDS (1u << 20)     /* 8 MiB a map */
#define GMT_SHARDS 128                 /* 1 GiB of tables at most; made as they are needed */

#define GMT_STACK_SPACES 4096          /* lists of mappings at a time: two for each process */
#define GMT_STACK_WORDS 1024           /* of one stack: a native frame takes one, a Python frame two */
#define GMT_STACK_DEPTH_DEFAULT 512    /* native frames */
#define GMT_STACKS_KNOWN 65536         /* stacks whose id BPF remembers; one that it forgets is sent again */

/* Stacks that are remembered with the words that they were found by, of all threads together: 1.6 KiB each. A step
 * of a training takes some hundreds of PyTorch's blocks, its calls of the driver are few. */
#define GMT_STACK_MEMOS 256
#define GMT_STACK_MEMOS_BLOCKS 4096

/* Walks that go on at one time, 28 KiB each: one for each CPU, and more for programs that were preempted in the
 * middle of one. A CPU tries some of them; where all of these are taken, the stack is counted as lost: with 16 tries
 * that was seen of 32 threads on two CPUs (6.12-rt, full preemption), with 64 it was not. */
#define GMT_STACK_WALKS_PER_CPU 4
#define GMT_STACK_WALKS_MIN 64
#define GMT_STACK_WALKS_TRIED 64

/* Memory of a stack that is copied, in bytes, where tables are missing: Python 3.12 seven callbacks deep
 * takes 43 KiB, cuDNN inside of PyTorch more. A record can have 64 KiB, so it is copied in pieces. */
#define GMT_STACK_COPY_SMALL 16384
#define GMT_STACK_COPY_PIECE 61440
#define GMT_STACK_COPY_PIECES 4
#define GMT_STACK_COPIES 128           /* of one thread, for one list of mappings */

/* How stacks are taken. X(NAME, value, name, text) */
#define GMT_STACK_MODES(X)                                                              \
	X(OFF, 0, "off", "none")                                                        \
	X(FULL, 1, "full", "native and Python frames")                                  \
	X(NATIVE, 2, "native", "native frames")                                         \
	X(PYTHON, 3, "python", "Python frames, and the native one on top")              \
	X(POINTERS, 4, "fp", "the kernel's walk along frame pointers: mostly incomplete")

enum gmt_stack_mode {
#define X(name, value, text, help) GMT_STACKS_##name = value,
	GMT_STACK_MODES(X)
#undef X
	GMT_STACK_MODE_COUNT
};

/* FULL and NATIVE need unwinding tables, which are read of x86-64's files alone (user/symbol/unwind/cfa_program.c). */
#if defined(__x86_64__)
#define GMT_STACKS_DEFAULT GMT_STACKS_FULL
#else
#define GMT_STACKS_DEFAULT GMT_STACKS_POINTERS
#endif

/* A process. A change gets a new generation, never given twice: what was kept for an old one is void. */
struct gmt_stack_space {
	__u32 generation;        /* never 0 */
	__u32 slot;              /* of its list of mappings */
	__u32 mapping_count;
	__u32 reserved;
	struct gmt_py_config python; /* boundary GMT_PY_NO_PYTHON: none, or one that cannot be read */
};

#endif
