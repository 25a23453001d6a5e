/* SPDX-License-Identifier: BSD-2-Clause */
/* The unwinder of bpf/ as ordinary C: each file that includes this header defines the six functions that the unwinder
 * calls. */
#ifndef GMT_TESTS_SYMBOL_UNWIND_C_H
#define GMT_TESTS_SYMBOL_UNWIND_C_H

#include <gpumemtrace/unwind.h>

struct unwind_walk;
static int read64(struct unwind_walk *walk, __u64 address, __u64 *val);
static const __u64 *word_at(struct unwind_walk *walk, __u32 slot);
static const struct gmt_unwind_mapping *mapping_at(struct unwind_walk *walk, __u32 i);
static int take(struct unwind_walk *walk, __u64 word);
static int repair(struct unwind_walk *walk, __u64 slot, __u64 *pc);
static __u64 other_stack(struct unwind_walk *walk, __u64 sp);
#define UNWIND_READ64(walk, address, val) read64(walk, address, val)
#define UNWIND_WORD(walk, slot) word_at(walk, slot)
#define UNWIND_MAPPING(walk, i) mapping_at(walk, i)
#define UNWIND_FRAME(walk, word) take(walk, word)
#define UNWIND_REPAIR(walk, slot, pc) repair(walk, slot, pc)
#define UNWIND_OTHER_STACK(walk, sp) other_stack(walk, sp)
#include "../../bpf/unwind.bpf.h"

#endif
