// SPDX-License-Identifier: BSD-2-Clause
/* See stacks.h. Built without frame pointers, with a lazily bound PLT. */
#include "stacks.h"

#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* REGISTERS: pc, sp and the frame pointer, here. ILLEGAL: an instruction that raises SIGILL, so many bytes long. */
#if defined(__x86_64__)
#define REGISTERS "lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
#define ILLEGAL "ud2"
#define ILLEGAL_BYTES 2
#define PC_OF(context) ((ucontext_t *)(context))->uc_mcontext.gregs[REG_RIP]
/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret. RETURN: behind the call. */
#define JIT_CODE { 0xe5894855, 0xc35dd6ff }
#define JIT_RETURN 6
#else
#define REGISTERS "adr %0, .\n\tmov %1, sp\n\tmov %2, x29"
#define ILLEGAL "udf #0"
#define ILLEGAL_BYTES 4
#define PC_OF(context) ((ucontext_t *)(context))->uc_mcontext.pc
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret */
#define JIT_CODE { 0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0 }
#define JIT_RETURN 12
#endif

#define NOIPA __attribute__((noipa))
#define WITH_FP __attribute__((noipa, optimize("no-omit-frame-pointer")))

struct stacks_expected stacks_expected[STACK_COUNT];
void (*stacks_hook)(int id, uint64_t pc, uint64_t sp, uint64_t fp);
const char *const stacks_text[STACK_COUNT] = {
#define X(name, text) [STACK_##name] = text,
	STACKS(X)
#undef X
};

bool stacks_is_armed;
static int current;
static volatile int sink;

/* The stack from this function's caller on. */
static NOIPA void expect(struct stacks_expected *expected)
{
	void *frames[STACKS_FRAMES + 8];
	int skip = 0, count = backtrace(frames, STACKS_FRAMES + 8);

	while (count && frames[skip] != __builtin_return_address(0)) {
		skip++;
		count--;
	}
	if (expected->count || count > STACKS_FRAMES)
		return;
	memcpy(expected->frames, frames + skip, (size_t)count * sizeof(*frames));
	expected->count = count;
}

struct gmt_unwind_more stacks_more(void)
{
	struct gmt_unwind_more more = { };

#ifdef GMT_UNWIND_ARM64
	register uint64_t link __asm__("x30") = (1ULL << 55) - 1;

	__asm__("hint #7" : "+r"(link)); /* xpaclri: clears the bits of a signature */
	more.code_mask = link;
#endif
	return more;
}

NOIPA void stacks_target(int id)
{
	uint64_t pc, sp, fp;

	if (!stacks_expected[id].count)
		expect(&stacks_expected[id]);
	__asm__ volatile(REGISTERS : "=r"(pc), "=r"(sp), "=r"(fp));
	if (stacks_hook)
		stacks_hook(id, pc, sp, fp);
	sink++;
}

NOIPA void stacks_inner(int id)
{
	char text[64];

	snprintf(text, sizeof(text), "%d", id);
	stacks_target(id);
	sink += text[0];
}

NOIPA void stacks_outer(int id)
{
	stacks_inner(id);
	sink++;
}

static NOIPA void fourth(int id, int a, int b, int c)
{
	stacks_outer(id);
	sink += a + b + c;
}

static NOIPA void plain(int id)
{
	int values[100];

	for (int i = 0; i < 100; i++)
		values[i] = sink;
	fourth(id, values[3], values[5], values[7]);
	sink += values[sink & 63];
}

static NOIPA void recursion(int id, int depth)
{
	if (depth)
		recursion(id, depth - 1);
	else
		stacks_target(id);
	sink += depth;
}

static void on_signal(int number)
{
	sink += number;
	plain(current);
}

static void signalled(int id, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags }, old;

	current = id;
	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
}

static NOIPA void on_other_stack(int id)
{
	size_t size = 1 << 18;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory, .ss_size = size }, old;

	sigaltstack(&stack, &old);
	signalled(id, SA_ONSTACK);
	old.ss_flags = SS_DISABLE;
	sigaltstack(&old, NULL);
	munmap(memory, size);
}

/* Interrupted where sp is not at its usual place, and with data in the red zone. */
static NOIPA int leaf(int value)
{
	volatile int spill[4] = { value, value, value, value };

	__asm__ volatile(ILLEGAL : : "r"(value) : "memory");
	return spill[value & 3];
}

static void on_illegal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	stacks_target(current);
	PC_OF(context) += ILLEGAL_BYTES;
}

/* Its frame is found by the rbp in the signal frame: nothing below saved it. */
static WITH_FP void leaf_signal(int id)
{
	struct sigaction action = { .sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO }, old;

	current = id;
	sigaction(SIGILL, &action, &old);
	sink += leaf(id);
	sigaction(SIGILL, &old, NULL);
}

static NOIPA void with_alloca(int id, int size)
{
	char *memory = alloca((size_t)size);

	memset(memory, id, (size_t)size);
	stacks_outer(id);
	sink += memory[size - 1];
}

static NOIPA void realigned(int id)
{
	volatile char text[64] __attribute__((aligned(64)));

	text[0] = (char)id;
	stacks_outer(id);
	sink += text[0];
}

static NOIPA void realigned_args(int a, int b, int c, int d, int e, int f, int id, int g)
{
	volatile char text[64] __attribute__((aligned(64)));
	char *memory = alloca((size_t)(64 + g));

	text[0] = (char)id;
	memory[0] = (char)id;
	realigned(id);
	sink += text[0] + memory[0] + a + b + c + d + e + f + g;
}

static void *thread(void *arg)
{
	plain((int)(intptr_t)arg);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	int id = current;

	current = -1;   /* once: a sanitizer's qsort() compares by itself first */
	if (id >= 0)
		stacks_target(id);
	return *(const int *)a - *(const int *)b;
}

static NOIPA void sorted(int id)
{
	int values[2] = { 2, 1 };

	current = id;
	qsort(values, 2, sizeof(values[0]), compare);
	sink += values[0];
}

/* The stack at the PLT entry is that of its caller with a return address on top; only stacks_target()
 * knows the frames above, so it is called from the same function, and the return address is left open. */
static NOIPA void through_plt(int id)
{
	stacks_target(id);
	if (stacks_expected[id].count > 1)
		stacks_expected[id].frames[1] = 0;
	if (stacks_is_armed)
		sink += getpgid(0);
}

#ifdef __x86_64__

const unsigned int stacks_plt_offsets[STACKS_PLT_OFFSETS] = { 0, 6, 11 };

uintptr_t stacks_plt(void)
{
	uintptr_t entry;

	__asm__("lea getpgid@PLT(%%rip), %0" : "=r"(entry));
	return entry;
}

#else

const unsigned int stacks_plt_offsets[STACKS_PLT_OFFSETS] = { 0, 4, 8 };

/* Where a branch goes: 26 bits of words (Arm Architecture Reference Manual, B). */
uintptr_t stacks_plt(void)
{
	uintptr_t branch;
	uint32_t code;

	__asm__("adr %0, 1f\n\tb 2f\n1:\tb getpgid\n2:" : "=r"(branch));
	memcpy(&code, (const void *)branch, sizeof(code));
	return branch + (uintptr_t)(((int64_t)(int32_t)(code << 6)) >> 4);
}

#endif

/* Code that nothing describes, with a frame pointer. */
static NOIPA void jit(int id)
{
	static const uint32_t text[] = JIT_CODE;
	static unsigned char *code;
	void (*function)(int, void (*)(int));
	struct stacks_expected mine = { 0 };

	if (!code) {
		code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(code, text, sizeof(text));
		__builtin___clear_cache((char *)code, (char *)code + sizeof(text));
	}
	memcpy(&function, &code, sizeof(function));
	if (!stacks_expected[id].count) {
		expect(&mine);   /* [0] is this function: where it calls, nobody knows */
		mine.frames[0] = 0;
		stacks_expected[id].count = mine.count + 2;
		stacks_expected[id].frames[1] = (uintptr_t)code + JIT_RETURN;
		memcpy(stacks_expected[id].frames + 2, mine.frames, (size_t)mine.count * sizeof(mine.frames[0]));
	}
	function(id, stacks_target);
	sink += id;
}

/* With a frame pointer: each stack has to bring rbp back to here. */
WITH_FP void stacks_run(int id)
{
	pthread_t other;

	switch (id) {
	case STACK_PLAIN: plain(id); break;
	case STACK_RECURSION: recursion(id, 100); break;
	case STACK_SIGNAL: signalled(id, 0); break;
	case STACK_ALTSTACK: on_other_stack(id); break;
	case STACK_FRAMELESS_SIGNAL: leaf_signal(id); break;
	case STACK_ALLOCA: with_alloca(id, 100 + sink % 7); break;
	case STACK_REALIGN: realigned(id); break;
	case STACK_REALIGN_ARGS: realigned_args(1, 2, 3, 4, 5, 6, id, 8); break;
	case STACK_THREAD:
		if (!pthread_create(&other, NULL, thread, (void *)(intptr_t)id))
			pthread_join(other, NULL);
		break;
	case STACK_QSORT: sorted(id); break;
	case STACK_PLT: through_plt(id); break;
	case STACK_JIT: jit(id); break;
	}
	sink++;
}
