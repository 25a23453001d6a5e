/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Remembers which row of the unwinding tables was found for an address, so that the row is not searched for again. */
#ifndef GMT_STACK_ROWS_BPF_H
#define GMT_STACK_ROWS_BPF_H

#define STACK_ROWS_BITS 14       /* 16,384 rows for all threads: 256 KiB */

/* Rows of the tables by address, for all processes. Any program reads and writes an entry at any time, without a lock:
 * `check` tells whether the entry belongs to the address and is complete. */
struct stack_row {
	__u64 check;             /* stack_row_key() ^ stack_row_seal() */
	__u64 raw;               /* union gmt_unwind_word */
};

MAP(stack_rows, ARRAY, 1 << STACK_ROWS_BITS, __u32, struct stack_row, 0);

/* A generation belongs to the mappings of one process, and is never used again. */
static __always_inline __u64 stack_row_key(const struct stack_state *s, __u64 pc)
{
	return (pc ^ (__u64)s->space.generation << 40) * STACK_MIX;
}

static __always_inline __u64 stack_row_seal(__u64 raw)
{
	__u64 mixed = (raw ^ raw >> 32) * STACK_MIX;

	return mixed ^ mixed >> 29;
}

static __always_inline struct stack_row *stack_row_of(__u64 key)
{
	__u32 i = key >> (64 - STACK_ROWS_BITS);

	return bpf_map_lookup_elem(&stack_rows, &i);
}

static __always_inline int stack_row_known(struct stack_state *s, __u64 pc, struct gmt_unwind_row *row)
{
	__u64 key = stack_row_key(s, pc);
	const volatile struct stack_row *at = stack_row_of(key);
	union gmt_unwind_word word;

	if (!at)
		return 0;
	word.raw = at->raw;
	if ((at->check ^ stack_row_seal(word.raw)) != key)
		return 0;
	*row = word.row;
	return 1;
}

static __always_inline void stack_row_keep(struct stack_state *s, __u64 pc, const struct gmt_unwind_row *row)
{
	__u64 key = stack_row_key(s, pc);
	volatile struct stack_row *at = stack_row_of(key);
	union gmt_unwind_word word = { .row = *row };

	if (!at)
		return;
	at->raw = word.raw;
	at->check = key ^ stack_row_seal(word.raw);
}

#endif
