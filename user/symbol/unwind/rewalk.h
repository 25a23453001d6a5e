/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks a stack a second time, in a copy of its memory, which BPF takes while tables are missing. The unwinder is
 * BPF's own (bpf/unwind.bpf.h), so both find the same frames.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_REWALK_H
#define GPUMEMTRACE_SYMBOL_UNWIND_REWALK_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

struct rewalk {
	const struct gmt_unwind_mapping *mappings; /* sorted by start */
	uint32_t mapping_count;
	const __u64 *(*word)(void *arg, uint32_t slot); /* of the tables; NULL: there is none */
	void *arg;
	uint32_t depth;                  /* native frames, FRAMES_MAX at most */
};

/*
 * Writes the stack that the pieces of a copy show (at least one, by ascending address) to `out`, which has room for
 * GMT_STACK_WORDS words. Id, thread and Python frames come from `stack`, the record that BPF sent. The caller has
 * checked that all words lie in their records.
 */
void rewalk_stack(const struct rewalk *rewalk, const struct gmt_stack *stack,
		  const struct gmt_stack_copy *const *pieces, size_t count, struct gmt_stack *out);

#endif
