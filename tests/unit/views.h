/* SPDX-License-Identifier: BSD-2-Clause */
/* Views made by hand, for the tests of the sinks. They live in static memory: one at a time. */
#ifndef GPUMEMTRACE_TESTS_VIEWS_H
#define GPUMEMTRACE_TESTS_VIEWS_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/view/view.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define S 1000000000ull
#define T0 (500 * S)                       /* CLOCK_MONOTONIC at the start */
#define WALL0 (1770113700 * S)             /* 2026-02-03 10:15:00 UTC */

struct fixture {
	struct view view;
	struct view_gpu gpus[4];
	struct view_proc procs[12];
	struct view_row rows[24];
	struct gmt_library libraries[2];
	struct gmt_limit limits[1];
	struct view_owner_text owners[6];
	struct view_owner owned[6];
	struct view_stack stacks[5];
	uint32_t frames[5][24];
	struct view_symbol symbols[24];
	struct view_stack_row stack_rows[VIEW_ORDER_COUNT][5];
	struct view_line_row line_rows[VIEW_ORDER_COUNT][5];
	char *modules[1];
	struct view_module_row module_rows[VIEW_ORDER_COUNT][2];
};

static inline struct view_level level_of(uint64_t live, uint64_t peak, uint64_t peak_s)
{
	return (struct view_level){ .live = live, .peak = peak, .peak_ts_ns = peak ? T0 + peak_s * S : 0 };
}

static inline struct view_class class_of(uint64_t live, uint64_t peak, uint64_t peak_s, uint64_t allocs,
					 uint64_t frees)
{
	return (struct view_class){
		.bytes = level_of(live, peak, peak_s), .live_count = allocs - frees, .allocs = allocs,
		.frees = frees, .alloc_bytes = live * 5, .freed_bytes = live * 4,
	};
}

static inline void set_gpu(struct view_gpu *gpu, unsigned index, const char *uuid, const char *pci)
{
	*gpu = (struct view_gpu){
		.index = index, .total_bytes = 81559 * MIB, .has_memory = true, .used_bytes = 3000 * MIB,
		.free_bytes = 78559 * MIB, .processes_bytes = 2345 * MIB,
	};
	memset(gpu->uuid, (int)index + 1, sizeof(gpu->uuid));
	snprintf(gpu->uuid_text, sizeof(gpu->uuid_text), "%s", uuid);
	snprintf(gpu->name, sizeof(gpu->name), "NVIDIA H100 80GB HBM3");
	snprintf(gpu->pci, sizeof(gpu->pci), "%s", pci);
}

static inline void set_session(struct view *view, uint32_t layers)
{
	struct gmt_session *s = &view->session;

	s->hdr.size = sizeof(*s);
	s->layers = layers;
	snprintf((char *)s->version, sizeof(s->version), "0.1.0");
	snprintf((char *)s->host, sizeof(s->host), "node17");
	snprintf((char *)s->kernel, sizeof(s->kernel), "6.18.44");
	snprintf((char *)s->driver, sizeof(s->driver), "580.159.04");
}

static inline void set_proc(struct view_proc *proc, uint32_t pid, const char *comm, const char *cmdline)
{
	*proc = (struct view_proc){
		.tgid = pid,
		.ns_pid = pid,
		.uid = 1000,
		.start_ns = 400 * S,
		.attach_ts_ns = T0,
		.window_ns = T0,
		.from_start = true,
	};
	snprintf(proc->comm, sizeof(proc->comm), "%s", comm);
	snprintf(proc->cmdline, sizeof(proc->cmdline), "%s", cmdline);
}

/* The members of the sum follow from the others; NVML asked half a second before the end. */
static inline void close_row(const struct view *view, struct view_row *row)
{
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		if (gmt_class_is_device((enum gmt_class)c))
			row->attributed.live += row->by_class[c].bytes.live;
	row->at_nvml = (struct view_sum){
		.attributed = row->attributed.live, .context = row->context, .modules = row->modules,
		.pool_reserve = row->pool_reserve, .rounding = row->rounding, .other = row->other,
		.before_attach = row->before_attach, .residual = row->residual,
	};
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		if (gmt_class_is_device((enum gmt_class)c))
			row->at_nvml.by_class[c] = row->by_class[c].bytes.live;
	if (row->has_physical)
		row->physical.live =
			row->attributed.live + (uint64_t)(row->context + row->modules + row->pool_reserve +
							  row->rounding + row->other);
	row->has_nvml = true;
	row->nvml_ts_ns = view->now_ns - S / 2;
	row->nvml = row->attributed.live +
		    (uint64_t)(row->context + row->modules + row->pool_reserve + row->rounding + row->other +
			       row->residual) +
		    row->before_attach;
}

static inline void typical_session(struct fixture *f)
{
	struct view *v = &f->view;

	memset(f, 0, sizeof(*f));
	*v = (struct view){
		.start_ns = T0,
		.now_ns = T0 + 143 * S,
		.wall_start_ns = WALL0,
		.gpu_count = 2,
		.gpus = f->gpus,
		.proc_count = 1,
		.procs = f->procs,
		.library_count = 1,
		.libraries = f->libraries,
		.records = 123456,
		.end_reason = 0,
	};
	set_session(v, GMT_LAYER_API | GMT_LAYER_KERNEL | GMT_LAYER_NVML);
	set_gpu(&f->gpus[0], 0, "GPU-ad5a9842-7ce2-3a4e-9f7e-0a4b7c1d2e3f", "00000000:3B:00.0");
	set_gpu(&f->gpus[1], 1, "GPU-0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0", "00000000:86:00.0");
	snprintf((char *)f->libraries[0].path, 256, "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04");
	snprintf((char *)f->libraries[0].build_id, 40, "9f3b5c1d");
	f->libraries[0].probes = 168;
	f->libraries[0].absent = 3;
}

/* Two GPUs; a training job on both, from its start, whose sums close; pinned and imported memory. */
static inline struct fixture *typical(struct fixture *f)
{
	struct view *v = &f->view;
	struct view_row *row = f->rows;

	typical_session(f);
	set_proc(&f->procs[0], 4242, "python", "python train.py --epochs 3 --batch-size 64");
	f->procs[0].ns_pid = 17;
	snprintf(f->procs[0].cgroup, sizeof(f->procs[0].cgroup), "/kubepods.slice/kubepods-burstable.slice/"
		 "cri-containerd-3f2a9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc.scope");
	f->procs[0].rows = row;
	f->procs[0].row_count = 2;
	f->procs[0].by_class[GMT_CLASS_PINNED] = class_of(GIB, GIB, 3, 5, 2);
	f->procs[0].by_class[GMT_CLASS_MANAGED] = class_of(64 * MIB, 64 * MIB, 4, 1, 0);
	row[0].gpu = 0;
	row[0].has_physical = true;
	row[0].by_class[GMT_CLASS_DEVICE] = class_of(1200 * MIB, 1400 * MIB, 72, 84, 42);
	row[0].by_class[GMT_CLASS_DEVICE].failed = 2;
	row[0].by_class[GMT_CLASS_VMM] = class_of(600 * MIB, 600 * MIB, 80, 300, 0);
	row[0].by_class[GMT_CLASS_IMPORTED] = class_of(512 * MIB, 512 * MIB, 9, 1, 0);
	row[0].context = 498 * MIB;
	row[0].modules = 12 * MIB;
	row[0].rounding = 35 * MIB;
	row[0].attributed = level_of(0, 1900 * MIB, 72);
	row[0].physical = level_of(0, 2445 * MIB, 72);
	row[0].imported_physical = 512 * MIB;
	row[0].torch = (struct view_torch){
		.seen = true, .backend = GMT_TORCH_MIXED,
		.allocated = level_of(1100 * MIB, 1500 * MIB, 71), .reserved = level_of(1700 * MIB, 1800 * MIB, 72),
		.recent_peak = 1100 * MIB, .recent_known = true,
		.blocks = 4321, .block_bytes = 1100 * MIB, .allocs = 60221, .frees = 55900,
		.sized = 4300, .sized_bytes = 1090 * MIB, .asked_bytes = 1080 * MIB,
		.alloc_bytes = 40 * GIB, .freed_bytes = 39 * GIB, .segments = 61, .segment_bytes = 1700 * MIB,
		.gap_known = true, .largest_free_gap = 96 * MIB,
	};
	row[1].gpu = 1;
	row[1].ordinal = VIEW_ORDINAL_UNKNOWN;
	row[1].has_physical = true;
	row[1].by_class[GMT_CLASS_POOL] = class_of(100 * MIB + 512, 300 * MIB, 60, 1000, 900);
	row[1].context = 498 * MIB - 512;
	row[1].pool_reserve = 28 * MIB;
	row[1].attributed = level_of(0, 300 * MIB, 60);
	row[1].physical = level_of(0, 830 * MIB, 60);
	close_row(v, &row[0]);
	close_row(v, &row[1]);
	return f;
}

/* ---- owners and stacks ---- */

static inline struct view_held held_of(uint64_t live, uint64_t at_peak, int64_t grown, uint64_t old)
{
	return (struct view_held){
		.live = live, .at_peak = at_peak, .grown = grown, .rise = grown, .then = live - (uint64_t)grown,
		.live_count = live ? 12 : 0,
		.allocs = 84, .frees = live ? 72 : 84, .alloc_bytes = live + at_peak,
		.oldest_ts_ns = live ? T0 + 3 * S : 0, .old_bytes = old, .old_count = old ? 5 : 0,
	};
}

/* Frames as PyTorch has them: entry points, the library, many of one kind, Python. */
static inline void fill_frames(struct fixture *f)
{
	static const struct view_symbol symbols[] = {
		{ .function = "cuMemAlloc_v2", .module = "/usr/lib/libcuda.so.1", .file = "", .is_skipped = true },
		{ .function = "c10::cuda::CUDACachingAllocator::malloc", .module = "/venv/libc10_cuda.so", .file = "" },
		{ .function = "at::empty_cuda", .module = "/venv/libtorch_cuda.so", .file = "/src/Empty.cpp", .line = 31 },
		{ .function = "c10::Dispatcher::call", .module = "/venv/libtorch_cpu.so", .file = "" },
		{ .function = "_PyEval_EvalFrame", .module = "/usr/bin/python3.11", .file = "", .is_skipped = true },
		{ .function = "forward", .module = "", .is_python = true,
		  .file = "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", .line = 114 },
		{ .function = "forward", .module = "", .is_python = true, .file = "/home/me/train.py", .line = 212 },
		{ .function = "<module>", .module = "", .is_python = true, .file = "/home/me/pkg/__main__.py", .line = 7 },
		{ .function = "", .module = "/home/me/a.out", .file = "", .offset = 0x1f30 },
		{ .function = "", .module = "", .file = "", .offset = 0x7f00dead, .is_guessed = true },
		{ .function = "evil\033[2J;name\n", .module = "/home/me/a.out", .file = "" },
	};
	static const uint32_t frames[5][16] = {
		{ 0 }, { 0 }, { 0, 1, 2, 3, 3, 3, 4, 5, 5, 5, 5, 6, 4, 7 }, { 0, 8, 9 }, { 0, 10 },
	};

	memcpy(f->symbols, symbols, sizeof(symbols));
	f->view.symbols = f->symbols;
	f->view.symbol_count = sizeof(symbols) / sizeof(symbols[0]);
	for (int i = 0; i < 5; i++) {
		memcpy(f->frames[i], frames[i], sizeof(frames[i]));
		f->stacks[i].frames = f->frames[i];
	}
}

/* The named stack with the most memory is in a module, and the one with the second most is in none. */
static inline void add_to_modules(struct fixture *f, uint32_t stack, const struct view_held *held)
{
	for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
		struct view_modules *modules = &f->rows[0].stacks.modules[order];

		modules->rows = f->module_rows[order];
		if (view_value(held, (enum view_order)order) > 0)
			modules->rows[modules->count++] = (struct view_module_row){
				.module = stack == 2 ? 0 : VIEW_NO_MODULE, .held = *held };
	}
}

/* The typical one, and who holds what on its first GPU: one stack of each kind. */
static inline struct fixture *stacked(struct fixture *f)
{
	static const struct view_owner_text owners[] = {
		{ .text = "(without a stack)", .name = "(without a stack)" }, { .text = "(not named)", .name = "(not named)" },
		{ .text = "train.py (PyTorch)", .name = "train.py", .allocator = "PyTorch" },
		{ .text = "application", .name = "application" }, { .text = "NCCL\n", .name = "NCCL\n" },
	};
	static const uint64_t live[] = { 10 * MIB, 90 * MIB, 1500 * MIB, 200 * MIB, 0 };
	static const uint8_t line_states[] = { VIEW_LINE_NO_STACK, VIEW_LINE_NOT_NAMED, VIEW_LINE_OWN, VIEW_LINE_NOT_OWN,
					       VIEW_LINE_OWN };
	static const int64_t grown[] = { 0, 90 * MIB, -3 * (int64_t)MIB, 100 * MIB, 0 };
	struct view_stacks *s = &f->rows[0].stacks;

	typical(f);
	memcpy(f->owners, owners, sizeof(owners));
	f->modules[0] = (char *)"Net > Block > TransformerEncoderLayer > Linear";
	f->view.modules = f->modules;
	f->view.module_count = 1;
	f->view.owners = f->owners;
	f->view.owner_count = f->view.stack_count = 5;
	f->view.stacks = f->stacks;
	f->view.has_ages = true;
	f->view.older_than_ns = 60 * S;
	fill_frames(f);
	*s = (struct view_stacks){ .peak = 1900 * MIB, .peak_ts_ns = T0 + 72 * S, .since_ns = T0 + 64 * S,
				   .rise = { .since_ns = T0 + 64 * S, .until_ns = f->view.now_ns },
				   .stack_count = 123, .owner_count = 5, .owners = f->owned };
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t at_peak = i == 4 ? 300 * MIB : live[i];
		struct view_held held = held_of(live[i], at_peak, grown[i], i == 2 ? live[i] : 0);

		f->stacks[i].owner = i;
		f->stacks[i].module = i == 2 ? 0 : VIEW_NO_MODULE;
		if (i == 2 || i == 3)
			add_to_modules(f, i, &held);
		f->stacks[i].state = i < 2 ? (enum view_stack_state)i : VIEW_STACK_NAMED;
		f->stacks[i].decisive = i < 2 ? VIEW_NO_FRAME : 1;
		f->stacks[i].own = i == 2 ? 11 : VIEW_NO_FRAME;
		f->stacks[i].frame_count = (const uint32_t[]){ 0, 0, 14, 3, 2 }[i];
		f->owned[(const uint32_t[]){ 3, 2, 0, 1, 4 }[i]] = (struct view_owner){ i, held };
		s->live += live[i];
		for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
			struct view_top *top = &s->top[order];
			struct view_lines *lines = &s->lines[order];

			top->rows = f->stack_rows[order];
			if (view_value(&held, (enum view_order)order) > 0)
				top->rows[top->count++] = (struct view_stack_row){ .stack = i, .held = held };
			lines->rows = f->line_rows[order];
			if (view_value(&held, (enum view_order)order) > 0)
				lines->rows[lines->count++] = (struct view_line_row){
					.state = line_states[i], .symbol = i == 2 ? 6 : i == 4 ? 10 : 0,
					.stack = i, .stacks = 1 + i, .held = held };
		}
	}
	s->unexplained = (int64_t)(f->rows[0].physical.live - s->live);
	f->procs[0].unwinding.stacks = 130;
	f->procs[0].unwinding.reasons[GMT_UNWIND_END_ROOT] = 127;
	f->procs[0].unwinding.reasons[GMT_UNWIND_END_NO_ROW] = 2;
	f->procs[0].unwinding.reasons[GMT_UNWIND_END_FAULT] = 1;
	return f;
}

/* A process that was attached late, on a known and an unknown GPU. */
static inline void troubled_session(struct fixture *f)
{
	struct view *v = &f->view;
	struct view_row *row = f->rows;

	typical(f);
	set_session(v, GMT_LAYER_API | GMT_LAYER_NVML);
	snprintf((char *)v->session.why_no_kernel, 128, "tracefs is not mounted");
	snprintf((char *)f->limits[0].what, 96, "PyTorch's blocks have no stacks");
	snprintf((char *)f->limits[0].why, 192, "the kernel's verifier refuses torch_memory: R1 \033[2J");
	snprintf((char *)f->limits[0].remedy, 160, "A newer kernel may do");
	v->limits = (struct limits){ .count = 1, .list = f->limits };
	v->loss[GMT_LOSS_RING_FULL] = 1234;
	v->loss[GMT_LOSS_UNREADABLE] = 1;
	v->anomalies[GMT_ANOMALY_FREE_UNKNOWN] = 3;
	v->records_malformed = 2;
	v->records_unknown = 7;
	v->dropped[VIEW_DROP_WAITING] = 5;
	v->dropped[VIEW_DROP_OWNERS] = 1;
	v->libraries_forgotten = 3;
	v->end_reason = UINT32_MAX;
	v->proc_count = 4;
	memset(row, 0, sizeof(f->rows));
	f->procs[0].from_start = false;
	f->procs[0].attach_ts_ns = T0 + 2 * S;
	f->procs[0].torch_silence = GMT_TORCH_ASYNC;
	f->procs[0].window_ns = v->mark_ns = T0 + 100 * S;
	v->marks = 2;
	f->procs[0].anomalies[GMT_ANOMALY_FREE_UNKNOWN] = 3;
	snprintf(f->procs[0].cmdline, 256, "python \033[2Jevil\n\xff");
	row[0].gpu = 0;
	row[0].by_class[GMT_CLASS_DEVICE] = class_of(1200 * MIB + 4096, 1400 * MIB, 72, 84, 42);
	row[0].attributed = level_of(0, 1400 * MIB, 72);
	row[0].before_attach = 700 * MIB;
	row[0].before_frees = 3;
	row[0].before_inferred = true;
	row[0].residual = 510 * MIB - 4096;
	close_row(v, &row[0]);
	row[1].gpu = VIEW_GPU_UNKNOWN;
	row[1].by_class[GMT_CLASS_VMM] = class_of(20 * MIB, 20 * MIB, 5, 1, 0);
	row[1].attributed = level_of(20 * MIB, 20 * MIB, 5);
}

/* What can be bad: attached late, a process that was killed, an unknown GPU, one outside the inventory,
 * losses, anomalies, no kernel layer, and names with control characters. */
static inline struct fixture *troubled(struct fixture *f)
{
	struct view *v = &f->view;
	struct view_row *row = f->rows;

	troubled_session(f);
	set_proc(&f->procs[1], 4300, "pt main", "");
	f->procs[1].exited = true;
	f->procs[1].exit_code = SIGKILL;
	f->procs[1].exit_ts_ns = T0 + 100 * S;
	f->procs[1].rows = &row[2];
	f->procs[1].row_count = 1;
	row[2].gpu = 1;
	row[2].ordinal = 1;
	row[2].by_class[GMT_CLASS_DEVICE] = class_of(0, 5 * GIB, 90, 10, 10);
	row[2].attributed = level_of(0, 5 * GIB, 90);
	row[2].has_nvml = true;
	row[2].nvml_ts_ns = T0 + 99 * S + S / 4;
	row[2].nvml = 5632 * MIB;
	row[2].at_nvml = (struct view_sum){ .attributed = 5 * GIB, .residual = 512 * MIB };
	row[2].at_nvml.by_class[GMT_CLASS_DEVICE] = 5 * GIB;
	row[2].torch = (struct view_torch){
		.seen = true, .backend = GMT_TORCH_NATIVE,
		.allocated = level_of(0, 4 * GIB, 88), .reserved = level_of(5 * GIB, 5 * GIB, 90),
		.allocs = 7, .frees = 9, .alloc_bytes = 3 * GIB, .freed_bytes = 4 * GIB,
		.segments = 10, .segment_bytes = 4 * GIB,
	};
	set_proc(&f->procs[2], 4400, "nccl", "all_reduce_perf -b 8 -e 1G -g 2");
	snprintf(f->procs[2].cgroup, sizeof(f->procs[2].cgroup), "/system.slice/slurmstepd.scope/job_77");
	f->procs[2].rows = &row[3];
	f->procs[2].row_count = 1;
	v->gpu_count = 3;
	set_gpu(&f->gpus[2], UINT32_MAX, "GPU-feedc0de-0000-0000-0000-000000000000", "");
	memcpy(f->gpus[2].uuid, "\xfe\xed\xc0\xde", 4);
	f->gpus[2].name[0] = '\0';
	f->gpus[2].total_bytes = 0;
	row[3].gpu = 2;
	row[3].ordinal = VIEW_ORDINAL_UNKNOWN;
	row[3].by_class[GMT_CLASS_DEVICE] = class_of(3 * KIB, 3 * KIB, 1, 1, 0);
	row[3].attributed = level_of(3 * KIB, 3 * KIB, 1);
	set_proc(&f->procs[3], 4500, "sh", "sh -c true");
	return f;
}

/* A GPU in MIG mode and two of its instances. */
static inline struct fixture *sliced(struct fixture *f)
{
	typical(f);
	f->view.gpu_count = 3;
	f->gpus[0].flags = GMT_GPU_MIG_PARENT;
	for (int i = 1; i < 3; i++) {
		set_gpu(&f->gpus[i], (unsigned)i - 1,
			i == 1 ? "MIG-11111111-2222-3333-4444-555555555555"
			       : "MIG-66666666-7777-8888-9999-000000000000",
			"00000000:3B:00.0");
		memset(f->gpus[i].uuid, 0x50 + i, GMT_UUID_BYTES);
		snprintf(f->gpus[i].name, sizeof(f->gpus[i].name), "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
		f->gpus[i].flags = GMT_GPU_MIG;
		f->gpus[i].gpu_instance = 6 + (unsigned)i;
		f->gpus[i].total_bytes = 9984 * MIB;
	}
	f->rows[0].gpu = 1;
	f->rows[1].gpu = 2;
	return f;
}

#endif
