/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the BPF programs into the kernel, attaches them to their sources, names targets and detaches. File descriptors
 * hold everything: when this process ends, in whatever way, the kernel removes every probe.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_ATTACH_H
#define GPUMEMTRACE_LIVE_PROBE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/config.h>

#include "live/bpf/programs.h"

struct attach;

enum attach_tracepoint { ATTACH_IOCTL, ATTACH_MMAP, ATTACH_MPROTECT, ATTACH_TRACEPOINTS };

struct attach_options {
	struct programs_options programs; /* attach_type is set here, ring_bytes rounded up */
	bool no_uprobe_multi;        /* one perf event for each probe, as on kernels before 6.6 */
	int tracepoints[ATTACH_TRACEPOINTS]; /* attach_find_tracepoints()'s */
};

/* Loads the programs that the kernel accepts; attach_limits() lists the others. Returns 0 and *out; or -errno, and
 * one sentence with the remedy in cause. */
int attach_open(struct attach **out, const struct attach_options *options, char *cause, size_t cause_size);
void attach_close(struct attach *attach);   /* detaches everything */

/* Removes every probe. With uprobe_multi links all files' entry probes go at once, then all return probes (removal.h).
 * Before 6.6 the kernel removes one probe at a time, which takes seconds: `tell` (may be NULL)
 * gets the number of probes that are left. */
typedef void attach_left_fn(void *arg, size_t left);
void attach_detach(struct attach *attach, attach_left_fn *tell, void *arg);

/* Finds the numbers of the tracepoints; 0 or less: there is none, or this process lacks CAP_SYS_ADMIN. Without that for
 * ioctls the raw tracepoint of all system calls is used. */
void attach_find_tracepoints(int ids[ATTACH_TRACEPOINTS]);

/* Lets stacks notice code that takes the place of other code. If that is not possible, it becomes a limit. */
void attach_mappings(struct attach *attach);

/* The kernel layer: NVIDIA's ioctls. 0; -errno and a sentence. */
int attach_ioctls(struct attach *attach, char *cause, size_t cause_size);

/* The API layer: entry and return probes on one file, a libcuda. `number` is not 0, and tells the file's probes from
 * the probes of other files. On failure no probe stays attached. */
struct library;
int attach_library(struct attach *attach, const char *path, uint32_t number, const struct library *library, char *cause,
		   size_t cause_size);

/* Removes the probes of the files with these numbers: the return probes first, as they may do harm. A call that is
 * under way is lost. */
void attach_drop(struct attach *attach, const uint32_t *numbers, size_t count);

/* The framework layer: attaches the hook's program to the entry of one function of a file. The hook's layout describes
 * the function's arguments. `number`: see attach_library(). 0; -errno and a sentence. */
struct library_hook;
int attach_hook(struct attach *attach, const char *path, uint32_t number, const struct library_hook *hook,
		uint64_t offset, char *cause, size_t cause_size);

/* Attaches the named program to a static probe, whose place describes the arguments. -ENOSPC: there are too many
 * places. */
struct usdt_place;
int attach_usdt(struct attach *attach, const char *path, uint32_t number, const struct usdt_place *place,
		const char *program, enum gmt_fw framework, char *cause, size_t cause_size);

/* With config.trace_all: every process is a target from now on. */
void attach_arm(struct attach *attach);

/* The targets; valid until attach_close(). */
struct target_map;
const struct target_map *attach_targets(const struct attach *attach);
/* How many descriptors the probes take. */
size_t attach_descriptors(const struct attach *attach);

/* Losses counted in the kernel since the start. */
void attach_losses(const struct attach *attach, __u64 loss[GMT_LOSS_COUNT]);

/* The descriptor of a BPF map that the collector reads or fills, by its name; -ENOENT: there is none. */
int attach_map_fd(const struct attach *attach, const char *name);

/* The counter of the collector's changes to stack_spaces; BPF's memory, valid until attach_close(). */
uint32_t *attach_spaces_changed(const struct attach *attach);

/* The parts that were loaded, and the parts that the session has to do without. Valid until attach_close(). */
struct plan;
const struct plan *attach_plan(const struct attach *attach);
struct plan_limits;
const struct plan_limits *attach_limits(const struct attach *attach);

#endif
