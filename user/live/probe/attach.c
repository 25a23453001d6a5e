// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "core/terms/probes.h"
#include "live/bpf/array_map.h"
#include "live/bpf/plan.h"
#include "live/bpf/ring.h"
#include "live/bpf/target_map.h"
#include "live/probe/library.h"
#include "live/probe/removal.h"
#include "live/probe/tracepoint.h"
#include "live/probe/uprobe.h"
#include "live/probe/usdt_notes.h"
#include "parse/client.h"

/* The probes of a library, or a hook, which has an entry probe only. Return probes are placed first and removed
 * last: a call that is entered in between must not leave a frame behind that never returns. */
struct attached_library {
	uint32_t number;             /* of the file, as given by the caller */
	struct uprobe_set *entries, *returns;
};

struct attach {
	struct bpf_object *object;
	struct bpf_link *links[6];   /* of processes' events and of ioctls */
	size_t link_count;
	struct attached_library *libraries;
	size_t library_count;
	uint32_t usdt_files[GMT_USDT_PLACES]; /* whose static probe has the place in the map; 0: free */
	struct target_map targets;
	const volatile __u64 *loss;  /* the map's values */
	struct gmt_runtime *runtime; /* in BPF's memory, too */
	uint32_t *spaces_changed;
	bool multi;
	int tracepoints[ATTACH_TRACEPOINTS];
	struct plan plan;            /* as it was loaded */
	struct plan_limits limits;
};

#define LOSS_BYTES (GMT_LOSS_COUNT * sizeof(__u64))

static int attach_process_events(struct attach *attach)
{
	static const char *const names[] = { "proc_fork", "proc_exec", "proc_exit" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(attach->object, names[i]);
		struct bpf_link *link;

		if (!bpf_program__autoload(program))
			continue;
		link = bpf_program__attach(program);
		if (!link)
			return -errno;
		attach->links[attach->link_count++] = link;
	}
	return 0;
}

static int load_programs(struct attach *attach, const struct attach_options *options, char *cause, size_t cause_size)
{
	struct programs_options programs = options->programs;
	int err;

	programs.ring_bytes = ring_round(programs.ring_bytes);
	programs.attach_type = attach->multi ? UPROBE_MULTI_ATTACH_TYPE : 0;
	err = programs_load(&attach->object, &programs, &attach->plan, &attach->limits, cause, cause_size);
	if (err)
		return err;
	attach->loss = mapped_open(attach_map_fd(attach, "loss"), LOSS_BYTES, false);
	attach->runtime = mapped_open(attach_map_fd(attach, ".data.gmt"), sizeof(*attach->runtime), true);
	attach->spaces_changed = mapped_open(attach_map_fd(attach, ".data.spaces"), sizeof(uint32_t), true);
	if (target_map_open(&attach->targets, attach->object) || !attach->loss || !attach->runtime ||
	    !attach->spaces_changed)
		return programs_fail(-ENOMEM, cause, cause_size,
				     "the BPF maps cannot be mapped: raise the memory limit");
	err = attach_process_events(attach);
	return err ? programs_fail(err, cause, cause_size, "forks and exits of processes cannot be traced (%s)",
				 strerror(-err)) : 0;
}

int attach_open(struct attach **out, const struct attach_options *options, char *cause, size_t cause_size)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct attach *attach = xcalloc(1, sizeof(*attach));
	int err;

	/* Before 5.11 BPF's memory counted against the limit. On newer kernels a refusal does no harm. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(options->programs.print);
	attach->multi = !options->no_uprobe_multi && uprobe_has_multi();
	memcpy(attach->tracepoints, options->tracepoints, sizeof(attach->tracepoints));
	err = load_programs(attach, options, cause, cause_size);
	if (err) {
		attach_close(attach);
		return err;
	}
	*out = attach;
	return 0;
}

static size_t probes_left(const struct attach *attach)
{
	size_t left = 0;

	for (size_t i = 0; i < attach->library_count; i++)
		left += uprobe_left(attach->libraries[i].entries) + uprobe_left(attach->libraries[i].returns);
	return left;
}

static void detach_set(struct attach *attach, struct uprobe_set *set, attach_left_fn *tell, void *arg)
{
	while (uprobe_left(set)) {
		uprobe_detach_next(set);
		if (tell)
			tell(arg, probes_left(attach));
	}
}

static void detach_at_once(const struct attached_library *libraries, size_t count, bool at_return)
{
	struct uprobe_set **sets = xcalloc(count + 1, sizeof(*sets));

	for (size_t i = 0; i < count; i++)
		sets[i] = at_return ? libraries[i].returns : libraries[i].entries;
	removal_detach(sets, count);
	free(sets);
}

static void detach_libraries(struct attach *attach, attach_left_fn *tell, void *arg, bool at_return)
{
	if (attach->multi)
		detach_at_once(attach->libraries, attach->library_count, at_return);
	for (size_t i = 0; i < attach->library_count; i++)
		detach_set(attach, at_return ? attach->libraries[i].returns : attach->libraries[i].entries, tell, arg);
}

void attach_detach(struct attach *attach, attach_left_fn *tell, void *arg)
{
	detach_libraries(attach, tell, arg, false);
	detach_libraries(attach, tell, arg, true);
	while (attach->link_count)
		bpf_link__destroy(attach->links[--attach->link_count]);
}

void attach_close(struct attach *attach)
{
	if (!attach)
		return;
	attach_detach(attach, NULL, NULL);
	for (size_t i = 0; i < attach->library_count; i++) {
		uprobe_detach(attach->libraries[i].entries);
		uprobe_detach(attach->libraries[i].returns);
	}
	target_map_close(&attach->targets);
	mapped_close((void *)attach->loss, LOSS_BYTES);
	mapped_close(attach->runtime, sizeof(*attach->runtime));
	mapped_close(attach->spaces_changed, sizeof(uint32_t));
	bpf_object__close(attach->object);
	free(attach->libraries);
	free(attach);
}

/* The tracepoints' names, and the programs that they run. */
static const struct { const char *name, *program; } tracepoints[ATTACH_TRACEPOINTS] = {
	[ATTACH_IOCTL] = { "sys_exit_ioctl", "ioctl_tracepoint" },
	[ATTACH_MMAP] = { "sys_exit_mmap", "code_mapped" },
	[ATTACH_MPROTECT] = { "sys_exit_mprotect", "code_protected" },
};

void attach_find_tracepoints(int ids[ATTACH_TRACEPOINTS])
{
	for (int i = 0; i < ATTACH_TRACEPOINTS; i++)
		ids[i] = tracepoint_find("syscalls", tracepoints[i].name);
}

static struct bpf_link *attach_tracepoint(struct attach *attach, enum attach_tracepoint which)
{
	const char *name = tracepoints[which].program;
	struct bpf_program *program = bpf_object__find_program_by_name(attach->object, name);
	struct bpf_link *link;
	int event = attach->tracepoints[which] > 0 ? tracepoint_open(attach->tracepoints[which]) : -ENOENT;

	if (event < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, event);
	if (!link)
		close(event);
	return link;
}

/* Tells that stacks do without the tracepoint of a system call. */
static void limit_mappings(struct plan_limits *limits)
{
	struct gmt_limit *limit = &limits->list[limits->count];

	if (limits->count == PLAN_LIMITS_MAX)
		return;
	memset(limit, 0, sizeof(*limit));
	snprintf((char *)limit->what, sizeof(limit->what), "%s", GMT_UNNOTICED);
	snprintf((char *)limit->why, sizeof(limit->why), "the tracepoints of system calls cannot be opened: a kernel"
		 " with CONFIG_FTRACE_SYSCALLS=y and the right to mount tracefs are needed");
	limits->count++;
}

void attach_mappings(struct attach *attach)
{
	size_t missing = 0;

	if (attach->plan.stack_mode == GMT_STACKS_OFF)
		return;
	for (int i = ATTACH_MMAP; i <= ATTACH_MPROTECT; i++) {
		struct bpf_link *link;

		if (plan_leaves_out(&attach->plan, tracepoints[i].program))
			continue; /* which was told */
		link = attach_tracepoint(attach, (enum attach_tracepoint)i);
		if (link)
			attach->links[attach->link_count++] = link;
		missing += !link;
	}
	if (missing)
		limit_mappings(&attach->limits);
}

int attach_ioctls(struct attach *attach, char *cause, size_t cause_size)
{
	struct bpf_program *program = bpf_object__find_program_by_name(attach->object, "ioctl_sys_exit");
	struct bpf_link *link = NULL;

	if (!plan_leaves_out(&attach->plan, tracepoints[ATTACH_IOCTL].program))
		link = attach_tracepoint(attach, ATTACH_IOCTL);
	if (!link && !bpf_program__autoload(program))
		return programs_fail(-EACCES, cause, cause_size,
				   "the kernel's verifier refuses the programs for the driver's"
				   " system calls: a newer gpumemtrace may support this kernel");
	if (!link)
		link = bpf_program__attach(program);
	if (!link)
		return programs_fail(-errno, cause, cause_size, "system calls cannot be traced (%s): a kernel with"
				     " CONFIG_HAVE_SYSCALL_TRACEPOINTS=y is needed", strerror(errno));
	attach->links[attach->link_count++] = link;
	return 0;
}

void attach_arm(struct attach *attach)
{
	__atomic_store_n(&attach->runtime->armed, 1, __ATOMIC_RELEASE);
}

/* The generation is odd while probes of a library are placed. */
static void next_generation(struct attach *attach)
{
	__atomic_add_fetch(&attach->runtime->generation, 1, __ATOMIC_RELEASE);
}

static int program_fd(const struct attach *attach, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(attach->object, name));
}

#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h; libc has no name for this error */

/* A sentence without its subject, which the caller adds: the path may be one of /proc/self/fd. -ECANCELED: the file
 * alone is to blame, and any user can map such a file, so other files are probed on. -EIO: the kernel's error may pass;
 * its own number would say that the file could not be read. */
static int cannot_probe(int err, char *cause, size_t cause_size)
{
	if (err == -KERNEL_ENOTSUPP)
		return programs_fail(-ECANCELED, cause, cause_size,
				     "cannot be probed (the kernel supports no probe at one of the functions)");
	return programs_fail(parse_gave_up(err) ? -EIO : err, cause, cause_size, "cannot be probed (%s)%s",
			     strerror(-err), err == -EMFILE ? ": raise `ulimit -n`" : "");
}

static void keep_library(struct attach *attach, const struct attached_library *attached)
{
	attach->libraries = xgrow(attach->libraries, attach->library_count, sizeof(*attached));
	attach->libraries[attach->library_count++] = *attached;
}

static int attach_one(struct attach *attach, uint32_t number, const char *program, const struct uprobe_places *places,
		      char *cause, size_t cause_size)
{
	const struct bpf_program *found = bpf_object__find_program_by_name(attach->object, program);
	struct attached_library attached = { .number = number };
	int err;

	if (found && !bpf_program__autoload(found))
		return 0; /* attach_limits() names the program */
	err = found ? uprobe_attach(&attached.entries, bpf_program__fd(found), places, attach->multi) : -ENOENT;
	if (err)
		return cannot_probe(err, cause, cause_size);
	keep_library(attach, &attached);
	return 0;
}

int attach_hook(struct attach *attach, const char *path, uint32_t number, const struct library_hook *hook,
		uint64_t offset, char *cause, size_t cause_size)
{
	uint64_t cookie;
	const struct uprobe_places places = { .path = path, .offsets = &offset, .cookies = &cookie, .count = 1 };

	memcpy(&cookie, &hook->layout, sizeof(cookie));
	return attach_one(attach, number, hook->program, &places, cause, cause_size);
}

int attach_usdt(struct attach *attach, const char *path, uint32_t number, const struct usdt_place *place,
		const char *program, enum gmt_fw framework, char *cause, size_t cause_size)
{
	uint32_t slot = 0;
	uint64_t cookie;
	const struct uprobe_places places = {
		.path = path, .offsets = &place->offset, .counters = place->counter ? &place->counter : NULL,
		.cookies = &cookie, .count = 1,
	};
	int err = -ENOSPC;

	while (slot < GMT_USDT_PLACES && attach->usdt_files[slot])
		slot++;
	if (slot < GMT_USDT_PLACES)
		err = bpf_map_update_elem(attach_map_fd(attach, "usdt_places"), &slot, &place->usdt, BPF_ANY);
	if (err)
		return cannot_probe(err, cause, cause_size);
	attach->usdt_files[slot] = number;
	cookie = slot | (uint64_t)framework << 32;
	return attach_one(attach, number, program, &places, cause, cause_size);
}

struct library_places {
	uint64_t offsets[GMT_API_MAX], cookies[GMT_API_MAX];
	struct uprobe_places places;
};

/* GMT_API_NO_RETURN says which function gets which probe. */
static bool has_place(enum gmt_api api, bool at_return)
{
	uint32_t flags = gmt_probes[api].flags;

	return !(flags & GMT_API_NO_RETURN) || (!at_return && (flags & GMT_API_RELEASE));
}

static void find_places(struct library_places *found, const char *path, uint32_t number,
			const struct library *library, bool at_return)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < library->probe_count; i++) {
		if (!has_place(library->probes[i].id, at_return))
			continue;
		found->offsets[count] = library->probes[i].offset;
		found->cookies[count++] = library->probes[i].id | (uint64_t)number << 32;
	}
	found->places = (struct uprobe_places){
		.path = path, .offsets = found->offsets, .cookies = found->cookies, .count = count,
		.at_return = at_return,
	};
}

int attach_library(struct attach *attach, const char *path, uint32_t number, const struct library *library, char *cause,
		   size_t cause_size)
{
	struct library_places returns, entries;
	struct attached_library attached = { .number = number };
	int err;

	find_places(&returns, path, number, library, true);
	find_places(&entries, path, number, library, false);
	next_generation(attach);
	err = uprobe_attach(&attached.returns, program_fd(attach, "call_return"), &returns.places, attach->multi);
	if (!err)
		err = uprobe_attach(&attached.entries, program_fd(attach, "call_enter"), &entries.places,
				    attach->multi);
	if (err)
		uprobe_detach(attached.returns);
	next_generation(attach);
	if (err)
		return cannot_probe(err, cause, cause_size);
	keep_library(attach, &attached);
	return 0;
}

static bool has_number(const uint32_t *numbers, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

void attach_drop(struct attach *attach, const uint32_t *numbers, size_t count)
{
	struct attached_library *dropped = xcalloc(attach->library_count + 1, sizeof(*dropped));
	size_t kept = 0, out = 0;

	for (size_t i = 0; i < attach->library_count; i++) {
		if (has_number(numbers, count, attach->libraries[i].number))
			dropped[out++] = attach->libraries[i];
		else
			attach->libraries[kept++] = attach->libraries[i];
	}
	attach->library_count = kept;
	detach_at_once(dropped, out, true);
	detach_at_once(dropped, out, false);
	for (size_t i = 0; i < out; i++) {
		uprobe_detach(dropped[i].returns);
		uprobe_detach(dropped[i].entries);
	}
	free(dropped);
	for (size_t i = 0; i < GMT_USDT_PLACES; i++)
		if (attach->usdt_files[i] && has_number(numbers, count, attach->usdt_files[i]))
			attach->usdt_files[i] = 0;
}

const struct target_map *attach_targets(const struct attach *attach)
{
	return &attach->targets;
}

size_t attach_descriptors(const struct attach *attach)
{
	size_t count = 0;

	for (size_t i = 0; i < attach->library_count; i++)
		count += uprobe_descriptors(attach->libraries[i].entries) +
			 uprobe_descriptors(attach->libraries[i].returns);
	return count;
}

/* How often the kernel skipped a program that was already running on the CPU. */
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
	for (uint32_t cause = 0; cause < GMT_LOSS_COUNT; cause++)
		loss[cause] = attach->loss[cause];
	loss[GMT_LOSS_PROGRAM_SKIPPED] += skipped_runs(attach);
}

uint32_t *attach_spaces_changed(const struct attach *attach)
{
	return attach->spaces_changed;
}

int attach_map_fd(const struct attach *attach, const char *name)
{
	return bpf_object__find_map_fd_by_name(attach->object, name);
}

const struct plan *attach_plan(const struct attach *attach)
{
	return &attach->plan;
}

const struct plan_limits *attach_limits(const struct attach *attach)
{
	return &attach->limits;
}
