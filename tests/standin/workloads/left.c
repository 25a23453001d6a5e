/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * left CASE: calls that are left without a return, and calls made in the middle of calls. A call that is left has done
 * nothing, so the books have every call that has returned.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "wl_common.h"

#define DEEP_CALLS 300
#define PAD 4096
#define STACK_BYTES (256 * KIB)

void standin_call_back(void (*function)(void *arg), void *arg);

static struct {
	sigjmp_buf out;
	ucontext_t fiber, back;
	CUcontext ctx[2];
} shared;

static void jump_out(void *arg)
{
	(void)arg;
	siglongjmp(shared.out, 1);
}

/* A call whose stack pointer is lower by a page for each level. Most of each page is left as it was, so a word that an
 * older call has put there stays. */
__attribute__((noinline)) static void call_deep(int levels)
{
	volatile char pad[PAD];

	pad[0] = (char)levels;
	if (levels)
		call_deep(levels - 1);
	else
		wl_mem(0, 4 * KIB);
	pad[PAD - 1] = pad[0];
}

__attribute__((noinline)) static void leave_call(int levels)
{
	volatile char pad[PAD];
	CUdeviceptr address;

	pad[0] = (char)levels;
	if (levels) {
		leave_call(levels - 1);
	} else if (!sigsetjmp(shared.out, 1)) {
		standin_call_back(jump_out, NULL);
		cuMemAlloc_v2(&address, 2 * MIB);
		abort();
	}
	pad[PAD - 1] = pad[0];
}

static void leave_by_jump(void)
{
	wl_mem(0, MIB);
	leave_call(0);
	for (int i = 0; i < DEEP_CALLS; i++)
		call_deep(i % 5);
}

/* More calls are left than the tracer can keep, each deeper than the one before. */
static void leave_many(void)
{
	for (int i = 0; i < 20; i++)
		leave_call(i);
	for (int i = 0; i < DEEP_CALLS; i++)
		call_deep(21 + i % 5);
	wl_mem(0, MIB);
}

static void call_in_handler(int number)
{
	(void)number;
	wl_mem(0, 8 * KIB);
}

static void call_and_jump_in_handler(int number)
{
	(void)number;
	wl_mem(0, 8 * KIB);
	siglongjmp(shared.out, 1);
}

static void raise_signal(void *number)
{
	raise(*(int *)number);
}

static void set_handler(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaction(number, &action, NULL);
}

static void leave_by_signal(int *number)
{
	CUdeviceptr address;

	if (sigsetjmp(shared.out, 1))
		return;
	standin_call_back(raise_signal, number);
	cuMemAlloc_v2(&address, 2 * MIB);
	abort();
}

/* The handler's stack lies below the thread's stack, as memory of malloc does. */
static void handle_signals(void)
{
	int returns = SIGRTMIN, jumps = SIGRTMIN + 1;
	stack_t stack = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };

	sigaltstack(&stack, NULL);
	set_handler(returns, call_in_handler);
	set_handler(jumps, call_and_jump_in_handler);
	for (int i = 0; i < 10; i++) {
		standin_call_back(raise_signal, &returns);
		wl_mem(0, 16 * KIB);
		leave_by_signal(&jumps);
		call_deep(3);
	}
}

static void call_inside(void *arg)
{
	(void)arg;
	wl_mem_free(0, wl_mem(0, 12 * KIB), 12 * KIB);
	wl_mem(0, 4 * KIB);
}

static void call_in_callbacks(void)
{
	for (int i = 0; i < 10; i++) {
		standin_call_back(call_inside, NULL);
		wl_mem(0, 64 * KIB);
	}
}

static void run_fiber(void)
{
	for (;;) {
		wl_mem(0, 4 * KIB);
		swapcontext(&shared.fiber, &shared.back);
	}
}

static void switch_stack(void *arg)
{
	(void)arg;
	swapcontext(&shared.back, &shared.fiber);
}

/* Another stack of the same thread makes calls while a call waits on the first stack. */
static void switch_stacks(void)
{
	getcontext(&shared.fiber);
	shared.fiber.uc_stack = (stack_t){ .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };
	makecontext(&shared.fiber, run_fiber, 0);
	for (int i = 0; i < 10; i++) {
		standin_call_back(switch_stack, NULL);
		wl_mem(0, 64 * KIB);
		switch_stack(NULL);
	}
}

static void end_thread(void *arg)
{
	pthread_exit(arg);
}

static void *leave_by_exit(void *arg)
{
	CUdeviceptr address;

	CU(cuCtxSetCurrent(shared.ctx[0]));
	wl_mem(0, 4 * KIB);
	standin_call_back(end_thread, arg);
	cuMemAlloc_v2(&address, 2 * MIB);
	abort();
}

static void end_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, leave_by_exit, NULL);
		pthread_join(thread, NULL);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "jump", leave_by_jump },
	{ "many", leave_many },
	{ "signal", handle_signals },
	{ "callback", call_in_callbacks },
	{ "fiber", switch_stacks },
	{ "thread", end_threads },
};

int main(int argc, char **argv)
{
	wl_start();
	for (int dev = 0; dev < 2; dev++)
		CU(cuDevicePrimaryCtxRetain(&shared.ctx[dev], dev));
	CU(cuCtxSetCurrent(shared.ctx[0]));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name))
			cases[i].run();
	wl_mem(0, KIB); /* all calls that were left lie deeper */
	wl_phase("end");
	wl_report();
	return 0;
}
