// SPDX-License-Identifier: BSD-2-Clause
/*
 * The memory of stacks (bpf/stack_memo.bpf.h) while a program writes a slot and another one reads or writes it: the
 * reader gets the old stack, the new stack or nothing. The programs run as ordinary C and stop before each of their accesses
 * to the slot: the compiler's instrumentation for data races calls functions of this file there.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#define HOST_STACKS
#include "../../pairing/host_bpf.h"

#define PC 0x401000ULL
#define SP 0x7f0000000000ULL
#define STACK_WORDS 4096         /* of a thread: the upper half is outside of the window */
#define FAR 0x5500000000ULL
#define FAR_WORDS 4
#define SLOT 1
#define IMAGES 128               /* states of the slot while a program writes it */
#define ACCESSES_MAX 10000

/* ---- threads: their memory, and the stacks that a walk would find there ---- */

enum part { PART_FAR, PART_INSIDE, PART_OUTSIDE, PARTS };

/* Which stack a part of a thread's memory belongs to: bit `part` is set for the new stack. */
#define ALL_OLD 0u
#define ALL_NEW 7u
#define MEMORIES 8u

/* The words of the two stacks: some places are the same, and no value is. */
static const struct {
	enum part part;
	__u32 word;
	bool in[2];              /* the old stack's, the new stack's */
} places[] = {
	{ PART_FAR, 0, { true, true } },      { PART_FAR, 2, { false, true } },
	{ PART_INSIDE, 0, { true, true } },   { PART_INSIDE, 3, { true, true } },
	{ PART_INSIDE, 4, { true, false } },  { PART_INSIDE, 5, { false, true } },
	{ PART_INSIDE, 8, { true, true } },   { PART_INSIDE, 9, { true, true } },
	{ PART_INSIDE, 11, { true, true } },  { PART_INSIDE, 12, { true, true } },
	{ PART_INSIDE, 13, { true, true } },  { PART_INSIDE, 14, { false, true } },
	{ PART_INSIDE, 15, { true, true } },  { PART_INSIDE, 17, { true, false } },
	{ PART_OUTSIDE, 2500, { true, true } }, { PART_OUTSIDE, 2501, { true, false } },
	{ PART_OUTSIDE, 3900, { false, true } },
};

static struct {
	unsigned int memory;     /* of the thread that runs */
	__u64 stack[2][STACK_WORDS], far[2][FAR_WORDS]; /* the old stack's, the new stack's */
	struct stack_state reader, writer, other;
} scene;

static __u64 value_of(__u64 place, bool is_new)
{
	return (place * 2 + is_new + 1) * STACK_MIX;
}

/* No read goes over the border of two parts. */
static int host_read_user(void *to, __u32 size, __u64 address)
{
	__u64 word = (address - SP) / 8;
	enum part part = word < STACK_WINDOW_WORDS ? PART_INSIDE : PART_OUTSIDE;

	if (address - FAR < FAR_WORDS * 8)
		memcpy(to, (char *)scene.far[scene.memory >> PART_FAR & 1] + (address - FAR), size);
	else if (word < STACK_WORDS && size / 8 <= STACK_WORDS - word)
		memcpy(to, (char *)scene.stack[scene.memory >> part & 1] + (address - SP), size);
	else
		return -14;
	return 0;
}

static struct vm_area_struct *host_find_vma(__u64 address)
{
	(void)address;
	return NULL;
}

static struct thread_state *host_make_state(void)
{
	return NULL;
}

static void host_sent(const void *record, __u32 size)
{
	(void)record;
	(void)size;
}

static void host_storage_failed(void)
{
}

/* ---- the two programs ---- */

static struct task_struct task = { .pid = 7, .tgid = 7 };

static __u32 id_of(bool is_new)
{
	return is_new ? 222 : 111;
}

static struct stack_start start_of_walk(void)
{
	return (struct stack_start){ .pc = PC, .sp = SP, .fp = SP + 64, .now_ns = 1000 };
}

/* What a walk of the old or of the new stack leaves in the state. */
static void walk_stack(struct stack_state *s, bool is_new)
{
	struct stack_start start = start_of_walk();

	memset(s, 0, sizeof(*s));
	s->may_keep = 1;
	s->space.generation = 5;
	s->mapped = 3;
	s->hash = id_of(is_new) * STACK_MIX;
	memo_begin(s, &start);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].in[is_new] && places[i].part == PART_FAR)
			memo_word(s, FAR + 8ULL * places[i].word, scene.far[is_new][places[i].word]);
		else if (places[i].in[is_new])
			memo_word(s, SP + 8ULL * places[i].word, scene.stack[is_new][places[i].word]);
}

__attribute__((noinline)) static void write_slot(struct stack_state *s, bool is_new)
{
	struct stack_start start = start_of_walk();
	struct stack_thread thread = { 0 };

	memo_end(s, &thread, &start, id_of(is_new));
}

__attribute__((noinline)) static __u32 read_slot(unsigned int memory)
{
	struct stack_start start = start_of_walk();

	scene.memory = memory;
	scene.reader.mapped = 3;
	return memo_check(&scene.reader, &start, 5, SLOT);
}

static void begin_slot(bool is_new)
{
	memset(host_memos, 0, sizeof(host_memos));
	memos_taken = 0;
	walk_stack(&scene.writer, is_new);
	write_slot(&scene.writer, is_new);
}

/* What the reader may get whose thread has this memory. */
static bool is_right(unsigned int memory, __u32 id)
{
	return !id || (memory == ALL_OLD && id == id_of(false)) || (memory == ALL_NEW && id == id_of(true));
}

/* ---- a stop before each access to the slot ---- */

static struct {
	bool is_on;
	long count, until;       /* accesses so far; act() before this one alone, -1: before each */
	void (*act)(void);
} stops;

#define NO_STOP __attribute__((no_sanitize("thread")))

#ifdef MEMO_STOPS

NO_STOP static void before_access(const volatile void *at)
{
	const char *byte = (const char *)at, *slot = (const char *)&host_memos[SLOT];

	if (!stops.is_on || byte < slot || byte >= slot + sizeof(host_memos[SLOT]))
		return;
	stops.is_on = false;     /* what act() does is no stop */
	if (stops.until < 0 || stops.count == stops.until)
		stops.act();
	stops.is_on = stops.count++ != stops.until;
}

/* What the compiler calls before accesses (-fsanitize=thread), and for atomic ones. */
#define ACCESS(name)                      \
	void __tsan_##name(void *at);     \
	NO_STOP void __tsan_##name(void *at) \
	{                                 \
		before_access(at);        \
	}
#define ACCESSES(size) ACCESS(read##size) ACCESS(write##size) ACCESS(unaligned_read##size) ACCESS(unaligned_write##size)
#define ATOMIC(bits, name, builtin)                                                                   \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile void *at, uint##bits##_t val, int order); \
	NO_STOP uint##bits##_t __tsan_atomic##bits##_##name(volatile void *at, uint##bits##_t val, int order) \
	{                                                                                             \
		(void)order;                                                                          \
		before_access(at);                                                                    \
		return builtin((volatile uint##bits##_t *)at, val, __ATOMIC_SEQ_CST);                 \
	}
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
ACCESS(func_entry)
ACCESS(func_exit)
ATOMIC(32, exchange, __atomic_exchange_n)
ATOMIC(32, fetch_add, __atomic_fetch_add)
ATOMIC(64, fetch_add, __atomic_fetch_add)
ATOMIC(64, fetch_or, __atomic_fetch_or)
ATOMIC(64, fetch_and, __atomic_fetch_and)

void __tsan_init(void);
NO_STOP void __tsan_init(void)
{
}

bool __tsan_atomic32_compare_exchange_strong(volatile void *at, void *old, uint32_t val, int order, int failed);
NO_STOP bool __tsan_atomic32_compare_exchange_strong(volatile void *at, void *old, uint32_t val, int order, int failed)
{
	(void)order;
	(void)failed;
	before_access(at);
	return __atomic_compare_exchange_n((volatile uint32_t *)at, (uint32_t *)old, val, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

#endif

NO_STOP static void begin_stops(long until, void (*act)(void))
{
	stops.count = 0;
	stops.until = until;
	stops.act = act;
	stops.is_on = true;
}

/* True: the program was stopped, so it may have more accesses. */
NO_STOP static bool end_stops(void)
{
	bool was_stopped = !stops.is_on;

	stops.is_on = false;
	return was_stopped;
}

/* ---- the states of the slot while the new stack is written over the old one ---- */

static struct {
	struct stack_memo_slot list[IMAGES];
	size_t count;
} images;

NO_STOP static void note_image(void)
{
	if (images.count && !memcmp(&images.list[images.count - 1], &host_memos[SLOT], sizeof(host_memos[SLOT])))
		return;
	if (images.count < IMAGES)
		images.list[images.count] = host_memos[SLOT];
	images.count++;
}

static void fill_memories(void)
{
	for (int is_new = 0; is_new < 2; is_new++) {
		for (__u32 word = 0; word < STACK_WORDS; word++)
			scene.stack[is_new][word] = value_of(word, is_new);
		for (__u32 word = 0; word < FAR_WORDS; word++)
			scene.far[is_new][word] = value_of(FAR + word, is_new);
	}
}

static int record_images(void **state)
{
	(void)state;
	fill_memories();
	host.current = &task;
	gmt.config.stack_memos = HOST_MEMOS;
	begin_slot(false);
	walk_stack(&scene.writer, true);
	images.count = 0;
	begin_stops(-1, note_image);
	write_slot(&scene.writer, true);
	end_stops();
	note_image();
	return 0;
}

NO_STOP static void show_image(size_t i)
{
	host_memos[SLOT] = images.list[i];
}

/* ---- tests ---- */

static void the_writer_stops(void **state)
{
	(void)state;
#ifndef MEMO_STOPS
	skip(); /* a build with sanitizers, which have the compiler's calls */
#endif
	assert_in_range(images.count, 10, IMAGES);
	for (size_t i = 0; i < images.count; i++)
		for (unsigned int memory = 0; memory < MEMORIES; memory++) {
			__u32 id;

			show_image(i);
			id = read_slot(memory);
			if (!is_right(memory, id))
				fail_msg("store %zu of %zu: memory %u gives the stack %u", i, images.count, memory, id);
		}
	show_image(0);
	assert_int_equal(read_slot(ALL_OLD), id_of(false));
	show_image(images.count - 1);
	assert_int_equal(read_slot(ALL_NEW), id_of(true));
}

static size_t next_image;

static void go_on_writing(void)
{
	show_image(next_image);
}

/* The reader begins at one state of the slot, and is overtaken by the writer at one access. */
static bool reader_stops_at(size_t from, size_t to, unsigned int memory, long access)
{
	bool was_stopped;
	__u32 id;

	show_image(from);
	next_image = to;
	begin_stops(access, go_on_writing);
	id = read_slot(memory);
	was_stopped = end_stops();
	if (!is_right(memory, id))
		fail_msg("from store %zu to %zu at access %ld: memory %u gives the stack %u", from, to, access,
			 memory, id);
	return was_stopped;
}

static void the_reader_stops(void **state)
{
	size_t last = images.count - 1;

	(void)state;
	for (unsigned int memory = 0; memory < MEMORIES; memory++)
		for (size_t from = 0; from < last; from++)
			for (long at = 0; reader_stops_at(from, last, memory, at); at++)
				assert_true(at < ACCESSES_MAX);
}

/* The writer gets only as far as one of its stores. */
static void both_stop(void **state)
{
	(void)state;
	for (unsigned int memory = 0; memory < MEMORIES; memory++)
		for (size_t to = 1; to + 1 < images.count; to++)
			for (long at = 0; reader_stops_at(0, to, memory, at); at++)
				assert_true(at < ACCESSES_MAX);
}

static void write_other(void)
{
	write_slot(&scene.other, false);
}

/* A program is preempted while it writes, by one that writes another stack to the same slot. */
static void two_writers(void **state)
{
	bool was_stopped = true;

	(void)state;
	for (long at = 0; was_stopped; at++) {
		begin_slot(false);
		walk_stack(&scene.writer, true);
		walk_stack(&scene.other, false);
		begin_stops(at, write_other);
		write_slot(&scene.writer, true);
		was_stopped = end_stops();
		for (unsigned int memory = 0; memory < MEMORIES; memory++) {
			__u32 id = read_slot(memory);

			if (!is_right(memory, id))
				fail_msg("access %ld: memory %u gives the stack %u", at, memory, id);
		}
		assert_false(host_memos[SLOT].version & 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_writer_stops),
		cmocka_unit_test(the_reader_stops),
		cmocka_unit_test(both_stop),
		cmocka_unit_test(two_writers),
	};

	return cmocka_run_group_tests_name("memo", tests, record_images, NULL);
}
