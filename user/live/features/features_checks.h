/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the checks, one function for each fact, and helpers to check and state facts. features.c runs the checks.
 * The checks change nothing on the machine and print nothing.
 */
#ifndef GPUMEMTRACE_LIVE_FEATURES_FEATURES_CHECKS_H
#define GPUMEMTRACE_LIVE_FEATURES_FEATURES_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/terms/feature.h"

struct parse_status;
struct trial;

struct features_where {
	const char *root;        /* driver root, "" the real system */
	const char *nvml;        /* library to open, NULL the usual places */
	const char *system;      /* before /proc and /sys, "" the real system: for tests */
	const char *return_probes; /* for trial_assume(); NULL: return probes are tried */
	bool no_uprobe_multi;    /* as in attach.h; the next members as in programs.h */
	const char *btf, *refused;
};

/* The kernel behind the system calls. */
enum features_kernel { FEATURES_LINUX, FEATURES_WSL, FEATURES_GVISOR };

/* X(check, name, can_block): every check, in the order to show them. can_block: FEATURE_MISSING prevents tracing.
 * The check of the programs does not block: when the programs could not be loaded, this check cannot say why. */
#define FEATURE_CHECKS(X)                                         \
	X(kernel, "kernel", true)                                 \
	X(privileges, "privileges", true)                         \
	X(btf, "BTF", true)                                       \
	X(uprobes, "uprobes", true)                               \
	X(lockdown, "lockdown", true)                             \
	X(bpf, "BPF", true)                                       \
	X(jit, "BPF JIT", true)                                   \
	X(helpers, "BPF helpers", true)                           \
	X(return_probes, "return probes", false)                  \
	X(stacks, "stacks", false)                                \
	X(programs, "BPF programs", false)                        \
	X(watch, "mapping events", false)                         \
	X(readers, "file readers", false)                         \
	X(tracefs, "tracefs", false)                              \
	X(sysctls, "sysctls", false)                              \
	X(memlock, "memlock", false)                              \
	X(pid_namespace, "pid namespace", false)                  \
	X(container, "container", false)                          \
	X(driver, "NVIDIA driver", false)                         \
	X(uvm, "nvidia-uvm", false)                               \
	X(nvml, "NVML", false)                                    \
	X(libcuda, "libcuda", false)

#define X(check, name, can_block) void feature_check_##check(struct feature *, const struct features_where *);
FEATURE_CHECKS(X)
#undef X

/* These fill a fact: its state and detail, and its remedy. */
void feature_say(struct feature *feature, enum feature_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void feature_advise(struct feature *feature, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A path of /proc or /sys as this system has it. */
struct feature_path {
	char text[512];
};
struct feature_path feature_path(const struct features_where *where, const char *path);

/* A small file's text without its last newline; NULL if the file cannot be read. */
const char *feature_text(const struct features_where *where, const char *path, char *buf, size_t size);
bool feature_exists(const struct features_where *where, const char *path);

enum features_kernel feature_kernel(const struct features_where *where);

/*
 * These functions judge text and numbers. They are pure, for tests. Each fills state, detail and remedy. NULL stands
 * for text that could not be read, errno 0 for success. memlock: the limit in bytes; compiled: whether the kernel
 * compiled a program to machine code, -1 unknown; reads_kernel: whether the missing helper reads kernel memory.
 */
void features_judge_kernel(struct feature *feature, const char *release, enum features_kernel kernel);
enum features_kernel features_kernel_of(const char *proc_version, bool has_marker);
void features_judge_capabilities(struct feature *feature, uint64_t effective, bool initial_user_ns, bool root);
void features_judge_btf(struct feature *feature, int err, enum features_kernel kernel);
void features_judge_uprobes(struct feature *feature, const char *type, bool multi);
void features_judge_lockdown(struct feature *feature, const char *text);
void features_judge_bpf(struct feature *feature, int err, uint64_t memlock);
void features_judge_jit(struct feature *feature, const char *text, int compiled);
void features_judge_helper(struct feature *feature, const char *missing, bool reads_kernel);
void features_judge_readers(struct feature *feature, int err, const struct parse_status *status);
void features_judge_return_probes(struct feature *feature, const struct trial *trial);

#endif
