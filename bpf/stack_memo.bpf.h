/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Remembers stacks, so that a thread that has a stack again need not walk it. A walk depends on the registers at its
 * beginning, on the process's mappings and on the words that it reads. If all of these are the same, the stack is the
 * same, and its id is known. Comparing the words costs a tenth of a walk, most of it for the calls that read memory:
 * some 30 ns for a word, 100 ns for a page, and the cache lines that these calls take from the target. Words that
 * follow from other words are not compared: stack_is_implied(), stack_waits_for_c().
 *
 * A stack is compared with those that followed the thread's last stack before: programs allocate in loops, and the next
 * step of a training has the stacks of this step in the same order. So each stack remembers the stacks after it.
 *
 * Any thread gets the next slot in turn, and a program may be preempted while it writes or compares a slot. The writer
 * makes the version odd, which only one program at a time can do, and makes it even again when the slot is complete.
 * A comparison is valid if the version has not changed since the comparison began.
 */
#ifndef GMT_STACK_MEMO_BPF_H
#define GMT_STACK_MEMO_BPF_H

#define MEMO_STRIDE 8            /* words compared by one step of the loop */

#define MEMO_AGE_MAX_NS 5000000000ULL /* a stack that was not seen for so long is walked */

/*
 * Code objects of Python are compared by their addresses alone, and a new object may get the address of an old one. To
 * read each object's check word (python.h) would take longer than all other comparisons. So a stack with Python frames
 * is walked, which reads the check words: each of the first times that it comes, again when an eighth of its times has
 * passed since the walk before, and after 2 s. Code that is made, called a few times and dropped is always walked.
 * Code that was called often and is replaced at its address is taken for the old code for an eighth of those calls at
 * most, and for 2 s at most.
 */
#define MEMO_WALKS_FIRST 16
#define MEMO_WALK_PART 8
#define MEMO_WALK_MAX_NS 2000000000ULL

static __always_inline __u32 memo_version(struct stack_memo_slot *slot)
{
	return arch_read_ordered(&slot->version);
}

/* True: the caller owns the slot until memo_unlock(). This does not wait, because the owner may have been preempted. */
static __always_inline int memo_lock(struct stack_memo_slot *slot)
{
	__u32 version = memo_version(slot);

	return !(version & 1) && __sync_val_compare_and_swap(&slot->version, version, version + 1) == version;
}

static __always_inline void memo_unlock(struct stack_memo_slot *slot)
{
	/* An exchange, because an addition whose result is not used keeps no order on arm64. */
	__sync_lock_test_and_set(&slot->version, slot->version + 1);
}

struct memo_check {
	struct stack_state *s;
	const struct stack_memo *memo;
	__u64 sum;
	__u32 chunk;             /* number of the chunk in s->chunk; STACK_CHUNKS: none */
};

/* Adds a stride of words to the sum. The result is that of memo_word() for each word, but no product waits for the
 * product before. */
static __always_inline __u64 memo_sum(__u64 sum, const __u64 words[MEMO_STRIDE])
{
	__u64 power = 1, added = 0;

#pragma unroll
	for (__u32 k = 0; k < MEMO_STRIDE; k++) {
		added += words[MEMO_STRIDE - 1 - k] * power;
		power *= STACK_MIX;
	}
	return sum * power + added;
}

/* Reads a word of the windows. Up to 6.1 the verifier forgets the tested bound of an index that lies on the stack. The
 * barriers keep the index in one register from its test to its use. */
static __always_inline int memo_window_word(const struct stack_state *s, __u16 at, __u64 *word)
{
	__u64 i = at;

	asm volatile("" : "+r"(i));
	if (i >= STACK_WINDOWS)
		return -1;
	*word = s->window[i];
	asm volatile("" : "+r"(*word));
	return 0;
}

static long memo_add_inside(__u32 step, void *ctx)
{
	struct memo_check *check = ctx;
	__u64 words[MEMO_STRIDE], sum = check->sum;
	const __u16 *at;
	__s64 left;

	if (step >= STACK_MEMO_INSIDE / MEMO_STRIDE)
		return 1;
	/* One pointer with constant offsets, because the verifier forgets the bounds of an index. */
	at = &check->memo->inside_at[step * MEMO_STRIDE];
	left = (__s64)check->memo->inside - step * MEMO_STRIDE;
	if (left < MEMO_STRIDE) {
#pragma unroll
		for (__s64 k = 0; k < MEMO_STRIDE - 1; k++) {
			if (k < left && !memo_window_word(check->s, at[k], &words[0]))
				sum = sum * STACK_MIX + words[0];
		}
		check->sum = sum;
		return 1;
	}
#pragma unroll
	for (__u32 k = 0; k < MEMO_STRIDE; k++) {
		if (memo_window_word(check->s, at[k], &words[k]))
			return 1;
	}
	check->sum = memo_sum(sum, words);
	return 0;
}

static __always_inline int memo_read_chunk(struct memo_check *check, __u32 chunk)
{
	check->chunk = chunk;
	asm volatile("" : "+r"(chunk)); /* the verifier needs the bound of `chunk` itself */
	if (chunk >= STACK_CHUNKS)
		return -1;
	return bpf_probe_read_user(check->s->chunk, STACK_CHUNK, (void *)check->memo->chunk_at[chunk]) != 0;
}

/* Most words lie in the same chunk as the word before, because frames lie side by side. Reading a chunk takes as long
 * as reading three words one by one. */
static long memo_add_outside(__u32 step, void *ctx)
{
	struct memo_check *check = ctx;
	const __u16 *words;
	__s64 left;

	if (step >= STACK_MEMO_OUTSIDE / MEMO_STRIDE)
		return 1;
	words = &check->memo->outside_at[step * MEMO_STRIDE];
	left = (__s64)check->memo->outside - step * MEMO_STRIDE;
#pragma unroll
	for (__s64 k = 0; k < MEMO_STRIDE; k++) {
		__u32 chunk = words[k] / STACK_CHUNK_WORDS;

		if (k >= left)
			return 1;
		if (chunk != check->chunk && memo_read_chunk(check, chunk)) {
			check->sum = ~check->memo->outside_sum;
			return 1;
		}
		check->sum = check->sum * STACK_MIX + check->s->chunk[words[k] % STACK_CHUNK_WORDS];
	}
	return 0;
}

/* Whether all words of the target still have their old values. */
static __always_inline int memo_holds(struct stack_state *s, const struct stack_memo *memo)
{
	struct memo_check check = { .s = s, .memo = memo, .chunk = STACK_CHUNKS };
	__u64 val;

#pragma unroll
	for (__u32 i = 0; i < STACK_MEMO_FAR; i++) {
		if (i >= memo->far)
			break;
		if (bpf_probe_read_user(&val, sizeof(val), (void *)memo->far_words[i].at) ||
		    val != memo->far_words[i].val)
			return 0;
	}
	bpf_loop(STACK_MEMO_INSIDE / MEMO_STRIDE, memo_add_inside, &check, 0);
	if (check.sum != memo->inside_sum)
		return 0;
	check.sum = 0;
	if (memo->outside)
		bpf_loop(STACK_MEMO_OUTSIDE / MEMO_STRIDE, memo_add_outside, &check, 0);
	return check.sum == memo->outside_sum;
}

/* Reads the used parts of both windows. Python's window comes first, because the verifier does not see that Python's
 * window ends where the stack's window begins. */
static __always_inline int memo_look(struct stack_state *s, const struct stack_memo *memo)
{
	__u32 low = memo->py_low, end = memo->end;

	if (low < STACK_PY_WORDS &&
	    bpf_probe_read_user(s->window + low, (STACK_PY_WORDS - low) * sizeof(__u64),
				(void *)(memo->py_base + low * sizeof(__u64))))
		return -1;
	if (end > STACK_WINDOW_WORDS)
		return -1;
	return bpf_probe_read_user(s->window + STACK_PY_WORDS, end * sizeof(__u64), (void *)memo->sp);
}

/* Reading the clock takes as long as reading user memory: once for each call is enough. */
static __always_inline __u64 memo_now(const struct stack_start *start)
{
	return start->now_ns ? start->now_ns : bpf_ktime_get_ns();
}

/* A hash of the registers. It tells most stacks apart before any word is read. */
static __always_inline __u32 memo_tag(const struct stack_start *start)
{
	return ((start->pc ^ start->sp) * STACK_MIX) >> 32 & ~((1u << STACK_MEMO_BITS) - 1);
}

static __always_inline struct stack_memo_slot *memo_slot(__u32 i)
{
	return i ? bpf_map_lookup_elem(&stack_memos, &i) : NULL;
}

static __always_inline int memo_is_due(const struct stack_memo_slot *slot, __u64 now)
{
	return slot->memo.py_base &&
	       (slot->hits < MEMO_WALKS_FIRST || slot->hits - slot->walked_hits > slot->hits / MEMO_WALK_PART ||
		now - slot->walked_ns > MEMO_WALK_MAX_NS);
}

/* The id of the slot's stack, if the thread has that stack now; else 0. If the stack is due to be walked: 0, and s->due
 * is the slot. */
__noinline __u32 memo_check(struct stack_state *s, struct stack_start *start, __u32 generation, __u32 i)
{
	struct stack_memo_slot *slot = memo_slot(i);
	const struct stack_memo *memo;
	__u32 id, version;
	__u64 now;

	if (!s || !start || !slot)
		return 0;
	memo = &slot->memo;
	now = memo_now(start);
	version = memo_version(slot);
	id = slot->id;
	if (version & 1 || !id || now - slot->used_ns > MEMO_AGE_MAX_NS || memo->generation != generation ||
	    memo->mapped != s->mapped ||
	    memo->sp != start->sp || memo->pc != start->pc || (memo->needs_fp && memo->fp != start->fp) ||
	    arch_link_differs(&memo->link, &start->ret))
		return 0;
	if (memo_look(s, memo) || !memo_holds(s, memo))
		return 0;
	if (memo_version(slot) != version)
		return 0;
	if (memo_is_due(slot, now)) {
		s->due = i;
		return 0;
	}
	slot->used_ns = now;
	slot->hits++;
	return id;
}

/* The id of the thread's stack, if that stack has followed the thread's newest stack before; else 0. */
static __always_inline __u32 memo_find(struct stack_state *s, struct stack_thread *thread, struct stack_start *start)
{
	const struct stack_memo_slot *newest = memo_slot(thread->slot);
	__u32 tag = memo_tag(start), id, i;

	s->due = 0;
	if (!newest)
		return 0;
	start->now_ns = memo_now(start);
#pragma unroll
	for (int k = 0; k < STACK_MEMO_NEXT; k++) {
		i = newest->next[k] ^ tag;
		id = i >> STACK_MEMO_BITS ? 0 : memo_check(s, start, thread->space.generation, i);
		if (id) {
			thread->slot = i;
			return id;
		}
		if (s->due)
			return 0;
	}
	return 0;
}

static __always_inline void memo_begin(struct stack_state *s, const struct stack_start *start)
{
	struct stack_memo *memo = &s->memo;

	memo->pc = start->pc;
	memo->sp = start->sp;
	memo->fp = start->fp;
	memo->link = arch_link(&start->ret);
	memo->generation = s->space.generation;
	memo->mapped = s->mapped;
	memo->inside = memo->outside = memo->far = memo->chunks = 0;
	memo->inside_sum = memo->outside_sum = 0;
	memo->end = 0;
	memo->py_base = 0;
	memo->py_low = STACK_PY_WORDS;
}

/* The slot that belongs to the key, or the next slot in turn. */
static __always_inline __u32 memo_slot_for(__u64 key)
{
	__u32 *known = bpf_map_lookup_elem(&stack_memo_keys, &key), i = known ? *known : 0;
	struct stack_memo_slot *slot = memo_slot(i);

	if (slot && slot->key == key)
		return i;
	return 1 + __sync_fetch_and_add(&memos_taken, 1) % (gmt.config.stack_memos - 1);
}

/* Gives a slot, which the caller has locked, to the key. */
static __always_inline void memo_take(struct stack_memo_slot *slot, __u32 i, __u64 key)
{
	if (slot->key == key)
		return;
	slot->key = key;
	slot->hits = 0;
	__builtin_memset(slot->next, 0, sizeof(slot->next));
	bpf_map_update_elem(&stack_memo_keys, &key, &i, BPF_ANY);
}

/* Remembers that the stack `next` came after the slot's stack. */
static __always_inline void memo_follow(__u32 i, __u32 next)
{
	struct stack_memo_slot *slot = memo_slot(i);

	if (!slot || slot->next[0] == next)
		return;
#pragma unroll
	for (int k = STACK_MEMO_NEXT - 1; k > 0; k--)
		slot->next[k] = slot->next[k - 1];
	slot->next[0] = next;
}

/* Two stacks have the same words and are not the same: the one that was due is young again, as its code may return. */
static __always_inline void memo_doubt(__u32 due, __u32 found)
{
	struct stack_memo_slot *slot = due != found ? memo_slot(due) : NULL;

	if (slot)
		slot->hits = slot->walked_hits = 0;
}

/* Remembers the stack, unless the walk broke off at unreadable memory: such a walk may go further the next time. */
static __always_inline void memo_end(struct stack_state *s, struct stack_thread *thread,
				     const struct stack_start *start, __u32 id)
{
	__u64 key = (s->hash ^ start->sp) * STACK_MIX ^ (__u32)bpf_get_current_pid_tgid();
	struct stack_memo_slot *slot;
	__u64 now;
	__u32 i;

	if (!id)
		return;
	stack_keep_return(s);
	stack_keep_shim(s);
	s->memo.needs_fp = s->walk.start_fp_used;
	if (!s->may_keep || s->walk.reason == GMT_UNWIND_END_FAULT || s->py.reason == GMT_PY_END_FAULT ||
	    gmt.config.stack_memos < 2)
		return;
	i = memo_slot_for(key);
	slot = memo_slot(i);
	if (!slot || !memo_lock(slot))
		return;
	now = memo_now(start);
	memo_doubt(s->due, i);
	memo_take(slot, i, key);
	bpf_probe_read_kernel(&slot->memo, sizeof(slot->memo), &s->memo);
	slot->used_ns = slot->walked_ns = now;
	slot->walked_hits = ++slot->hits;
	slot->id = id;
	memo_unlock(slot);
	memo_follow(thread->slot, i | memo_tag(start));
	thread->slot = i;
}

#endif
