/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A thread's newest stacks. A walk is a function of the registers it begins with, of the process's
 * mappings and of the words that it reads: where all of these are as they were, the stack is the same
 * one, and its id is known. To compare words costs a tenth of finding them.
 */
#ifndef GMT_STACK_MEMO_BPF_H
#define GMT_STACK_MEMO_BPF_H

#define MEMO_STRIDE 8            /* words compared by one step of the loop */

struct memo_check {
	struct stack_state *s;
	const struct stack_memo *memo;
	__u64 differs;
};

static long memo_compare_inside(__u32 step, void *ctx)
{
	struct memo_check *check = ctx;

	if (step >= STACK_MEMO_WORDS / MEMO_STRIDE)
		return 1;
#pragma unroll
	for (__u32 k = 0; k < MEMO_STRIDE; k++) {
		const struct stack_word *word = &check->memo->words[step * MEMO_STRIDE + k];

		if (step * MEMO_STRIDE + k >= check->memo->inside)
			return 1;
		check->differs |= check->s->window[word->at % (2 * STACK_WINDOW_WORDS)] ^ word->val;
	}
	return check->differs != 0;
}

static long memo_compare_outside(__u32 i, void *ctx)
{
	struct memo_check *check = ctx;
	const struct stack_word *word;
	__u64 val;

	if (i >= STACK_MEMO_WORDS)
		return 1;
	word = &check->memo->words[STACK_MEMO_WORDS - 1 - i];
	if (bpf_probe_read_user(&val, sizeof(val), (void *)word->at))
		val = ~word->val;
	check->differs = val ^ word->val;
	return check->differs != 0;
}

/* Reads what the words inside the windows lie between: Python's first, for the verifier does not see that
 * it ends where the stack's begins. */
static __always_inline int memo_look(struct stack_state *s, const struct stack_memo *memo)
{
	__u32 low = memo->py_low, end = memo->end;

	if (low < STACK_WINDOW_WORDS &&
	    bpf_probe_read_user(s->window + low, (STACK_WINDOW_WORDS - low) * sizeof(__u64),
				(void *)(memo->py_base + low * sizeof(__u64))))
		return -1;
	if (end > STACK_WINDOW_WORDS)
		return -1;
	return bpf_probe_read_user(s->window + STACK_WINDOW_WORDS, end * sizeof(__u64), (void *)memo->sp);
}

static __always_inline __u32 memo_check(struct stack_state *s, const struct stack_memo *memo,
					const struct stack_start *start)
{
	struct memo_check check = { .s = s, .memo = memo };

	if (!memo->id || memo->generation != s->space.generation || memo->sp != start->sp ||
	    memo->pc != start->pc || (memo->needs_fp && memo->fp != start->fp))
		return 0;
	if (memo_look(s, memo))
		return 0;
	bpf_loop(STACK_MEMO_WORDS / MEMO_STRIDE, memo_compare_inside, &check, 0);
	if (!check.differs && memo->outside)
		bpf_loop(memo->outside, memo_compare_outside, &check, 0);
	return check.differs ? 0 : memo->id;
}

/* The id of the thread's stack, if it is one of its newest; 0: no. */
static __always_inline __u32 memo_find(struct stack_state *s, const struct stack_start *start)
{
	__u32 id = memo_check(s, &s->memos[s->memo % STACK_MEMOS], start);

	return id ? id : memo_check(s, &s->memos[(s->memo + 1) % STACK_MEMOS], start);
}

static __always_inline void memo_begin(struct stack_state *s, const struct stack_start *start)
{
	struct stack_memo *memo;

	s->memo = (s->memo + 1) % STACK_MEMOS;
	memo = &s->memos[s->memo % STACK_MEMOS];
	memo->id = 0;
	memo->pc = start->pc;
	memo->sp = start->sp;
	memo->fp = start->fp;
	memo->generation = s->space.generation;
	memo->inside = memo->outside = 0;
	memo->end = 0;
	memo->py_base = 0;
	memo->py_low = STACK_WINDOW_WORDS;
}

/* A walk that broke off at unreadable memory may go further the next time. */
static __always_inline void memo_end(struct stack_state *s, __u32 id)
{
	struct stack_memo *memo = &s->memos[s->memo % STACK_MEMOS];

	memo->needs_fp = s->walk.start_fp_used;
	if (s->may_keep && s->walk.reason != GMT_UNWIND_END_FAULT && s->py.reason != GMT_PY_END_FAULT)
		memo->id = id;
}

#endif
