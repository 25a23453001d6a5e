/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ioctls of the NVIDIA kernel driver as a thread of the machine makes them: the parameters as they lie in the program's
 * memory after the ioctl, and the BPF program that reads them. The offsets are those of bpf/ioctl.bpf.h.
 */
#ifndef GMT_TESTS_PAIRING_RM_IOCTL_H
#define GMT_TESTS_PAIRING_RM_IOCTL_H

#include "orders.h"

#define RM_MAJOR 195
#define UVM_MAJOR 236
#define MORE_PARAMS 128          /* where a structure is that the parameters point to ... */
#define XFER_PARAMS 256          /* ... and where those of NV_ESC_IOCTL_XFER_CMD are */
#define NVOS21_SIZE 32
#define NVOS00_SIZE 16
#define NVOS32_SIZE 184
#define NVOS55_SIZE 28

struct rm_request {
	__u32 client, parent, object, class_id, device, status, flags, attr;
	__u32 client_from, object_from;
	__u64 size;
};

enum rm_file { RM_FILE_CTL, RM_FILE_UVM, RM_FILES };

static void put32(unsigned int offset, __u32 value)
{
	memcpy(machine.params + offset, &value, sizeof(value));
}

static void put64(unsigned int offset, __u64 value)
{
	memcpy(machine.params + offset, &value, sizeof(value));
}

/* The ioctl has returned 0, with these parameters. */
static void return_ioctl(struct thread *t, struct choices *c, enum rm_file fd, __u32 command, __u64 params)
{
	static struct inode inodes[RM_FILES] = {
		{ .i_rdev = RM_MAJOR << MINOR_BITS | 255 }, { .i_rdev = UVM_MAJOR << MINOR_BITS },
	};
	static struct file files[RM_FILES] = { { .f_inode = &inodes[0] }, { .f_inode = &inodes[1] } };
	static struct file *table[RM_FILES] = { &files[0], &files[1] };
	static struct fdtable fdt = { .max_fds = RM_FILES, .fd = table };
	static struct files_struct open_files = { .fdt = &fdt };

	host.current = &t->task;
	t->task.files = &open_files;
	t->task.regs = (struct pt_regs){
		.sp = top_activation(t)->sp - 16, .di = fd, .si = command, .dx = params, .orig_ax = NR_ioctl,
	};
	if (choose(c, 2))
		ioctl_sys_exit(&t->task.regs, 0);
	else
		ioctl_tracepoint(&(struct trace_event_raw_sys_exit){ .ret = 0 });
}

static __u32 rm_command_of(__u32 number, __u32 size)
{
	return 3u << 30 | size << 16 | NV_IOCTL_MAGIC << 8 | number; /* _IOWR() of asm-generic/ioctl.h */
}

static void rm_ioctl(struct thread *t, struct choices *c, __u32 number, __u32 size)
{
	TELL("%d: ioctl %x object %x of client %x\n", t->task.pid, number, *(__u32 *)(machine.params + 8),
	     *(__u32 *)machine.params);
	if (choose(c, 4)) {
		return_ioctl(t, c, RM_FILE_CTL, rm_command_of(number, size), PARAMS);
		return;
	}
	put32(XFER_PARAMS, number);
	put32(XFER_PARAMS + 4, size);
	put64(XFER_PARAMS + 8, PARAMS);
	return_ioctl(t, c, RM_FILE_CTL, rm_command_of(NV_ESC_IOCTL_XFER_CMD, 16), PARAMS + XFER_PARAMS);
}

static void begin_params(const struct rm_request *r)
{
	memset(machine.params, 0, sizeof(machine.params));
	put32(0, r->client);
	put32(4, r->parent);
	put32(8, r->object);
}

/* NVOS32_PARAMETERS */
static void rm_ioctl_vid_heap(struct thread *t, struct choices *c, const struct rm_request *r, __u32 function)
{
	begin_params(r);
	put32(8, function);
	put32(20, r->status);
	put32(44, r->object);
	put32(52, r->flags);
	put32(56, r->attr);
	put64(88, r->size);
	rm_ioctl(t, c, NV_ESC_RM_VID_HEAP_CONTROL, NVOS32_SIZE);
}

static void rm_ioctl_alloc(struct thread *t, struct choices *c, const struct rm_request *r)
{
	bool is_long = choose(c, 2);

	if (r->class_id == NV01_MEMORY_LOCAL_USER && !choose(c, 4)) {
		rm_ioctl_vid_heap(t, c, r, NVOS32_FUNCTION_ALLOC_SIZE);
		return;
	}
	begin_params(r);
	put32(12, r->class_id);
	put64(16, PARAMS + MORE_PARAMS);
	put32(is_long ? 40 : 28, r->status);
	if (r->class_id == NV01_DEVICE_0) {
		put32(MORE_PARAMS, r->device);
	} else {
		put32(MORE_PARAMS + 8, r->flags);
		put32(MORE_PARAMS + 24, r->attr);
		put64(MORE_PARAMS + 64, r->size);
	}
	rm_ioctl(t, c, NV_ESC_RM_ALLOC, is_long ? NVOS64_SIZE : NVOS21_SIZE);
}

static void rm_ioctl_free(struct thread *t, struct choices *c, const struct rm_request *r)
{
	if (r->client != r->object && !choose(c, 4)) {
		rm_ioctl_vid_heap(t, c, r, NVOS32_FUNCTION_FREE);
		return;
	}
	begin_params(r);
	rm_ioctl(t, c, NV_ESC_RM_FREE, NVOS00_SIZE);
}

static void rm_ioctl_dup(struct thread *t, struct choices *c, const struct rm_request *r)
{
	begin_params(r);
	put32(12, r->client_from);
	put32(16, r->object_from);
	rm_ioctl(t, c, NV_ESC_RM_DUP_OBJECT, NVOS55_SIZE);
}

static void rm_ioctl_vaspace(struct thread *t, struct choices *c, __u32 client, __u32 vaspace, int gpu)
{
	memset(machine.params, 0, sizeof(machine.params));
	put64(0, 1 + (__u64)gpu); /* the GPU's UUID (joint.h) */
	put64(8, 1 + (__u64)gpu);
	put32(20, client);
	put32(24, vaspace);
	return_ioctl(t, c, RM_FILE_UVM, UVM_REGISTER_GPU_VASPACE, PARAMS);
}

#endif
