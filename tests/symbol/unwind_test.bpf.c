// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The unwinder in BPF: a probe leaves the stack that it saw in results[], at the index of its cookie, else of its
 * function's first argument.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <gpumemtrace/config.h>
#include <gpumemtrace/unwind.h>

#include "unwind_test.h"
#include "../../bpf/unwind_task.bpf.h"
#if defined(__TARGET_ARCH_x86)
#include "../../bpf/arch_x86.bpf.h"
#else
#include "../../bpf/arch_arm64.bpf.h"
#endif

struct shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TEST_SHARD_WORDS);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, TEST_SHARDS);
	__type(key, __u32);
	__array(values, struct shard);
} shards SEC(".maps");

struct mappings {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GMT_UNWIND_MAPPINGS_MAX);
	__type(key, __u32);
	__type(value, struct gmt_unwind_mapping);
};

struct mappings mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TEST_RESULTS);
	__type(key, __u32);
	__type(value, struct test_result);
} results SEC(".maps");

__u32 mapping_count SEC(".data.test") = 0;

struct scratch;
static __always_inline const __u64 *word_at(__u32 slot);
static __always_inline const struct gmt_unwind_mapping *mapping_at(__u32 i);
static __always_inline int read64(__u64 address, __u64 *val);
static __always_inline int take(void *walk, __u64 word);
static __always_inline int repair(void *walk, __u64 slot, __u64 *pc);
static __always_inline __u64 other_stack(void *walk, __u64 sp);

#define UNWIND_READ64(walk, address, val) read64(address, val)
#define UNWIND_WORD(walk, slot) word_at(slot)
#define UNWIND_MAPPING(walk, i) mapping_at(i)
#define UNWIND_FRAME(walk, word) take(walk, word)
#define UNWIND_REPAIR(walk, slot, pc) repair(walk, slot, pc)
#define UNWIND_OTHER_STACK(walk, sp) other_stack(walk, sp)
#include "../../bpf/unwind.bpf.h"

struct scratch {
	struct unwind_walk walk;
	__u64 returns;
	struct unwind_stack stack, other;
	__u64 frames[TEST_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct scratch);
} states SEC(".maps");

static __always_inline const __u64 *word_at(__u32 slot)
{
	__u32 shard = slot / TEST_SHARD_WORDS, i = slot % TEST_SHARD_WORDS;
	void *inner = bpf_map_lookup_elem(&shards, &shard);

	return inner ? bpf_map_lookup_elem(inner, &i) : NULL;
}

static __always_inline const struct gmt_unwind_mapping *mapping_at(__u32 i)
{
	return bpf_map_lookup_elem(&mappings, &i);
}

static __always_inline int read64(__u64 address, __u64 *val)
{
	return bpf_probe_read_user(val, sizeof(*val), (void *)address);
}

static __always_inline int take(void *walk, __u64 word)
{
	struct scratch *state = walk;
	__u32 at = state->walk.frames;

	if (at >= TEST_FRAMES)
		return -1;
	state->frames[at] = word;
	return 0;
}

static __always_inline int repair(void *walk, __u64 slot, __u64 *pc)
{
	return unwind_repair(&((struct scratch *)walk)->returns, slot, pc);
}

static __always_inline __u64 other_stack(void *walk, __u64 sp)
{
	return unwind_stack_end(bpf_get_current_task_btf(), &((struct scratch *)walk)->other, sp);
}

static __always_inline int unwind(struct pt_regs *ctx, struct scratch *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 id = cookie ? cookie : PT_REGS_PARM1(ctx);
	struct test_result *result = bpf_map_lookup_elem(&results, &id);
	struct unwind_walk *walk = &state->walk;
	__u64 start = bpf_ktime_get_ns(), ret = PT_REGS_RET(ctx);

	if (!result)
		return 0;
	state->returns = unwind_returns(task);
	unwind_start(&state->walk, PT_REGS_IP(ctx), PT_REGS_SP(ctx), PT_REGS_FP(ctx),
		     unwind_stack_end(task, &state->stack, PT_REGS_SP(ctx)), unwind_trampoline(task), mapping_count,
		     TEST_FRAMES);
	arch_fill_more(&state->walk.more, &ret);
	bpf_loop(TEST_FRAMES + 1, unwind_step, &walk, 0);
	result->nanoseconds = bpf_ktime_get_ns() - start;
	result->reason = unwind_end(&state->walk);
	result->count = state->walk.frames;
	bpf_probe_read_kernel(result->frames, sizeof(result->frames), state->frames);
	result->hits++;
	return 0;
}

SEC("uprobe")
int on_probe(struct pt_regs *ctx)
{
	struct scratch *state = bpf_task_storage_get(&states, bpf_get_current_task_btf(), NULL,
						   BPF_LOCAL_STORAGE_GET_F_CREATE);

	return state ? unwind(ctx, state) : 0;
}

SEC("uretprobe")
int on_return(struct pt_regs *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
