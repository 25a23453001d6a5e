/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reads the NVIDIA kernel driver's ioctls after they return, and so sees what memory a process really got.
 *
 * Command numbers are in nv.h. The offsets in structures come from NVIDIA/open-gpu-kernel-modules: they were compiled
 * from the headers of 23 releases from 535.54.03 to 595.45.04. All these releases have the same offsets, except for
 * the offsets in struct gmt_driver_layout. An ioctl returns 0 even if the driver refused the request: the status in
 * the structure tells.
 */
#ifndef GMT_IOCTL_BPF_H
#define GMT_IOCTL_BPF_H

#include <gpumemtrace/nv.h>

#define MINOR_BITS 20 /* include/linux/kdev_t.h */

/* A word at an offset of the target's structure. Sets `bad` if the word cannot be read. */
#define USER_WORD(type, base, offset)                                                                 \
	({                                                                                            \
		type word = 0;                                                                        \
		bad |= bpf_probe_read_user(&word, sizeof(word), (void *)((base) + (offset))) != 0;    \
		word;                                                                                 \
	})
#define USER32(base, offset) USER_WORD(__u32, base, offset)
#define USER64(base, offset) USER_WORD(__u64, base, offset)

static __always_inline int is_unreadable(int bad)
{
	if (bad)
		count_loss(GMT_LOSS_IOCTL_UNREADABLE);
	return bad;
}

/* Fills in the call that the current thread runs. True: the call has its own stack. A function, whose stack is free
 * again when a walk begins: a chain of calls may have 512 bytes, of which Linux 6.1 rounds each part up to 32. */
static __noinline int fill_running(struct gmt_cause *cause, const struct thread_state *state)
{
	const struct call_frame *frame = running_call(state, user_sp());

	if (!frame)
		return 0;
	cause->api = frame->api;
	cause->seq = frame->seq;
	cause->stack_id = frame->stack_id;
	return frame->has_stack;
}

/* Fills in the call that the current thread runs. */
static __always_inline void fill_cause(struct gmt_cause *cause)
{
	const struct thread_state *state = thread_get();

	if (state)
		fill_running(cause, state);
	else
		count_hidden_thread();
}

/* The same, with a stack from the system call on where the call has none: the driver takes memory by itself for a
 * context, a module or a pool that grows. */
static __always_inline void fill_cause_and_stack(struct gmt_cause *cause)
{
	struct thread_state *state = thread_get();
	struct stack_start start = {};
	struct pt_regs *regs;

	if (state ? fill_running(cause, state) : count_hidden_thread())
		return;
	if (!gmt.config.stack_mode || !gmt.config.ioctl_stacks)
		return;
	if (!state)
		state = thread_make();
	if (!state)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	start.pc = PT_REGS_IP_CORE(regs);
	start.sp = PT_REGS_SP_CORE(regs);
	start.fp = PT_REGS_FP_CORE(regs);
	arch_set_syscall_ret(&start.ret, regs);
	cause->stack_id = stack_take(&state->stacks, &start);
}

static __noinline int rm_alloc(__u64 p, __u32 size)
{
	struct gmt_rm_alloc rec = {};
	__u64 params;
	int bad = 0;

	rec.status = USER32(p, size >= NVOS64_SIZE ? 40 : 28);
	rec.class_id = USER32(p, 12);
	if (rec.status && rec.class_id != NV01_MEMORY_LOCAL_USER)
		return 0;
	rec.client = USER32(p, 0);
	rec.parent = USER32(p, 4);
	rec.object = USER32(p, 8);
	params = USER64(p, 16);
	if (rec.class_id == NV01_MEMORY_LOCAL_USER || rec.class_id == NV01_MEMORY_SYSTEM) {
		/* NV_MEMORY_ALLOCATION_PARAMS; the driver has rounded the size */
		rec.flags = USER32(params, 8);
		rec.attr = USER32(params, 24);
		rec.size = USER64(params, 64);
	} else if (rec.class_id == NV01_DEVICE_0 && params) {
		rec.device_id = USER32(params, 0);
	} else if (nv_is_client(rec.class_id)) {
		rec.client = rec.object;
	}
	if (is_unreadable(bad))
		return 0;
	if (rec.class_id == NV01_MEMORY_LOCAL_USER && (!rec.status || nv_is_no_memory(rec.status)))
		fill_cause_and_stack(&rec.cause);
	else
		fill_cause(&rec.cause);
	SEND(rec, RM_ALLOC);
	return 0;
}

/* NVOS02_PARAMETERS: allocates system memory, or registers memory that the process owns already. */
static __noinline int rm_alloc_memory(__u64 p)
{
	struct gmt_rm_alloc rec = {};
	int bad = 0;

	if (USER32(p, 40))
		return 0;
	rec.client = USER32(p, 0);
	rec.parent = USER32(p, 4);
	rec.object = USER32(p, 8);
	rec.class_id = USER32(p, 12);
	rec.size = USER64(p, 32) + 1;
	/* The record has no flags, because NVOS02's flags differ from those of NV_MEMORY_ALLOCATION_PARAMS. No memory
	 * of class 0x40 comes this way. */
	if (is_unreadable(bad))
		return 0;
	fill_cause(&rec.cause);
	SEND(rec, RM_ALLOC);
	return 0;
}

/* The offsets differ between NVOS00_PARAMETERS and NVOS32_PARAMETERS. */
static __noinline int rm_free(__u64 p, __u32 object_offset, __u32 status_offset)
{
	struct gmt_rm_free rec = {};
	int bad = 0;

	if (USER32(p, status_offset))
		return 0;
	rec.client = USER32(p, 0);
	rec.parent = USER32(p, 4);
	rec.object = USER32(p, object_offset);
	if (is_unreadable(bad))
		return 0;
	fill_cause(&rec.cause);
	SEND(rec, RM_FREE);
	return 0;
}

static __noinline int rm_dup(__u64 p)
{
	struct gmt_rm_dup rec = {};
	int bad = 0;

	if (USER32(p, 24))
		return 0;
	rec.client = USER32(p, 0);
	rec.parent = USER32(p, 4);
	rec.object = USER32(p, 8);
	rec.client_src = USER32(p, 12);
	rec.object_src = USER32(p, 16);
	if (is_unreadable(bad))
		return 0;
	fill_cause(&rec.cause);
	SEND(rec, RM_DUP);
	return 0;
}

/* NVOS32_PARAMETERS: the older way to allocate and free. Its objects are sent as RM_ALLOC and RM_FREE. */
static __noinline int rm_vid_heap_alloc(__u64 p)
{
	struct gmt_rm_alloc rec = {};
	int bad = 0;

	rec.status = USER32(p, 20);
	rec.client = USER32(p, 0);
	rec.parent = USER32(p, 4);
	rec.object = USER32(p, 44);
	rec.class_id = NV01_MEMORY_LOCAL_USER;
	rec.flags = USER32(p, 52);
	rec.attr = USER32(p, 56);
	rec.size = USER64(p, 88);
	if (is_unreadable(bad))
		return 0;
	fill_cause_and_stack(&rec.cause);
	SEND(rec, RM_ALLOC);
	return 0;
}

static __always_inline void rm_vid_heap(__u64 p)
{
	__u32 function;
	int bad = 0;

	function = USER32(p, 8);
	if (is_unreadable(bad))
		return;
	if (function == NVOS32_FUNCTION_FREE)
		rm_free(p, 44, 20);
	if (function == NVOS32_FUNCTION_ALLOC_SIZE)
		rm_vid_heap_alloc(p);
}

/* X(number of the command, the function that reads the command's parameters): p is their address, size their size */
#define COMMANDS_OF_RM(X)                                            \
	X(NV_ESC_RM_ALLOC, rm_alloc(p, size))                     \
	X(NV_ESC_RM_ALLOC_MEMORY, rm_alloc_memory(p))             \
	X(NV_ESC_RM_FREE, rm_free(p, 8, 12))                      \
	X(NV_ESC_RM_DUP_OBJECT, rm_dup(p))                        \
	X(NV_ESC_RM_VID_HEAP_CONTROL, rm_vid_heap(p))

static __noinline int uvm_register_gpu(__u64 p)
{
	struct gmt_uvm_gpu rec = {};
	int bad = 0;

	if (USER32(p, 36))
		return 0;
	bad |= bpf_probe_read_user(rec.uuid, sizeof(rec.uuid), (void *)p) != 0;
	if (!is_unreadable(bad))
		SEND(rec, UVM_GPU);
	return 0;
}

static __noinline int uvm_register_vaspace(__u64 p)
{
	struct gmt_uvm_vaspace rec = {};
	int bad = 0;

	if (USER32(p, 28))
		return 0;
	bad |= bpf_probe_read_user(rec.uuid, sizeof(rec.uuid), (void *)p) != 0;
	rec.client = USER32(p, 20);
	rec.vaspace = USER32(p, 24);
	if (!is_unreadable(bad))
		SEND(rec, UVM_VASPACE);
	return 0;
}

static __noinline int uvm_map(__u64 p)
{
	__u32 client_offset = gmt.config.layout.uvm_map_client;
	struct gmt_uvm_map rec = {};
	int bad = 0;

	if (USER32(p, client_offset + 8))
		return 0;
	rec.base = USER64(p, 0);
	rec.length = USER64(p, 8);
	rec.offset = USER64(p, 16);
	bad |= bpf_probe_read_user(rec.uuid, sizeof(rec.uuid), (void *)(p + 24)) != 0;
	rec.gpu_count = (__u32)USER64(p, gmt.config.layout.uvm_map_count);
	rec.client = USER32(p, client_offset);
	rec.memory = USER32(p, client_offset + 4);
	if (is_unreadable(bad))
		return 0;
	fill_cause(&rec.cause);
	SEND(rec, UVM_MAP);
	return 0;
}

static __noinline int uvm_unmap(__u64 p)
{
	struct gmt_uvm_unmap rec = {};
	int bad = 0;

	if (USER32(p, 32))
		return 0;
	rec.base = USER64(p, 0);
	rec.length = USER64(p, 8);
	bad |= bpf_probe_read_user(rec.uuid, sizeof(rec.uuid), (void *)(p + 16)) != 0;
	if (!is_unreadable(bad))
		SEND(rec, UVM_UNMAP);
	return 0;
}

static __noinline int uvm_free(__u64 p)
{
	struct gmt_uvm_free rec = {};
	int bad = 0;

	if (USER32(p, gmt.config.layout.uvm_free_status))
		return 0;
	rec.base = USER64(p, 0);
	if (!is_unreadable(bad))
		SEND(rec, UVM_FREE);
	return 0;
}

#define COMMANDS_OF_UVM(X)                                           \
	X(UVM_REGISTER_GPU, uvm_register_gpu(p))                  \
	X(UVM_REGISTER_GPU_VASPACE, uvm_register_vaspace(p))      \
	X(UVM_MAP_EXTERNAL_ALLOCATION, uvm_map(p))                \
	X(UVM_UNMAP_EXTERNAL, uvm_unmap(p))                       \
	X(UVM_FREE, uvm_free(p))

#define CALL_IF(number, call) case number: call; break;
static __always_inline void rm_command(__u32 number, __u32 size, __u64 p)
{
	switch (number) {
		COMMANDS_OF_RM(CALL_IF)
	}
}

static __always_inline void uvm_command(__u32 command, __u64 p)
{
	switch (command) {
		COMMANDS_OF_UVM(CALL_IF)
	}
}
#undef CALL_IF

/* The device number behind a file descriptor of the current process; 0: none. */
static __always_inline __u32 rdev_of_fd(__u32 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **table = BPF_CORE_READ(fdt, fd), *file = 0;

	if (fd >= BPF_CORE_READ(fdt, max_fds))
		return 0;
	if (bpf_probe_read_kernel(&file, sizeof(file), table + fd) || !file)
		return 0;
	return BPF_CORE_READ(file, f_inode, i_rdev);
}

#define IS_ONE(one, call) number == (one) ||
static __always_inline int is_rm_number(__u32 number)
{
	return COMMANDS_OF_RM(IS_ONE) number == NV_ESC_IOCTL_XFER_CMD;
}

static __always_inline int is_uvm_command(__u32 number)
{
	return COMMANDS_OF_UVM(IS_ONE) 0;
}
#undef IS_ONE

/* The cheapest tests come first, so that NV_ESC_RM_CONTROL and the ioctls of other devices leave at once. */
static __always_inline int handle_ioctl(__u32 fd, __u32 command, __u64 p)
{
	int rm = (command >> 8 & 0xff) == NV_IOCTL_MAGIC && is_rm_number(command & 0xff);
	__u32 number = command & 0xff, size = command >> 16 & 0x3fff, rdev;
	int bad = 0;

	if (!rm && !is_uvm_command(command))
		return 0;
	if (!gmt.config.trace_all && !is_target())
		return 0;
	rdev = rdev_of_fd(fd);
	if (!rm) {
		if (rdev != gmt.config.uvm_rdev && rdev >> MINOR_BITS != gmt.config.uvm_major)
			return 0;
		if (rdev && is_target())
			uvm_command(command, p);
		return 0;
	}
	if (rdev != gmt.config.ctl_rdev && rdev >> MINOR_BITS != gmt.config.nvidia_major)
		return 0;
	if (!rdev || !is_target())
		return 0;
	if (number == NV_ESC_IOCTL_XFER_CMD) { /* nv_ioctl_xfer_t: cmd@0 size@4 ptr@8 */
		number = USER32(p, 0);
		size = USER32(p, 4);
		p = USER64(p, 8);
		if (is_unreadable(bad))
			return 0;
	}
	rm_command(number, size, p);
	return 0;
}

static __always_inline int ioctl_returned(struct pt_regs *regs)
{
	return handle_ioctl((__u32)SYSCALL_ARG1(regs), (__u32)SYSCALL_ARG2(regs), SYSCALL_ARG3(regs));
}

/* The preferred program: it costs the machine's other system calls a fourth of what the next program costs them. It
 * needs the tracepoint's number from tracefs, and bpf_task_pt_regs() of Linux 5.15. */
SEC("tp/syscalls/sys_exit_ioctl")
int ioctl_tracepoint(struct trace_event_raw_sys_exit *ctx)
{
	if (ctx->ret)
		return 0;
	return ioctl_returned((struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()));
}

/* The other program: it needs only BTF, but runs at the end of each system call. */
SEC("tp_btf/sys_exit")
int BPF_PROG(ioctl_sys_exit, struct pt_regs *regs, long ret)
{
	if (SYSCALL_NR(regs) != NR_ioctl || ret)
		return 0;
	return ioctl_returned(regs);
}

#endif
