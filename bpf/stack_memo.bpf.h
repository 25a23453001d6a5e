/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A thread's newest stacks. A walk is a function of the registers it begins with, of the process's
 * mappings and of the words that it reads: where all of these are as they were, the stack is the same
 * one, and its id is known. To compare words costs a tenth of finding them.
 */
#ifndef GMT_STACK_MEMO_BPF_H
#define GMT_STACK_MEMO_BPF_H

struct memo_check {
	struct stack_state *s;
	const struct stack_memo *memo;
	__u64 sp, size;          /* what s->window shows */
	__u64 py_low, py_size;
	__u32 is_same;
};

static __always_inline long memo_compare(__u32 i, struct memo_check *check)
{
	const struct stack_word *word;
	__u64 at, val = 0;

	if (i >= STACK_MEMO_WORDS)
		return 1;
	word = &check->memo->words[i];
	at = word->address - check->sp;
	if (at < check->size)
		val = check->s->window[at / 8 % (STACK_WINDOW_BYTES / 8)];
	else if (word->address - check->py_low < check->py_size)
		val = check->s->py_window[(word->address - check->py_low) / 8 % (STACK_PY_WINDOW_BYTES / 8)];
	else if (bpf_probe_read_user(&val, sizeof(val), (void *)word->address))
		val = ~word->val;
	check->is_same = val == word->val;
	return !check->is_same;
}

static long memo_step(__u32 i, void *ctx)
{
	return memo_compare(i, ctx);
}

/* Reads what the words lie in, as far as the windows reach; the others are read one by one. */
static __always_inline int memo_look(struct memo_check *check)
{
	const struct stack_memo *memo = check->memo;
	__u64 size = memo->high - memo->sp, py_size = memo->py_high - memo->py_low;

	if (memo->high <= memo->sp)
		size = 0;
	if (size > STACK_WINDOW_BYTES)
		size = STACK_WINDOW_BYTES;
	if (py_size > STACK_PY_WINDOW_BYTES)
		py_size = 0;
	check->sp = memo->sp;
	check->py_low = memo->py_low;
	check->size = size;
	check->py_size = py_size;
	if (size && bpf_probe_read_user(check->s->window, size, (void *)memo->sp))
		return -1;
	if (py_size && bpf_probe_read_user(check->s->py_window, py_size, (void *)memo->py_low))
		return -1;
	return 0;
}

static __always_inline __u32 memo_check(struct stack_state *s, const struct stack_memo *memo,
					const struct stack_start *start)
{
	struct memo_check check = { .s = s, .memo = memo };

	if (!memo->id || memo->generation != s->space.generation || memo->sp != start->sp ||
	    memo->pc != start->pc || memo->fp != start->fp)
		return 0;
	if (memo_look(&check))
		return 0;
	check.is_same = 1;
	bpf_loop(memo->count, memo_step, &check, 0);
	return check.is_same ? memo->id : 0;
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
	memo->count = 0;
	memo->high = memo->py_low = memo->py_high = 0;
}

/* A walk that broke off at unreadable memory may go further the next time. */
static __always_inline void memo_end(struct stack_state *s, __u32 id)
{
	if (s->may_keep && s->walk.reason != GMT_UNWIND_END_FAULT && s->py.reason != GMT_PY_END_FAULT)
		s->memos[s->memo % STACK_MEMOS].id = id;
}

#endif
