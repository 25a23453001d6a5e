/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Keeps uprobe programs on the kernel stack.
 *
 * Since Linux 6.13 (a76ab5731e32, "bpf: Find eligible subprogs for private stack support") the verifier gives a
 * program of type KPROBE, TRACEPOINT, PERF_EVENT, RAW_TRACEPOINT and most of TRACING a private stack: memory of one
 * CPU, for each function whose frame takes 64 bytes or more. The kernel relies on a guard that skips a program
 * which runs on the CPU already. Uprobe programs have no such guard, and since 6.0 (8c7dcb84e3b7, 88bf18581375) they
 * can be preempted: two tasks on one CPU would write into one stack. Then values are wrong, and wrong pointers crash
 * the kernel.
 *
 * A program with a tail call in any function gets no private stack, even if the call is never reached:
 * check_max_stack_depth() of kernel/bpf/verifier.c looks at bpf_subprog_info.has_tail_call, which check_subprogs()
 * sets from the instructions as they were loaded. Then all frames of a call chain share 512 bytes, as they did before
 * 6.13. The verifier knows that the branch to the tail call is never taken and drops the branch, so it costs nothing.
 *
 * Three other ways were not chosen. bpf_preempt_disable() (6.10) may not be held over calls of global functions, and
 * would delay other tasks while a deep stack is walked. Frames below 64 bytes are too small for this work. Sleepable
 * programs could be interrupted for longer.
 *
 * The other programs here need no tail call. Raw tracepoints (__bpf_trace_run(), kernel/trace/bpf_trace.c) and
 * tracepoints (trace_call_bpf()) have the guard: the runs that the guard skips are counted (attach.c, skipped_runs()).
 *
 * user/live/bpf/guard.c checks before each start that the kernel at hand behaves like this.
 */
#ifndef GMT_GUARD_BPF_H
#define GMT_GUARD_BPF_H

MAP(no_programs, PROG_ARRAY, 1, __u32, __u32, 0);

/* Every uprobe program calls this macro. An empty macro shows that the tests notice a private stack. */
#ifdef GMT_WITH_PRIVATE_STACKS
#define KEEP_KERNEL_STACK(ctx) (void)(ctx)
#else
#define KEEP_KERNEL_STACK(ctx)                                  \
	do {                                                    \
		if (gmt.config.never)                           \
			bpf_tail_call(ctx, &no_programs, 0);    \
	} while (0)
#endif

#endif
