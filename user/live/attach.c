// SPDX-License-Identifier: BSD-2-Clause
#include "live/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core/probes.h"
#include "live/bpf_blob.h"
#include "live/guard.h"
#include "live/procfs.h"
#include "live/tracepoint.h"
#include "live/uprobe.h"
#include "live/usdt.h"

/* A library's probes, or a hook (entries alone). The return probes come first and go last: a call that is
 * entered in between must not leave a frame behind that never returns. */
struct attached_library {
	struct uprobe_set *entries, *returns;
};

struct attach {
	struct bpf_object *object;
	struct bpf_program *enter, *leave;
	struct bpf_link *process_links[3];
	struct bpf_link *ioctl_link;
	struct attached_library *libraries;
	size_t library_count;
	uint32_t usdt_count;         /* static probes' places: numbers in the map of them */
	int targets_fd, loss_fd, ring_fd, runtime_fd;
	struct gmt_runtime runtime;
	bool multi, no_tracepoint;
};

static const char *const process_programs[] = { "proc_fork", "proc_exec", "proc_exit" };

static int print_verbose(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

static int fail(int err, char *cause, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int fail(int err, char *cause, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cause, size, format, args);
	va_end(args);
	return err;
}

static int load_failure(int err, char *cause, size_t size)
{
	if (err == -EPERM || err == -EACCES)
		return fail(err, cause, size, "the kernel refused the BPF programs (%s): run as root, or with"
			    " CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE", strerror(-err));
	if (err == -ESRCH || err == -ENOENT)
		return fail(err, cause, size, "the kernel has no BTF (/sys/kernel/btf/vmlinux): a kernel with"
			    " CONFIG_DEBUG_INFO_BTF=y is needed");
	if (err == -EOPNOTSUPP)
		return fail(err, cause, size, "this kernel gives uprobe programs private stacks, or may do so: tracing"
			    " could crash the machine. Nothing is attached. A newer gpumemtrace may know this kernel");
	return fail(err, cause, size, "the BPF programs could not be loaded (%s): Linux 5.15 or newer is"
		    " needed, `gpumemtrace doctor` tells what is missing", strerror(-err));
}

static uint64_t round_ring(uint64_t bytes)
{
	uint64_t size = sysconf(_SC_PAGESIZE);

	while (size < bytes && size < 1u << 31)
		size <<= 1;
	return size;
}

/* What has to be read at entry: memory that the callee reads, as it may change before the return. */
static uint32_t entry_reads(const struct gmt_probe *probe)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < probe->count; i++) {
		unsigned kind = probe->caps[i] >> 24;

		if (kind == GMT_CAP_IN64 || kind == GMT_CAP_IN32 || kind == GMT_CAP_INHASH ||
		    kind == GMT_CAP_STKHASH)
			mask |= 1u << i;
	}
	return mask;
}

/* Where the bytes are that a call asks for, if they can be read at entry. */
static uint32_t size_cap(const struct gmt_probe *probe)
{
	int field = gmt_op_field(probe->op, "size");
	unsigned kind = field < 0 || field >= (int)probe->count ? GMT_CAP_NONE : probe->caps[field] >> 24;

	return kind == GMT_CAP_ARG64 || kind == GMT_CAP_ARG32 || kind == GMT_CAP_IN64 ? probe->caps[field] :
	       GMT_CAP_NONE;
}

static uint32_t stack_memos(const struct gmt_config *config)
{
	if (!config->stack_mode)
		return 1;
	return config->block_stacks ? GMT_STACK_MEMOS_BLOCKS : GMT_STACK_MEMOS;
}

static uint32_t stack_walks(const struct gmt_config *config)
{
	uint32_t walks = GMT_STACK_WALKS_PER_CPU * (uint32_t)libbpf_num_possible_cpus();

	if (!config->stack_mode)
		return 1;
	return walks < GMT_STACK_WALKS_MIN ? GMT_STACK_WALKS_MIN : walks;
}

static int set_rodata(struct bpf_object *object, const struct attach_options *options, uint64_t ring_bytes)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.gmt");
	struct gmt_rodata *rodata = xcalloc(1, sizeof(*rodata));
	int err = -EINVAL;

	rodata->config = options->config;
	rodata->config.wake_bytes = ring_bytes / 4;
	rodata->config.stack_memos = stack_memos(&options->config);
	rodata->config.stack_walks = stack_walks(&options->config);
	rodata->config.cpus = (uint32_t)libbpf_num_possible_cpus();
	for (unsigned api = 0; api < GMT_API_MAX; api++) {
		const struct gmt_probe *probe = &gmt_probes[api];
		struct gmt_spec *spec = &rodata->specs[api];

		spec->flags = probe->flags;
		spec->count = probe->count;
		spec->entry_reads = entry_reads(probe);
		spec->takes_stack = gmt_op_asks_for_memory(probe->op);
		spec->size_cap = size_cap(probe);
		memcpy(spec->caps, probe->caps, sizeof(spec->caps));
	}
	if (map)
		err = bpf_map__set_initial_value(map, rodata, sizeof(*rodata));
	free(rodata);
	return err;
}

/* Words of 64 bits, for all numbers that a thread can have; 4194304 is the kernel's own limit (PID_MAX_LIMIT,
 * include/linux/threads.h). */
static uint32_t thread_mark_words(void)
{
	uint32_t most = 4194304;
	char text[32];

	if (procfs_read("/proc/sys/kernel/pid_max", text, sizeof(text)) > 0)
		most = (uint32_t)strtoul(text, NULL, 10);
	return most / 64 + 1;
}

static int set_sizes(struct bpf_object *object, const struct gmt_config *config, uint64_t ring_bytes)
{
	uint32_t memos = stack_memos(config);
	const struct {
		const char *map;
		uint64_t entries;
	} sizes[] = { { "ring", ring_bytes }, { "stack_memos", memos }, { "stack_memo_keys", memos },
		      { "stack_walks", stack_walks(config) }, { "thread_marks", thread_mark_words() } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, sizes[i].map),
						   sizes[i].entries);

		if (err)
			return err;
	}
	return 0;
}

static bool is_uprobe(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return !strncmp(section, "uprobe", 6) || !strncmp(section, "uretprobe", 9);
}

static int prepare(struct attach *attach, const struct attach_options *options)
{
	uint64_t ring_bytes = round_ring(options->ring_bytes);
	struct bpf_program *program;
	int err;

	err = set_rodata(attach->object, options, ring_bytes);
	if (err)
		return err;
	attach->enter = bpf_object__find_program_by_name(attach->object, "call_enter");
	attach->leave = bpf_object__find_program_by_name(attach->object, "call_return");
	bpf_object__for_each_program(program, attach->object) {
		if (attach->multi && is_uprobe(program))
			bpf_program__set_expected_attach_type(program, UPROBE_MULTI_ATTACH_TYPE);
	}
	return set_sizes(attach->object, &options->config, ring_bytes);
}

static int attach_process_events(struct attach *attach)
{
	for (size_t i = 0; i < sizeof(process_programs) / sizeof(*process_programs); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(attach->object, process_programs[i]);

		attach->process_links[i] = bpf_program__attach(program);
		if (!attach->process_links[i])
			return -errno;
	}
	return 0;
}

/* Two tasks would write into one stack, which crashes the kernel sooner or later: see bpf/guard.bpf.h. */
static bool has_private_stack(const struct attach *attach)
{
	struct bpf_program *program;

	if (guard_try(attach->multi ? UPROBE_MULTI_ATTACH_TYPE : 0) != GUARD_SAFE)
		return true;
	bpf_object__for_each_program(program, attach->object) {
		if (is_uprobe(program) && guard_program_is_private(bpf_program__fd(program)))
			return true;
	}
	return false;
}

static int load(struct attach *attach, const struct attach_options *options)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = "gpumemtrace");
	int err;

	attach->object = bpf_object__open_mem(bpf_blob, BPF_BLOB_SIZE, &open);
	if (!attach->object)
		return -errno;
	err = prepare(attach, options);
	if (!err)
		err = bpf_object__load(attach->object);
	if (!err && has_private_stack(attach))
		err = -EOPNOTSUPP;
	if (err)
		return err;
	attach->targets_fd = bpf_object__find_map_fd_by_name(attach->object, "targets");
	attach->loss_fd = bpf_object__find_map_fd_by_name(attach->object, "loss");
	attach->ring_fd = bpf_object__find_map_fd_by_name(attach->object, "ring");
	attach->runtime_fd = bpf_object__find_map_fd_by_name(attach->object, ".data.gmt");
	return attach_process_events(attach);
}

int attach_open(struct attach **out, const struct attach_options *options, char *cause, size_t cause_size)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct attach *attach = xcalloc(1, sizeof(*attach));
	int err;

	/* Before 5.11 BPF memory counts against it; where that is over, a refusal does no harm. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(options->verbose ? print_verbose : NULL);
	attach->multi = !options->no_uprobe_multi && uprobe_has_multi();
	attach->no_tracepoint = options->no_tracepoint;
	err = load(attach, options);
	if (err) {
		attach_close(attach);
		return load_failure(err, cause, cause_size);
	}
	*out = attach;
	return 0;
}

void attach_close(struct attach *attach)
{
	if (!attach)
		return;
	for (size_t i = 0; i < attach->library_count; i++)
		uprobe_detach(attach->libraries[i].entries);
	for (size_t i = 0; i < attach->library_count; i++)
		uprobe_detach(attach->libraries[i].returns);
	bpf_link__destroy(attach->ioctl_link);
	for (size_t i = 0; i < sizeof(process_programs) / sizeof(*process_programs); i++)
		bpf_link__destroy(attach->process_links[i]);
	bpf_object__close(attach->object);
	free(attach->libraries);
	free(attach);
}

static struct bpf_link *attach_tracepoint(struct attach *attach)
{
	struct bpf_program *program = bpf_object__find_program_by_name(attach->object, "ioctl_tracepoint");
	struct bpf_link *link;
	int event = tracepoint_open("syscalls", "sys_exit_ioctl");

	if (event < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, event);
	if (!link)
		close(event);
	return link;
}

int attach_ioctls(struct attach *attach, char *cause, size_t cause_size)
{
	struct bpf_program *program = bpf_object__find_program_by_name(attach->object, "ioctl_sys_exit");

	if (!attach->no_tracepoint)
		attach->ioctl_link = attach_tracepoint(attach);
	if (!attach->ioctl_link)
		attach->ioctl_link = bpf_program__attach(program);
	if (!attach->ioctl_link)
		return fail(-errno, cause, cause_size, "system calls cannot be traced (%s): a kernel with"
			    " CONFIG_HAVE_SYSCALL_TRACEPOINTS=y is needed", strerror(errno));
	return 0;
}

static int attach_both(struct attach *attach, struct attached_library *out, const char *path,
		       const uint64_t *offsets, const uint64_t *cookies, size_t count)
{
	int err;

	err = uprobe_attach(&out->returns, bpf_program__fd(attach->leave), path, offsets, NULL, cookies, count, true,
			    attach->multi);
	if (err)
		return err;
	err = uprobe_attach(&out->entries, bpf_program__fd(attach->enter), path, offsets, NULL, cookies, count, false,
			    attach->multi);
	if (err)
		uprobe_detach(out->returns);
	return err;
}

static int set_runtime(struct attach *attach)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(attach->runtime_fd, &zero, &attach->runtime, BPF_ANY);
}

int attach_arm(struct attach *attach)
{
	attach->runtime.armed = true;
	return set_runtime(attach);
}

static int cannot_probe(int err, const char *path, char *cause, size_t cause_size)
{
	return fail(err, cause, cause_size, "%s cannot be probed (%s)%s", path, strerror(-err),
		    err == -EMFILE ? ": raise `ulimit -n`" : "");
}

static void keep(struct attach *attach, const struct attached_library *attached)
{
	attach->libraries = xrealloc(attach->libraries, (attach->library_count + 1) * sizeof(*attached));
	attach->libraries[attach->library_count++] = *attached;
}

static int attach_one(struct attach *attach, const char *path, const char *program, uint64_t offset,
		      const uint64_t *counter, uint64_t cookie, char *cause, size_t cause_size)
{
	const struct bpf_program *found = bpf_object__find_program_by_name(attach->object, program);
	struct attached_library attached = { 0 };
	int err;

	err = found ? uprobe_attach(&attached.entries, bpf_program__fd(found), path, &offset, counter, &cookie, 1,
				    false, attach->multi) : -ENOENT;
	if (err)
		return cannot_probe(err, path, cause, cause_size);
	keep(attach, &attached);
	return 0;
}

int attach_hook(struct attach *attach, const char *path, const char *program, uint64_t offset, char *cause,
		size_t cause_size)
{
	return attach_one(attach, path, program, offset, NULL, 0, cause, cause_size);
}

int attach_usdt(struct attach *attach, const char *path, const char *program, const struct usdt_place *place,
		char *cause, size_t cause_size)
{
	uint32_t number = attach->usdt_count;
	int err = -ENOSPC;

	if (number < GMT_USDT_PLACES)
		err = bpf_map_update_elem(attach_map_fd(attach, "usdt_places"), &number, &place->usdt, BPF_ANY);
	if (err)
		return cannot_probe(err, path, cause, cause_size);
	attach->usdt_count++;
	return attach_one(attach, path, program, place->offset, place->counter ? &place->counter : NULL, number,
			  cause, cause_size);
}

int attach_library(struct attach *attach, const char *path, uint32_t library, const struct attach_point *points,
		   size_t count, char *cause, size_t cause_size)
{
	uint64_t *offsets = xcalloc(count, sizeof(*offsets)), *cookies = xcalloc(count, sizeof(*cookies));
	struct attached_library attached = { 0 };
	int err;

	for (size_t i = 0; i < count; i++) {
		offsets[i] = points[i].offset;
		cookies[i] = points[i].api | (uint64_t)library << 32;
	}
	attach->runtime.generation++;
	err = set_runtime(attach);
	if (!err)
		err = attach_both(attach, &attached, path, offsets, cookies, count);
	attach->runtime.generation++;
	set_runtime(attach);
	free(offsets);
	free(cookies);
	if (err)
		return cannot_probe(err, path, cause, cause_size);
	keep(attach, &attached);
	return 0;
}

int attach_target(struct attach *attach, pid_t tgid)
{
	uint32_t key = tgid, one = 1;

	return bpf_map_update_elem(attach->targets_fd, &key, &one, BPF_ANY);
}

bool attach_is_target(const struct attach *attach, pid_t tgid)
{
	uint32_t key = tgid, value;

	return !bpf_map_lookup_elem(attach->targets_fd, &key, &value);
}

/* How often the kernel did not run a program because it was running on that CPU already. */
static uint64_t skipped_runs(const struct attach *attach)
{
	struct bpf_program *program;
	uint64_t skipped = 0;

	bpf_object__for_each_program(program, attach->object) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			skipped += info.recursion_misses;
	}
	return skipped;
}

void attach_losses(const struct attach *attach, __u64 loss[GMT_LOSS_COUNT])
{
	for (uint32_t cause = 0; cause < GMT_LOSS_COUNT; cause++) {
		loss[cause] = 0;
		bpf_map_lookup_elem(attach->loss_fd, &cause, &loss[cause]);
	}
	loss[GMT_LOSS_PROGRAM_SKIPPED] += skipped_runs(attach);
}

int attach_map_fd(const struct attach *attach, const char *name)
{
	return bpf_object__find_map_fd_by_name(attach->object, name);
}

int attach_ring_fd(const struct attach *attach)
{
	return attach->ring_fd;
}
