/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine that runs probed calls: threads with stacks, the kernel's return probes, and the BPF programs of host_bpf.h.
 * The return probes follow kernel/events/uprobes.c and arch/x86/kernel/uprobes.c of Linux 6.18.
 */
#ifndef GMT_TESTS_PAIRING_MACHINE_H
#define GMT_TESTS_PAIRING_MACHINE_H

#include <stdbool.h>
#include <stdlib.h>

#include "host_bpf.h"

#define THREADS 6
#define STACK_WORDS 1024
#define ALT_WORDS 256            /* the lower part is the stack of signal handlers */
#define STACKS 0x7f0000000000ULL
#define STACK_STRIDE 0x100000ULL
#define RESULTS 0x5000000000ULL  /* results[i] is where call i leaves its result */
#define PARAMS 0x5100000000ULL   /* the parameters of an ioctl */
#define PARAMS_BYTES 512
#define TRAMPOLINE 0x7ffffffff000ULL
#define RETURNS_MAX 64           /* MAX_URETPROBE_DEPTH */
#define ACTIVATIONS 24
#define CALLS 4096
#define CONTEXTS 16

/* Code: each file has 64 KiB; functions begin in the lower half, other code lies in the upper half. */
enum code { CODE_PROGRAM, CODE_STUB, CODE_DRIVER, CODE_JIT, CODE_COUNT };
#define CODE_AT(code) (0x10000000ULL * ((code) + 1))
#define CODE_BYTES 0x10000ULL
#define FUNCTION(code, api) (CODE_AT(code) + 16ULL * (api))
#define CALLER(code) (CODE_AT(code) + 0x8000)

struct instance {
	struct return_instance public;
	bool chained;
	enum code code;
	__u16 api;
};

/* Code that runs on a thread: a probed call, or code of the program (its beginning, a callback, a handler). */
struct activation {
	bool is_call, is_jump;   /* is_jump: entered by a jump, so it returns with the call below */
	__u64 sp;
	int call;                /* index in machine.calls */
	enum code code;
};

struct context_stack {
	unsigned int depth;
	__u64 list[CONTEXTS];
};

struct thread {
	struct task_struct task;
	struct uprobe_task utask;
	struct instance instances[RETURNS_MAX];
	unsigned int returns;
	bool is_alive;
	__u64 words[STACK_WORDS];
	struct activation activations[ACTIVATIONS];
	unsigned int depth;
	struct context_stack contexts;   /* what is true */
};

/* What the program knows of a call. */
struct call {
	int tid, tgid;
	__u16 api;
	bool is_own;             /* the program's call, not a part of another call */
	bool had_callback;
	bool is_stub;            /* the driver's function of this name does the work */
	bool has_context;        /* its argument is a context */
	bool has_popped;         /* the collector has taken the context off its list */
	bool has_address;        /* its argument is the address that follows, or a number of a device */
	__u64 address;
	bool looks_inner;        /* made by the library's code, in an unprobed function */
	bool is_target, is_hidden, has_worked, has_returned, is_left, has_ended;
	int of;                  /* the call that this call is a part of; -1: none */
	int same;                /* the call that does the work: the stub's call is the driver's */
	__s32 rc;
	__u32 seq, expected, sent;
	__u64 context, result;
};

static struct machine {
	struct thread threads[THREADS];
	struct call calls[CALLS];
	int call_count;
	unsigned char params[PARAMS_BYTES];
	struct mm_struct mm;
	struct xol_area area;
	struct signal_struct signals[HOST_TIDS];  /* by tgid */
	bool has_alias;          /* the driver's file has two names, so each call hits two probes */
	bool is_exact;           /* nothing is lost: no faults, and no call is left */
	__u64 starts;            /* of processes */
} machine;

static struct thread *current_thread(void)
{
	return (struct thread *)host.current;
}

static __u64 stack_base(const struct thread *thread)
{
	return STACKS + STACK_STRIDE * (__u64)(thread - machine.threads);
}

static __u64 *stack_word(struct thread *thread, __u64 address)
{
	__u64 i = (address - stack_base(thread)) / 8;

	if (i >= STACK_WORDS)
		abort();
	return &thread->words[i];
}

/* ---- what the helpers see ---- */

static int host_read_user(void *to, __u32 size, __u64 address)
{
	__u64 call = (address - RESULTS) / 8, word;

	if (address >= PARAMS && address - PARAMS + size <= PARAMS_BYTES) {
		memcpy(to, machine.params + (address - PARAMS), size);
		return 0;
	}
	if (address >= RESULTS && call < CALLS)
		word = machine.calls[call].result;
	else if (address - stack_base(current_thread()) < STACK_WORDS * 8)
		word = *stack_word(current_thread(), address);
	else
		return -14;
	memset(to, 0, size);
	memcpy(to, &word, size < 8 ? size : 8);
	return 0;
}

static struct vm_area_struct *host_find_vma(__u64 address)
{
	static struct inode inodes[CODE_COUNT];
	static struct file files[CODE_COUNT];
	static struct vm_area_struct vma;
	__u64 code = address / CODE_AT(0) - 1;

	if (address < CODE_AT(0) || code >= CODE_COUNT || address - CODE_AT(code) >= CODE_BYTES)
		return NULL;
	files[code].f_inode = &inodes[code];
	vma = (struct vm_area_struct){ .vm_file = code == CODE_JIT ? NULL : &files[code] };
	return &vma;
}

static struct thread_state *host_make_state(void)
{
	return calloc(1, sizeof(struct thread_state));
}

/* ---- probes ---- */

#define LIBRARY_ALIAS 100 /* number of the driver's second name */

static void run_programs(struct thread *thread, int (*program)(struct pt_regs *), enum code code, __u16 api, __u64 sp,
			 const struct call *call, int number)
{
	int names = code == CODE_DRIVER && machine.has_alias ? 2 : 1;

	host.current = &thread->task;
	for (int i = 0; i < names; i++) {
		struct pt_regs regs = { .ip = FUNCTION(code, api), .sp = sp };

		regs.cookie = api | (__u64)(i ? LIBRARY_ALIAS : code) << 32;
		regs.args[1] = number;
		regs.args[0] = call->has_context ? call->context : call->has_address ? call->address :
			       RESULTS + 8ULL * number;
		regs.ax = (__u32)call->rc;
		thread->task.regs = regs;
		program(&regs);
	}
}

static bool has_return(int call)
{
	return !(gmt.specs[machine.calls[call].api].flags & GMT_API_NO_RETURN);
}

static void pop_instance(struct thread *thread)
{
	thread->returns--;
	thread->utask.return_instances = thread->returns ? &thread->instances[thread->returns - 1].public : NULL;
}

/* prepare_uretprobe(). False: the return is not probed. */
static bool hijack_return(struct thread *thread, enum code code, __u16 api, __u64 sp)
{
	__u64 *slot = stack_word(thread, sp), original = *slot;
	bool chained = original == TRAMPOLINE;
	struct instance *top;

	if (thread->returns >= RETURNS_MAX)
		return false;
	*slot = TRAMPOLINE;
	while (thread->returns) {
		top = &thread->instances[thread->returns - 1];
		if (chained ? sp <= top->public.stack : sp < top->public.stack)
			break;
		pop_instance(thread);
	}
	if (chained && !thread->returns)
		return false;
	if (chained)
		original = thread->instances[thread->returns - 1].public.orig_ret_vaddr;
	top = &thread->instances[thread->returns++];
	*top = (struct instance){ .public = { .stack = sp, .orig_ret_vaddr = original,
					      .next = thread->utask.return_instances },
				  .chained = chained, .code = code, .api = api };
	thread->utask.return_instances = &top->public;
	return true;
}

/* uprobe_handle_trampoline(). `call` is the call that returns; calls below that were entered by jumps return, too. */
static void handle_trampoline(struct thread *thread, __u64 sp, const struct activation *returning)
{
	unsigned int next;
	bool valid;

	do {
		for (next = thread->returns; next && thread->instances[next - 1].chained; next--)
			;
		next = next ? next - 1 : 0;
		valid = !next || sp <= thread->instances[next - 1].public.stack;
		while (thread->returns > next) {
			const struct instance top = thread->instances[thread->returns - 1];

			if (valid) {
				while (!has_return(returning->call))
					returning--;
				run_programs(thread, call_return, top.code, top.api, sp, &machine.calls[returning->call],
					     returning->call);
				returning--;
			}
			pop_instance(thread);
		}
	} while (!valid && thread->returns);
}

#endif
