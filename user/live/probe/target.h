/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds processes to trace, and the files to probe that these processes have mapped. Every function reads /proc anew
 * and keeps no state. -ESRCH: the process went away meanwhile.
 *
 * Pid namespaces: all pids here are those of the collector's namespace, as in the /proc that the collector sees. BPF
 * programs report pids of the initial namespace. Both are the same on a host and in a container started with the
 * host's pid namespace. In other containers /proc does not show the initial pid (NSpid begins at the namespace of the
 * reader): there target_pids_are_initial() is false.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_TARGET_H
#define GPUMEMTRACE_LIVE_PROBE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "live/nvidia/driver.h"
#include "live/framework/library_kinds.h"

/* ---- is this a process? ---- */

/* X(NAME, text): what a pid can be. The text fits into "pid 123 <text>". */
#define TARGET_KINDS(X)                                                           \
	X(PROCESS, "is a process")                                                \
	X(NONE, "does not exist")                                                 \
	X(THREAD, "is a thread, not a process")                                   \
	X(KERNEL, "is a kernel thread")                                           \
	X(ZOMBIE, "has exited and waits for its parent (zombie)")                 \
	X(MAINLESS, "runs without its main thread, which has ended, so nothing of it can be read") \
	X(HIDDEN, "cannot be inspected (permission, or hidepid)")
enum target_kind {
#define X(name, text) TARGET_##name,
	TARGET_KINDS(X)
#undef X
};

struct target_info {
	enum target_kind kind;
	uint32_t tgid;           /* the process that the pid belongs to; 0 for NONE */
	char comm[GMT_COMM_BYTES];
};

void target_inspect(pid_t pid, struct target_info *info);
const char *target_kind_text(enum target_kind kind);

/* Whether the collector's pids are those of the initial pid namespace. */
bool target_pids_are_initial(void);

/* Calls back for the pid of each process that /proc shows; a non-zero answer stops the walk and is returned. -errno:
 * /proc cannot be opened. */
int target_each_process(int (*cb)(pid_t pid, void *arg), void *arg);

/* ---- does it use CUDA? ---- */

enum target_use {
	TARGET_USES_LIBCUDA = 1, /* has a libcuda mapped */
	TARGET_USES_DEVICE = 2,  /* holds a device of the NVIDIA driver open: cuInit has run */
};

/* Returns bits of enum target_use, 0 for neither, or -errno. `driver` may be NULL: names are compared then. */
int target_uses(pid_t pid, const struct driver_info *driver);

/* ---- its libraries ---- */

/* A file of a kind that is probed (live/framework/library_kinds.h), mapped by a process. */
struct target_library {
	pid_t pid;
	int err;                 /* 0; else why the file cannot be opened now (target_may_pass()): there is no
				  * attach_path. Then `kind` may be NULL: the process's mappings cannot be read now. */
	const struct library_kind *kind;
	const char *path;        /* as the process names it, in its own mount namespace */
	uint64_t ino;            /* as the process's mappings have it: below an overlay, not the file's own */
	char attach_path[32];    /* "/proc/self/fd/N": the mapped file, even if another file has its path now (driver
				  * upgrade). Valid during the callback. */
};

/* A non-zero answer stops the walk, which returns the answer. */
typedef int (*target_library_cb)(const struct target_library *library, void *arg);

/* Whether an error may pass, or concerns one process: descriptors have run out, a file system does not answer, or the
 * mappings are too many. */
bool target_may_pass(int err);

/* Calls back once for each such file that the process has mapped as code. 0, the callback's answer, or -errno:
 * -ESRCH: the process is gone; -EACCES: it may not be inspected. */
int target_libraries(pid_t pid, target_library_cb cb, void *arg);

/* Walks the libraries of all processes except the caller's own, into which NVML loads libcuda. Processes that vanish
 * or may not be inspected are skipped. */
int target_scan(target_library_cb cb, void *arg);

/* ---- a command that does not run yet ---- */

/*
 * The libcuda that a command with our environment would load by dlopen("libcuda.so.1"): LD_LIBRARY_PATH, the cache of
 * ldconfig, the default directories, WSL's. This is a guess: RPATH and a program's own dlopen() of a full path are not
 * known before the program runs. Returns 0 or -ENOENT.
 */
int target_default_library(char *path, size_t size);

/* Looks `name` up in the bytes of /etc/ld.so.cache: the first 64-bit entry that exists. */
bool target_search_cache(const void *cache, size_t len, const char *name, char *path, size_t size);

#endif
