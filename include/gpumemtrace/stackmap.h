/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The data that the collector gives to BPF for taking stacks: the mappings and the Python of each process, and the
 * words of all unwinding tables of the machine.
 */
#ifndef GPUMEMTRACE_STACKMAP_H
#define GPUMEMTRACE_STACKMAP_H

#include <gpumemtrace/python.h>
#include <gpumemtrace/unwind.h>

/* Words of tables: slot s is word s % SHARD_WORDS of map s / SHARD_WORDS. A blob may lie in several maps. */
#define GMT_SHARD_WORDS (1u << 20)     /* 8 MiB a map */
#define GMT_SHARDS 128                 /* 1 GiB of tables at most; maps are made when they are needed */

#define GMT_STACK_SPACES 4096          /* lists of mappings at a time: two for each process */
#define GMT_STACK_WORDS 1024           /* words of one stack: a native frame takes one, a Python frame two */
#define GMT_STACK_DEPTH_DEFAULT 512    /* native frames */
#define GMT_STACKS_KNOWN 65536         /* stacks whose id BPF remembers; a forgotten stack is sent again */

/* Stacks of all threads that BPF remembers with the words that lead to them: 1.6 KiB each. A step of a training takes
 * some hundreds of PyTorch's blocks, but makes few driver calls. */
#define GMT_STACK_MEMOS 256
#define GMT_STACK_MEMOS_BLOCKS 4096

/* States of walks, 28 KiB each: one for each CPU, and more for programs that are preempted in the middle of a walk. A
 * CPU tries some of the states. If all of these are taken, the stack is counted as lost. With 16 tries, 32 threads on
 * two CPUs lost stacks (6.12-rt, full preemption); with 64 tries they did not. */
#define GMT_STACK_WALKS_PER_CPU 4
#define GMT_STACK_WALKS_MIN 64
#define GMT_STACK_WALKS_TRIED 64

/* Bytes of a stack's memory that are copied if tables are missing. Python 3.12 seven callbacks deep takes 43 KiB, cuDNN
 * inside of PyTorch more. A record has 64 KiB at most, so the memory is copied in pieces. */
#define GMT_STACK_COPY_SMALL 16384
#define GMT_STACK_COPY_PIECE 61440
#define GMT_STACK_COPY_PIECES 4
#define GMT_STACK_COPIES 128           /* copies for one thread and one list of mappings */

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

#define GMT_STACKS_DEFAULT GMT_STACKS_FULL

/* A process. Each change gets a new generation, which is never given twice; entries of an old generation are void. */
struct gmt_stack_space {
	__u32 generation;        /* never 0 */
	__u32 slot;              /* of its list of mappings */
	__u32 mapping_count;
	__u32 number;            /* of the newest mapping that the list knows: struct gmt_code_mapped */
	struct gmt_py_config python; /* boundary GMT_PY_NO_PYTHON: no Python, or an unknown one */
};

#endif
