/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The facts about a process in /proc. The parsers work on bytes alone, for tests and fuzzers; the readers around them
 * open the files. Nothing here keeps state.
 *
 * Ids belong to the pid namespace that /proc was mounted in: the collector's. target.h says what that means inside a
 * container.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_PROCFS_H
#define GPUMEMTRACE_LIVE_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/wire.h>

#include "base/maps.h"
#include "base/scan.h"

struct procfs_stat {
	int pid;
	int parent;
	char comm[GMT_COMM_BYTES];
	char state;               /* of the main thread: 'Z' zombie, 'X' dead, ... */
	bool ended;               /* all its threads have ended */
	bool kernel_thread;
	uint64_t start_ticks;     /* since boot, in clock ticks */
	uint64_t start_ns;        /* the same in nanoseconds: cut to whole ticks (10 ms) by the kernel */
};

static inline bool procfs_is_zombie(const struct procfs_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

/* The arguments and the environment of a process. The kernel starts no program with more (bprm_stack_limits(),
 * fs/exec.c: 3/4 of _STK_LIM). A process that lets the kernel show more (PR_SET_MM_ENV_END) hides its own settings. */
#define PROCFS_STRINGS_MAX (6u << 20)

#define PROCFS_NS_DEPTH 32        /* MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */

struct procfs_status {
	uint32_t tgid;
	uint32_t uid;             /* real */
	unsigned int ns_count;    /* namespaces from /proc's own down to the process's: at least 1 */
	uint32_t ns_pid[PROCFS_NS_DEPTH]; /* its pid in each; the last one is its own view */
	uint64_t cap_effective;
	unsigned int seccomp;     /* the thread's own: 0 none, 1 strict, 2 a filter (seccomp(2)'s modes) */
	bool shadow_stack;        /* likewise; x86-64, from Linux 6.6 on */
};

/* Finds the line "KEY:<blanks>VALUE"; *value is the value without its newline. */
bool procfs_find_line(const char *text, size_t len, const char *key, struct scan *value);

/* Each returns 0 or -EINVAL if the text is not what the kernel writes. */
int procfs_parse_stat(const char *text, size_t len, long ticks_per_second, struct procfs_stat *stat);
int procfs_parse_status(const char *text, size_t len, struct procfs_status *status);

/* The cgroup that says most about the owner of the process: the cgroup of v2, or the longest path on a host that
 * mixes versions. "" if there is none. Of a path that is too long, outer slices go first if the names of the inner ones
 * repeat them; the end is cut. */
void procfs_parse_cgroup(const char *text, size_t len, char *out, size_t size);

/* NUL-separated arguments, joined by spaces; control characters become '?'. */
void procfs_parse_cmdline(const char *bytes, size_t len, char *out, size_t size);

/* The command of a process as procfs_parse_cmdline() writes it; "" if it cannot be read. A child of Python's
 * multiprocessing has a command that says nothing of the program: out is the program's own command then, with
 * PROCFS_SPAWNED. `root`: "" for this machine. */
#define PROCFS_SPAWNED " [multiprocessing]"
/* `size` is more than PROCFS_SPAWNED takes. */
void procfs_command(const char *root, pid_t pid, char *out, size_t size);

/* Reads up to size - 1 bytes of a file and ends them with NUL; does not wait for a FIFO. Returns the count, or
 * -errno. */
ssize_t procfs_read(const char *path, char *buf, size_t size);
ssize_t procfs_read_pid(pid_t pid, const char *file, char *buf, size_t size);
/* ROOT/proc/PID/FILE; `root`: "" for this machine. */
ssize_t procfs_read_below(const char *root, pid_t pid, const char *file, char *buf, size_t size);

/* 0 or -errno; -ESRCH: there is no such process. `pid` may also be a thread's id. */
int procfs_stat(pid_t pid, struct procfs_stat *stat);
int procfs_stat_below(const char *root, pid_t pid, struct procfs_stat *stat); /* of ROOT/proc; -ENOENT: there is none */
int procfs_status(pid_t pid, struct procfs_status *status);

/* The thread whose files under /proc tell of a process's memory and root: the main thread; if it has ended while others
 * run, another one. `pid` if no thread is found. */
pid_t procfs_reader(pid_t pid);

/* Calls back for each mapping of the process; a non-zero answer stops the walk and is returned. */
typedef int (*procfs_map_cb)(const struct maps_line *map, void *arg);
int procfs_maps(pid_t pid, procfs_map_cb cb, void *arg);
int procfs_maps_of(const char *path, procfs_map_cb cb, void *arg);   /* of a file of this form */

/* Fills the record except hdr.ts_ns; 0 or -errno. Parts that cannot be read stay empty. */
int procfs_proc(pid_t pid, struct gmt_proc *proc);

#endif
