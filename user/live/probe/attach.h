/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs in the kernel: prepare (load), attach sources, name targets, detach. Everything is
 * held by file descriptors: when this process ends, however it ends, the kernel removes every probe.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_ATTACH_H
#define GPUMEMTRACE_LIVE_PROBE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/config.h>

struct attach;

struct attach_options {
	struct gmt_config config;    /* as BPF gets it; wake_bytes is set from ring_bytes */
	uint64_t ring_bytes;         /* rounded up to a power of two and to pages */
	bool no_uprobe_multi;        /* one perf event for each probe, as on kernels before 6.6 */
	bool no_tracepoint;          /* the raw tracepoint, as where there is no tracefs */
	bool verbose;                /* libbpf's messages, and the verifier's, to stderr */
	const char *btf;             /* see programs.h */
	const char *refused;
};

/* Loads the programs, or what of them the kernel takes: attach_limits(). 0 and *out; -errno and one sentence with the
 * remedy in cause. */
int attach_open(struct attach **out, const struct attach_options *options, char *cause, size_t cause_size);
void attach_close(struct attach *attach);   /* detaches everything */

/* Whether all probes of a file are one link, which goes in milliseconds. */
bool attach_goes_at_once(const struct attach *attach);

/* Removes every probe. Where the kernel removes them one at a time (before 6.6), that takes seconds: `tell` (NULL:
 * nobody) hears how many are left. */
typedef void attach_left_fn(void *arg, size_t left);
void attach_detach(struct attach *attach, attach_left_fn *tell, void *arg);

/* The kernel layer: NVIDIA's ioctls. -errno and a sentence. */
int attach_ioctls(struct attach *attach, char *cause, size_t cause_size);

/* The API layer: entry and return probes on one file, a libcuda. `number` tells the file's probes from those of other
 * files and is not 0. On failure none of them stays attached. */
struct library;
int attach_library(struct attach *attach, const char *path, uint32_t number, const struct library *library, char *cause,
		   size_t cause_size);

/* Removes the probes of that file: the return probes first, as they may do harm. A call that is under way is lost. */
void attach_drop_library(struct attach *attach, uint32_t number);

/* The framework layer: the named program at the entry of one function of a file, whose arguments it finds by the
 * layout. -errno and a sentence. */
int attach_hook(struct attach *attach, const char *path, const char *program, uint64_t offset,
		struct gmt_fw_layout layout, char *cause, size_t cause_size);

/* The same at a static probe; the program finds the arguments by its cookie. -ENOSPC: there are too many. */
struct usdt_place;
int attach_usdt(struct attach *attach, const char *path, const char *program, const struct usdt_place *place,
		enum gmt_fw framework, char *cause, size_t cause_size);

/* With config.trace_all: every process is a target from now on. */
void attach_arm(struct attach *attach);

/* Takes a process (initial pid namespace) into the traced ones; it leaves them when it exits. */
int attach_target(struct attach *attach, pid_t tgid);
bool attach_is_target(const struct attach *attach, pid_t tgid);

/* Losses counted in the kernel since the start. */
void attach_losses(const struct attach *attach, __u64 loss[GMT_LOSS_COUNT]);

/* A map of the BPF side by its name, for what the collector fills in; -ENOENT: there is none. */
int attach_map_fd(const struct attach *attach, const char *name);

/* Counts what the collector changes of stack_spaces; BPF's memory, valid until attach_close(). */
uint32_t *attach_spaces_changed(const struct attach *attach);

/* What was loaded, and what the session goes without. Valid until attach_close(). */
struct plan;
const struct plan *attach_plan(const struct attach *attach);
struct plan_limits;
const struct plan_limits *attach_limits(const struct attach *attach);

#endif
