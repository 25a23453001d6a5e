/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes to trace and the files to probe that they have mapped. Every function looks at /proc afresh:
 * no state, and a process that goes away in between is -ESRCH, not a surprise.
 *
 * Pid namespaces: all pids here are those of the collector's namespace, and so of the /proc it sees.
 * BPF programs report pids of the initial namespace. Both are the same on a host and in a container
 * started with the host's pid namespace. In any other container /proc does not tell the initial pid
 * (NSpid begins at the namespace of the reader), so target_init_pid() answers -ENOTSUP there.
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
	X(HIDDEN, "cannot be inspected (permission, or hidepid)")
enum target_kind {
#define X(name, text) TARGET_##name,
	TARGET_KINDS(X)
#undef X
};

struct target_info {
	enum target_kind kind;
	uint32_t tgid;           /* the process it belongs to; 0 for NONE */
	uint32_t ns_pid;         /* what it calls itself: differs from tgid in a nested pid namespace */
	bool nested;             /* it is in a pid namespace below the collector's */
	uint64_t start_ns;       /* CLOCK_BOOTTIME, cut to clock ticks (10 ms) */
	char comm[GMT_COMM_BYTES];
};

void target_inspect(pid_t pid, struct target_info *info);
const char *target_kind_text(enum target_kind kind);

/* Whether the collector's pids are those of the initial pid namespace. */
bool target_pids_are_initial(void);

/* The pid as BPF sees it, or -ENOTSUP. */
pid_t target_init_pid(pid_t pid);

/* Calls back for the pid of each process that /proc shows; a non-zero answer stops and is returned. -errno of
 * opening /proc. */
int target_each_process(int (*cb)(pid_t pid, void *arg), void *arg);

/* ---- does it use CUDA? ---- */

enum target_use {
	TARGET_USES_LIBCUDA = 1, /* has a libcuda mapped */
	TARGET_USES_DEVICE = 2,  /* holds a device of the NVIDIA driver open: cuInit has run */
};

/* enum target_use, or-ed; 0 for neither; -errno. `driver` may be NULL: names are compared then. */
int target_uses(pid_t pid, const struct driver_info *driver);

/* ---- its libraries ---- */

/* A file of a kind that is probed (live/framework/library_kinds.h), mapped by a process. */
struct target_library {
	pid_t pid;
	const struct library_kind *kind;
	const char *path;        /* as the process names it, in its own mount namespace */
	bool deleted;            /* replaced on disk since (driver upgrade); fd is still the mapped one */
	int fd;                  /* open for reading; closed after the callback: dup() to keep it */
	char attach_path[32];    /* "/proc/self/fd/N": names the same file as long as fd is open */
};

/* Non-zero stops the walk and is what it returns. */
typedef int (*target_library_cb)(const struct target_library *library, void *arg);

/* Each such file the process has mapped executable, once. 0, the callback's answer, or -errno:
 * -ESRCH gone, -EACCES not allowed to look. */
int target_libraries(pid_t pid, target_library_cb cb, void *arg);

/* The same over all processes but the caller's own (NVML loads libcuda into that). Those that vanish or
 * may not be looked at are passed over and, the latter, counted in *hidden (may be NULL). */
int target_scan(target_library_cb cb, void *arg, size_t *hidden);

/* ---- a command that does not run yet ---- */

/*
 * The libcuda that a command with this environment (NULL: ours) would load by dlopen("libcuda.so.1"):
 * LD_LIBRARY_PATH, the cache of ldconfig, the default directories, WSL's. A guess: RPATH and a
 * program's own dlopen() of a full path are not known before it runs. 0 or -ENOENT.
 */
int target_default_library(char *const envp[], char *path, size_t size);

/* Looks `name` up in the bytes of /etc/ld.so.cache: the first 64-bit entry that exists. */
bool target_search_cache(const void *cache, size_t len, const char *name, char *path, size_t size);

#endif
