// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Takes the Python frames of one process's threads whenever a thread calls read(), and keeps the newest stack of each
 * thread. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "python_test.h"

#define PY_READ(dst, size, addr) bpf_probe_read_user(dst, size, (const void *)(addr))
#include "../../bpf/python.bpf.h"

const volatile __u32 target_tgid = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gmt_py_config);
} configs SEC(".maps");

struct python_state {
	struct gmt_py_walk walk;
	struct python_test_stack stack;
};

/* One thread at a time is traced, so one will do. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct python_test_stack);
} stacks SEC(".maps");

struct python_context {
	const struct gmt_py_config *config;
	struct python_state *state;
};

static long step(__u32 i, struct python_context *c)
{
	struct python_test_stack *stack = &c->state->stack;
	int answer = gmt_py_step(c->config, &c->state->walk, &stack->frames[stack->count % GMT_PY_FRAMES_MAX]);

	stack->calls += answer == GMT_PY_LAST || answer == GMT_PY_NOTHING;
	if (answer == GMT_PY_OVER)
		return 1;
	if (answer != GMT_PY_NOTHING)
		stack->count++;
	return 0;
}

SEC("uprobe")
int on_read(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), since = bpf_ktime_get_ns();
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 zero = 0, tid = (__u32)id;
	struct python_context c;
	__u64 tp;

	if (id >> 32 != target_tgid)
		return 0;
	c.config = bpf_map_lookup_elem(&configs, &zero);
	c.state = bpf_map_lookup_elem(&states, &zero);
	if (!c.config || !c.state)
		return 0;
#if defined(__TARGET_ARCH_x86)
	tp = BPF_CORE_READ(task, thread.fsbase);
#else
	tp = BPF_CORE_READ(task, thread.uw.tp_value);
#endif
	c.state->stack.count = c.state->stack.calls = 0;
	if (!gmt_py_start(c.config, &c.state->walk, tp))
		bpf_loop(2 * GMT_PY_FRAMES_MAX, step, &c, 0);
	c.state->stack.reason = c.state->walk.reason;
	c.state->stack.nanoseconds = (__u32)(bpf_ktime_get_ns() - since);
	bpf_map_update_elem(&stacks, &tid, &c.state->stack, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
