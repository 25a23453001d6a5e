/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates in stacks of all kinds, and prints the return addresses that another unwinder (libgcc's) finds in each
 * stack: `NAME=size,exact,ADDRESS,ADDRESS...`, innermost first, 0 where libgcc's unwinder cannot know. Each allocation
 * has a size of its own, by which a recording's reader finds it.
 *
 *   stacks            all of them; what is expected is found out in a first round, before phase=expected, so that
 *                     return probes may be placed then
 *   stacks fork       in a child, which uses CUDA first
 *   stacks exec PATH  one, then PATH, which is this program too
 *   stacks exit       one allocation, and it is gone
 *   stacks same N     N allocations in one place
 *   stacks astray     one; the chain of frame pointers leads to memory that has no frame
 *
 * With STACKS_LIBRARY in the environment that library is loaded, and allocates while it is (libstacks.c). With
 * STACKS_STAYS a program waits for a line on stdin before its end.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wl_common.h"

#define NOIPA __attribute__((noipa))
#define WITH_FP __attribute__((noipa, optimize("no-omit-frame-pointer")))
#define FRAMES 256

#define CASES(X) \
	X(PLAIN, "plain") X(POINTER, "pointer") X(RECURSION, "recursion") X(QSORT, "qsort") X(THREAD, "thread") \
	X(SIGNAL, "signal") X(ALTSTACK, "altstack") X(JIT, "jit") X(CONTEXT, "context") X(MODULE, "module")

enum {
#define X(name, text) CASE_##name,
	CASES(X)
#undef X
	CASE_COUNT
};

static const char *const names[] = {
#define X(name, text) text,
	CASES(X)
#undef X
};

struct expected {
	int count;
	void *frames[FRAMES];
};

static struct expected expected[CASE_COUNT];
static bool is_armed;                 /* the second round */
static int current;
static volatile int sink;

static uint64_t size_of(int id)
{
	return 64 * KIB + 512 * (uint64_t)id;
}

/* In the function that calls CUDA: the first frame lies in it, but where else it calls is not known. */
#define EXPECT(id) do { \
	struct expected *to_ = &expected[id]; \
	if (!to_->count) { \
		to_->count = backtrace(to_->frames, FRAMES); \
		to_->frames[0] = NULL; \
	} \
} while (0)

NOIPA void stacks_allocate(int id)
{
	CUdeviceptr p;

	EXPECT(id);
	if (is_armed)
		CU(cuMemAlloc_v2(&p, size_of(id)));
	sink++;
}

NOIPA void stacks_inner(int id)
{
	stacks_allocate(id);
	sink++;
}

NOIPA void stacks_outer(int id)
{
	char text[64];

	snprintf(text, sizeof(text), "%d", id);
	stacks_inner(id);
	sink += text[0];
}

static NOIPA void by_pointer(int id)
{
	__typeof__(&cuMemAlloc_v2) pointer = (__typeof__(pointer))dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
	CUdeviceptr p;

	EXPECT(id);
	if (is_armed)
		CU(pointer(&p, size_of(id)));
	sink++;
}

static NOIPA void recursion(int id, int depth)
{
	if (depth)
		recursion(id, depth - 1);
	else
		stacks_allocate(id);
	sink += depth;
}

static int compare(const void *a, const void *b)
{
	int id = current;

	current = -1;
	if (id >= 0)
		stacks_allocate(id);
	return *(const int *)a - *(const int *)b;
}

static NOIPA void sorted(int id)
{
	int values[2] = { 2, 1 };

	current = id;
	qsort(values, 2, sizeof(values[0]), compare);
	sink += values[0];
}

static NOIPA void *in_thread(void *arg)
{
	CUcontext ctx;

	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	stacks_outer((int)(intptr_t)arg);
	sink++;
	return NULL;
}

static NOIPA void thread(int id)
{
	pthread_t other;

	if (!pthread_create(&other, NULL, in_thread, (void *)(intptr_t)id))
		pthread_join(other, NULL);
}

static void on_signal(int number)
{
	stacks_outer(current);
	sink += number;
}

static void signalled(int id, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags }, old;

	current = id;
	sigaction(SIGALRM, &action, &old);
	raise(SIGALRM);
	sigaction(SIGALRM, &old, NULL);
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

#ifdef __x86_64__
/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const uint32_t jit_text[] = { 0xe5894855, 0xc35dd6ff };
#define JIT_RETURN 6             /* behind the call */
#else
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret */
static const uint32_t jit_text[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0 };
#define JIT_RETURN 12
#endif

/* Code that nothing describes, with a frame pointer. */
static NOIPA void jit(int id)
{
	static unsigned char *code;
	void (*function)(int, void (*)(int));
	struct expected *to = &expected[id];

	if (!code) {
		code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(code, jit_text, sizeof(jit_text));
		__builtin___clear_cache((char *)code, (char *)code + sizeof(jit_text));
		to->count = backtrace(to->frames + 2, FRAMES - 2) + 2;
		to->frames[0] = to->frames[2] = NULL;
		to->frames[1] = code + JIT_RETURN;
	}
	memcpy(&function, &code, sizeof(function));
	function(id, stacks_allocate);
	sink++;
}

/* What the driver allocates by itself: for a context, and for a module. */
static NOIPA void context(int id)
{
	CUcontext ctx;

	EXPECT(id);
	if (is_armed)
		CU(cuDevicePrimaryCtxRetain(&ctx, 1));
	sink++;
}

static NOIPA void module(int id)
{
	static char image[1 << 20]; /* in .bss */
	CUmodule loaded;

	EXPECT(id);
	if (is_armed)
		CU(cuModuleLoadData(&loaded, image));
	sink++;
}

/* With a frame pointer: the code that nothing describes has to bring it back to here. */
WITH_FP void stacks_run(int id)
{
	switch (id) {
	case CASE_PLAIN: stacks_outer(id); break;
	case CASE_POINTER: by_pointer(id); break;
	case CASE_RECURSION: recursion(id, 100); break;
	case CASE_QSORT: sorted(id); break;
	case CASE_THREAD: thread(id); break;
	case CASE_SIGNAL: signalled(id, 0); break;
	case CASE_ALTSTACK: on_other_stack(id); break;
	case CASE_JIT: jit(id); break;
	case CASE_CONTEXT: context(id); break;
	case CASE_MODULE: module(id); break;
	}
	sink++;
}

static void print(int id)
{
	printf("%s=%llu", names[id], (unsigned long long)size_of(id));
	for (int i = 0; i < expected[id].count; i++)
		printf(",%lx", (unsigned long)expected[id].frames[i]);
	printf("\n");
}

static void use_gpu(void)
{
	CUcontext ctx;

	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
}

static void stay(void)
{
	if (getenv("STACKS_STAYS"))
		while (getchar() != '\n' && !feof(stdin))
			;
}

static void run_all(void)
{
	const char *library = getenv("STACKS_LIBRARY");

	/* One place calls in both rounds: the return addresses are the same. */
	for (volatile int round = 0; round < 2; round++) {
		for (int id = 0; id < CASE_COUNT; id++)
			stacks_run(id);
		if (!round)
			wl_phase("expected");
		is_armed = true;
	}
	for (int id = 0; id < CASE_COUNT; id++)
		print(id);
	fflush(stdout);
	if (library && !dlopen(library, RTLD_NOW))
		fprintf(stderr, "%s\n", dlerror());
	printf("pid=%d\n", (int)getpid());
	fflush(stdout);
	wl_phase("end");
	stay();
}

static int run_same(unsigned long count)
{
	CUdeviceptr p;

	wl_phase("expected");
	for (unsigned long i = 0; i < count; i++)
		CU(cuMemAlloc_v2(&p, MIB));
	printf("pid=%d\n", (int)getpid());
	fflush(stdout);
	wl_phase("end");
	stay();
	return 0;
}

static WITH_FP void allocate_astray(const volatile uintptr_t *next)
{
	volatile uintptr_t *frame = __builtin_frame_address(0);
	uintptr_t before = *frame;
	CUdeviceptr p;

	*frame = (uintptr_t)next;
	CU(cuMemAlloc_v2(&p, MIB));
	*frame = before;
}

/* The word in the place of the return address is like a canary of the stack: all of its upper bits are set. */
static int run_astray(void)
{
	volatile uintptr_t frame[] = { 0, 0xfffffa87e97b6000 };

	allocate_astray(frame);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int status = 0;
	CUdeviceptr p;

	if (!strcmp(how, "fork") && fork())
		return wait(&status) < 0 || status;
	wl_start();
	use_gpu();
	if (!strcmp(how, "astray"))
		return run_astray();
	if (!strcmp(how, "same"))
		return run_same(wl_arg(argc, argv, 2, 100));
	if (!strcmp(how, "exec")) {
		CU(cuMemAlloc_v2(&p, MIB));
		wl_phase("before");
		stay();
		execl(argv[2], argv[2], NULL);
		return 1;
	}
	if (!strcmp(how, "exit")) {
		CU(cuMemAlloc_v2(&p, MIB));
		_exit(0);
	}
	run_all();
	return 0;
}
