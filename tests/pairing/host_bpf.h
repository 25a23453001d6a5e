/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs of calls, ioctls, processes and ranges as ordinary C, with the helpers and the kernel's structures that they
 * use. The file that includes this header defines the functions that begin with host_. With HOST_STACKS it has the
 * memory of stacks (stack_memo.bpf.h) instead of the programs.
 */
#ifndef GMT_TESTS_PAIRING_HOST_BPF_H
#define GMT_TESTS_PAIRING_HOST_BPF_H

#include <linux/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <gpumemtrace/config.h>
#include <gpumemtrace/fw.h>
#include <gpumemtrace/usdt.h>
#include <gpumemtrace/wire.h>

#define HOST_TIDS 4096

/* ---- the kernel's structures, as far as the programs read them ---- */

struct inode { int number; __u32 i_rdev; };
struct file { struct inode *f_inode; };
struct fdtable { unsigned int max_fds; struct file **fd; };
struct files_struct { struct fdtable *fdt; };
struct vm_area_struct { unsigned long vm_start, vm_end, vm_flags; struct file *vm_file; };
struct xol_area { unsigned long vaddr; };
struct mm_struct { struct { struct xol_area *xol_area; } uprobes_state; unsigned long task_size; };
struct return_instance { unsigned long stack, orig_ret_vaddr; struct return_instance *next; };
struct uprobe_task { struct return_instance *return_instances; };
struct signal_struct { struct { int counter; } live; unsigned int flags; int group_exit_code; };
struct pt_regs { __u64 ip, sp, fp, ax, args[6], r9, cookie, di, si, dx, orig_ax; };
struct trace_event_raw_sys_exit { long ret; };

struct task_struct {
	int pid, tgid, exit_code;
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct files_struct *files;
	struct uprobe_task *utask;
	struct signal_struct *signal;
	struct pt_regs regs;
	struct {
		__u64 fsbase;
	} thread;
	struct thread_state *storage;    /* NULL: none */
};

/* ---- the helpers ---- */

/* What a test does to the programs. */
struct host_faults {
	_Bool ring_is_full, storage_is_hidden, targets_are_full, mappings_are_busy, has_no_find_vma;
};

static struct host {
	struct gmt_rodata gmt;
	struct gmt_runtime runtime;
	struct host_faults faults;
	struct task_struct *current;
	__u64 losses[GMT_LOSS_COUNT];
	__u64 marks[HOST_TIDS / 64];
	__u32 targets[64];               /* 0: free */
	struct gmt_target values[64];    /* the targets' */
	__u32 uid;                       /* of the current process */
	__u32 uids[4];                   /* of `users`; the last is GMT_USER_OTHERS */
	struct gmt_user users[4];
	__u32 user_count;
} host;

static int host_read_user(void *to, __u32 size, __u64 address);
static struct vm_area_struct *host_find_vma(__u64 address);
static struct thread_state *host_make_state(void);
static void host_sent(const void *record, __u32 size);
static void host_storage_failed(void);

#define gmt host.gmt
#define runtime host.runtime
#define __TARGET_ARCH_x86 1
#define SEC(name)
#define BPF_PROG(name, ...) name(__VA_ARGS__)
struct host_map { int unused; };
#define MAP(name, ...) static struct host_map name __attribute__((unused))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline __attribute__((noinline, unused))
#define KEEP_KERNEL_STACK(ctx) (void)(ctx)
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_NO_PREALLOC 0
#define BPF_RB_AVAIL_DATA 0
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_NO_WAKEUP 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_FUNC_find_vma !host.faults.has_no_find_vma
#define BPF_FUNC_task_pt_regs 1
#define bpf_core_enum_value_exists(type, value) (value)
/* As in the kernel, a null pointer on the way gives 0. */
#define HOST_READ_1(from, a) ((from)->a)
#define HOST_READ_2(from, a, b) ((from)->a ? (from)->a->b : (__typeof__((from)->a->b))0)
#define HOST_READ_OF(one, two, macro, ...) macro
#define BPF_CORE_READ(from, ...) \
	HOST_READ_OF(__VA_ARGS__, HOST_READ_2, HOST_READ_1, )(from, __VA_ARGS__)
#define PT_REGS_IP(ctx) ((ctx)->ip)
#define PT_REGS_SP(ctx) ((ctx)->sp)
#define PT_REGS_FP(ctx) ((ctx)->fp)
#define PT_REGS_RET(ctx) ((ctx)->sp)
#define PT_REGS_RC(ctx) ((ctx)->ax)
#define PT_REGS_IP_CORE(ctx) ((ctx)->ip)
#define PT_REGS_SP_CORE(ctx) ((ctx)->sp)
#define PT_REGS_FP_CORE(ctx) ((ctx)->fp)
#define PT_REGS_PARM1(ctx) ((ctx)->args[0])
#define PT_REGS_PARM2(ctx) ((ctx)->args[1])
#define PT_REGS_PARM3(ctx) ((ctx)->args[2])
#define PT_REGS_PARM4(ctx) ((ctx)->args[3])
#define PT_REGS_PARM5(ctx) ((ctx)->args[4])

static struct host_map ring, targets, loss;
#define TARGETS_NEAR 64
static volatile __u32 targets_near[TARGETS_NEAR];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

static struct task_struct *bpf_get_current_task_btf(void)
{
	return host.current;
}

static __u64 bpf_get_current_task(void)
{
	return (__u64)(uintptr_t)host.current;
}

static __u64 bpf_get_current_pid_tgid(void)
{
	return (__u64)host.current->tgid << 32 | (__u32)host.current->pid;
}

static __u64 bpf_get_current_uid_gid(void)
{
	return host.uid;
}

static void bpf_get_current_comm(void *to, __u32 size)
{
	memset(to, 0, size);
}

static __u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static __u64 bpf_ktime_get_ns(void)
{
	return 1;
}

static __u64 bpf_get_attach_cookie(struct pt_regs *ctx)
{
	return ctx->cookie;
}

static struct pt_regs *bpf_task_pt_regs(struct task_struct *task)
{
	return &task->regs;
}

static long bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	return host_read_user(to, size, (__u64)(uintptr_t)from);
}

typedef __u64 __attribute__((may_alias)) host_word;

/* Word by word, so that a test can look in between. */
static long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	for (__u32 i = 0; i < size / 8; i++)
		((volatile host_word *)to)[i] = ((const host_word *)from)[i];
	memcpy((char *)to + size / 8 * 8, (const char *)from + size / 8 * 8, size % 8);
	return 0;
}

static __u64 bpf_ringbuf_query(void *map, __u64 what)
{
	return 0;
}

static long bpf_ringbuf_output(void *map, void *record, __u64 size, __u64 flags)
{
	if (host.faults.ring_is_full)
		return -11;
	host_sent(record, size);
	return 0;
}

static __u32 *host_target(__u32 tgid)
{
	for (int i = 0; i < 64; i++)
		if (host.targets[i] == tgid)
			return &host.targets[i];
	return NULL;
}

static void *host_lookup(const void *map, __u32 key);
#define bpf_map_lookup_elem(map, key) host_lookup(map, *(key))

static struct gmt_user *host_user(__u32 uid)
{
	for (__u32 i = 0; i < host.user_count; i++)
		if (host.uids[i] == uid)
			return &host.users[i];
	return uid == GMT_USER_OTHERS ? &host.users[3] : NULL;
}

static long host_add_user(__u32 uid)
{
	if (host.user_count == 3)
		return -7;
	host.uids[host.user_count++] = uid;
	return 0;
}

static long host_add_target(__u32 tgid, const struct gmt_target *target, __u64 flags)
{
	__u32 *known = host_target(tgid), *slot = known ?: host_target(0);

	if (known && flags == BPF_NOEXIST)
		return -17;
	if (host.faults.targets_are_full || !slot)
		return -7;
	*slot = tgid;
	host.values[slot - host.targets] = *target;
	return 0;
}

static long host_update(const void *map, __u32 key, const void *value, __u64 flags);
#define bpf_map_update_elem(map, key, value, flags) host_update(map, *(key), value, flags)

static long bpf_map_delete_elem(void *map, __u32 *key)
{
	__u32 *slot = host_target(*key);

	if (slot)
		*slot = 0;
	return 0;
}

static void *bpf_task_storage_get(void *map, struct task_struct *task, void *value, __u64 flags)
{
	if (host.faults.storage_is_hidden) {
		host_storage_failed();
		return NULL;
	}
	if (!task->storage && flags)
		task->storage = host_make_state();
	return task->storage;
}

static long bpf_find_vma(struct task_struct *task, __u64 address,
			 long (*see)(struct task_struct *, struct vm_area_struct *, void *), void *ctx, __u64 flags)
{
	struct vm_area_struct *vma = host_find_vma(address);

	if (host.faults.mappings_are_busy)
		return -16;
	if (!vma)
		return -2;
	see(task, vma, ctx);
	return 0;
}

#ifdef HOST_STACKS

/* ---- the memory of stacks ---- */

static long bpf_loop(__u32 count, long (*step)(__u32 i, void *ctx), void *ctx, __u64 flags)
{
	for (__u32 i = 0; i < count; i++)
		if (step(i, ctx))
			return i + 1;
	return count;
}

#define HOST_MEMOS 2 /* slot 0 is not used, so all stacks share a slot */
#define __uint(name, value) int name
#define __type(name, value) int name
#define __array(name, value) int name
#define INNER_MAP(tag, ...) struct tag { int unused; }

#include "../../bpf/users.bpf.h"
#include "../../bpf/emit.bpf.h"
#include "../../bpf/stack_state.bpf.h"
#include "../../bpf/stack_memo.bpf.h"

static struct stack_memo_slot host_memos[HOST_MEMOS];

#else

/* ---- the programs; stacks are not taken ---- */

#include "../../bpf/users.bpf.h"
#include "../../bpf/emit.bpf.h"
#include "../../bpf/thread.bpf.h"

struct stack_start {
	__u64 pc, sp, fp, ret, bytes, now_ns;
};
struct stack_thread;
static inline __u32 stack_take(struct stack_thread *thread, struct stack_start *start)
{
	return 0;
}

#include "../../bpf/call.bpf.h"
/* The ledger has functions of these names, too. */
#define rm_alloc read_rm_alloc
#define rm_free read_rm_free
#define rm_dup read_rm_dup
#include "../../bpf/ioctl.bpf.h"
#undef rm_alloc
#undef rm_free
#undef rm_dup
#include "../../bpf/usdt.bpf.h"
#include "../../bpf/framework.bpf.h"
#include "../../bpf/pytorch.bpf.h"
#include "../../bpf/proc.bpf.h"

#endif

static void *host_lookup(const void *map, __u32 key)
{
	if (map == &loss)
		return &host.losses[key % GMT_LOSS_COUNT];
	if (map == &thread_marks)
		return &host.marks[key % (HOST_TIDS / 64)];
	if (map == &users)
		return host_user(key);
#ifdef HOST_STACKS
	if (map == &stack_memos)
		return key < HOST_MEMOS ? &host_memos[key] : NULL;
	if (map == &stack_memo_keys)
		return NULL;
#endif
	return host_target(key) ? &host.values[host_target(key) - host.targets] : NULL;
}

static long host_update(const void *map, __u32 key, const void *value, __u64 flags)
{
	if (map == &users)
		return host_add_user(key);
#ifdef HOST_STACKS
	if (map == &stack_memo_keys)
		return 0;
#endif
	return host_add_target(key, value, flags);
}

#pragma GCC diagnostic pop

#endif
