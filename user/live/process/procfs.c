// SPDX-License-Identifier: BSD-2-Clause
/* Formats: proc_pid_maps(5), proc_pid_stat(5), proc_pid_status(5), cgroups(7). */
#include "live/process/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/terms/cgroup_parts.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD, include/linux/sched.h; in field 9 of stat */
#define PARENTS_MAX 8              /* of a child of multiprocessing, up to the program; else its own command is shown */
#define NS_PER_SECOND 1000000000ull

/* Fields are separated by single blanks; the number of each may be negative (nice, tpgid). */
static bool skip_fields(struct scan *c, int count)
{
	while (count-- > 0) {
		while (c->at < c->end && *c->at != ' ')
			c->at++;
		if (!scan_char(c, ' '))
			return false;
	}
	return true;
}

int procfs_parse_stat(const char *text, size_t len, long ticks_per_second, struct procfs_stat *stat)
{
	struct scan c = { text, text + len };
	const char *close = memrchr(text, ')', len); /* the name may hold blanks and brackets */
	uint64_t pid, parent, flags, threads;
	size_t comm_len;

	memset(stat, 0, sizeof(*stat));
	if (ticks_per_second <= 0 || !scan_number(&c, 10, &pid) || !scan_char(&c, ' ') ||
	    !scan_char(&c, '(') || !close || close < c.at)
		return -EINVAL;
	comm_len = (size_t)(close - c.at);
	if (comm_len >= sizeof(stat->comm))
		comm_len = sizeof(stat->comm) - 1; /* kernel threads show longer names */
	memcpy(stat->comm, c.at, comm_len);
	c.at = close + 1;
	if (!scan_char(&c, ' ') || c.at >= c.end)
		return -EINVAL;
	stat->state = *c.at;
	/* fields: 3 state, 4 ppid, 9 flags, 20 num_threads, 22 starttime */
	if (!skip_fields(&c, 1) || !scan_number(&c, 10, &parent) || !skip_fields(&c, 5) ||
	    !scan_number(&c, 10, &flags) || !skip_fields(&c, 11) ||
	    !scan_number(&c, 10, &threads) || !skip_fields(&c, 2) ||
	    !scan_number(&c, 10, &stat->start_ticks))
		return -EINVAL;
	stat->pid = (int)pid;
	stat->parent = (int)parent;
	stat->kernel_thread = flags & KERNEL_THREAD;
	/* The state is the main thread's: if it ends first, it is a zombie until the other threads have ended. */
	stat->ended = procfs_is_zombie(stat) && threads <= 1;
	stat->start_ns = (uint64_t)((unsigned __int128)stat->start_ticks * NS_PER_SECOND /
				    (unsigned long)ticks_per_second);
	return 0;
}

bool procfs_find_line(const char *text, size_t len, const char *key, struct scan *value)
{
	size_t key_len = strlen(key);
	struct scan all = { text, text + len };

	while (scan_line(&all, value)) {
		if ((size_t)(value->end - value->at) > key_len && !memcmp(value->at, key, key_len) &&
		    value->at[key_len] == ':') {
			value->at += key_len + 1;
			scan_blanks(value);
			return true;
		}
	}
	return false;
}

static bool find_number(const char *text, size_t len, const char *key, unsigned int base, uint64_t *number)
{
	struct scan value;

	return procfs_find_line(text, len, key, &value) && scan_number(&value, base, number);
}

int procfs_parse_status(const char *text, size_t len, struct procfs_status *status)
{
	struct scan value;
	uint64_t tgid, uid, pid, seccomp;

	memset(status, 0, sizeof(*status));
	if (!find_number(text, len, "Tgid", 10, &tgid) || !find_number(text, len, "Uid", 10, &uid))
		return -EINVAL;
	status->tgid = (uint32_t)tgid;
	status->uid = (uint32_t)uid;
	find_number(text, len, "CapEff", 16, &status->cap_effective);
	if (find_number(text, len, "Seccomp", 10, &seccomp))
		status->seccomp = (unsigned int)seccomp;
	/* words such as "shstk wrss " (arch_proc_pid_thread_features(), arch/x86/kernel/cpu/proc.c) */
	if (procfs_find_line(text, len, "x86_Thread_features", &value))
		status->shadow_stack = memmem(value.at, (size_t)(value.end - value.at), "shstk", 5) != NULL;
	/* NStgid is the same for all threads of the process, NSpid is the thread's own */
	if (procfs_find_line(text, len, "NStgid", &value)) {
		while (status->ns_count < PROCFS_NS_DEPTH && scan_number(&value, 10, &pid)) {
			status->ns_pid[status->ns_count++] = (uint32_t)pid;
			scan_blanks(&value);
		}
	}
	if (!status->ns_count) /* a kernel without CONFIG_PID_NS */
		status->ns_pid[status->ns_count++] = status->tgid;
	return 0;
}

/* Whether the first slice of a path is named by the second slice, too: "/a.slice/a-b.slice". */
static bool is_implied(const struct scan *path)
{
	static const char slice[] = ".slice/";
	const char *end = memmem(path->at, (size_t)(path->end - path->at), slice, sizeof(slice) - 1);
	size_t name = end ? (size_t)(end - path->at) : 0;
	const char *next = end ? end + sizeof(slice) - 1 : path->end;

	return name > 1 && !memchr(path->at + 1, '/', name - 1) && (size_t)(path->end - next) > name &&
	       !memcmp(next, path->at + 1, name - 1) && next[name - 1] == '-';
}

void procfs_parse_cgroup(const char *text, size_t len, char *out, size_t size)
{
	struct scan all = { text, text + len }, path, best = { text, text };

	while (cgroup_next_path(&all, &path))
		if (path.end - path.at > best.end - best.at)
			best = path;
	while ((size_t)(best.end - best.at) >= size && is_implied(&best))
		best.at = memchr(best.at + 1, '/', (size_t)(best.end - best.at - 1));
	snprintf(out, size, "%.*s", (int)(best.end - best.at), best.at);
}

void procfs_parse_cmdline(const char *bytes, size_t len, char *out, size_t size)
{
	size_t used = 0;

	while (len && !bytes[len - 1])
		len--;
	for (size_t i = 0; i < len && used + 1 < size; i++) {
		unsigned char ch = (unsigned char)bytes[i];

		out[used++] = !ch ? ' ' : ch < 0x20 || ch == 0x7f ? '?' : (char)ch;
	}
	if (size)
		out[used] = '\0';
}

ssize_t procfs_read(const char *path, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t got = 0;
	int err = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	while (used + 1 < size) {
		got = read(fd, buf + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (got < 0)
		err = -errno;
	close(fd);
	buf[used] = '\0';
	return err ? err : (ssize_t)used;
}

ssize_t procfs_read_below(const char *root, pid_t pid, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, file);
	return procfs_read(path, buf, size);
}

ssize_t procfs_read_pid(pid_t pid, const char *file, char *buf, size_t size)
{
	ssize_t got = procfs_read_below("", pid, file, buf, size);

	return got == -ENOENT ? -ESRCH : got; /* the directory goes with the process */
}

int procfs_stat_below(const char *root, pid_t pid, struct procfs_stat *stat)
{
	char text[1024];
	ssize_t len = procfs_read_below(root, pid, "stat", text, sizeof(text));

	return len < 0 ? (int)len : procfs_parse_stat(text, (size_t)len, sysconf(_SC_CLK_TCK), stat);
}

int procfs_stat(pid_t pid, struct procfs_stat *stat)
{
	int err = procfs_stat_below("", pid, stat);

	return err == -ENOENT ? -ESRCH : err; /* the directory goes with the process */
}

int procfs_status(pid_t pid, struct procfs_status *status)
{
	char text[16384]; /* Cpus_allowed grows with the machine, and the shadow stack is behind it */
	ssize_t len = procfs_read_pid(pid, "status", text, sizeof(text));

	return len < 0 ? (int)len : procfs_parse_status(text, (size_t)len, status);
}

/* ---- commands ---- */

#define COMMAND_BYTES 4096

static void read_joined(const char *root, pid_t pid, char command[COMMAND_BYTES])
{
	char text[COMMAND_BYTES];
	ssize_t len = procfs_read_below(root, pid, "cmdline", text, sizeof(text));

	procfs_parse_cmdline(text, len > 0 ? (size_t)len : 0, command, COMMAND_BYTES);
}

/* `python -c "from multiprocessing.spawn import spawn_main; ..."` and the like (CPython 3.11, Lib/multiprocessing). */
static bool is_of_multiprocessing(const char *command)
{
	static const char *const starts[] = {
		" -c from multiprocessing.spawn import spawn_main;",
		" -c from multiprocessing.forkserver import main;",
		" -c from multiprocessing.resource_tracker import main;",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strstr(command, starts[i]))
			return true;
	return false;
}

static ssize_t read_program(const char *root, pid_t pid, char program[PATH_MAX])
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/exe", root, (int)pid);
	return readlink(path, program, PATH_MAX);
}

/* Whether both run the same file: a process that has taken in an orphan mostly runs another. */
static bool has_same_program(const char *root, pid_t one, pid_t other)
{
	char a[PATH_MAX], b[PATH_MAX];
	ssize_t a_len = read_program(root, one, a), b_len = read_program(root, other, b);

	return a_len > 0 && a_len == b_len && !memcmp(a, b, (size_t)a_len);
}

/* The command of the program that has started the process by multiprocessing. False: it is not known. */
static bool read_starter(const char *root, pid_t pid, char command[COMMAND_BYTES])
{
	struct procfs_stat stat, parent;
	pid_t at = pid;

	if (procfs_stat_below(root, pid, &stat))
		return false;
	/* A parent has started earlier: else another process has the pid now. */
	for (int level = 0; level < PARENTS_MAX; level++, stat = parent) {
		if (stat.parent <= 1 || procfs_stat_below(root, stat.parent, &parent) ||
		    parent.start_ticks > stat.start_ticks || !has_same_program(root, at, stat.parent))
			return false;
		at = stat.parent;
		read_joined(root, at, command);
		if (!is_of_multiprocessing(command))
			return command[0];
	}
	return false;
}

void procfs_command(const char *root, pid_t pid, char *out, size_t size)
{
	char own[COMMAND_BYTES], starter[COMMAND_BYTES];

	read_joined(root, pid, own);
	if (is_of_multiprocessing(own) && read_starter(root, pid, starter))
		snprintf(out, size, "%.*s" PROCFS_SPAWNED, (int)(size - sizeof(PROCFS_SPAWNED)), starter);
	else
		snprintf(out, size, "%s", own);
}

/* ---- mappings ---- */

pid_t procfs_reader(pid_t pid)
{
	struct procfs_stat stat;
	struct dirent *entry;
	pid_t found = pid;
	char path[64];
	DIR *tasks;

	if (procfs_stat(pid, &stat) || !procfs_is_zombie(&stat) || stat.ended)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && found == pid && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !procfs_stat(tid, &stat) && !procfs_is_zombie(&stat))
			found = tid;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

int procfs_maps(pid_t pid, procfs_map_cb cb, void *arg)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return procfs_maps_of(path, cb, arg);
}

struct each_map {
	procfs_map_cb cb;
	void *arg;
};

static int see_row(const char *text, size_t len, void *arg)
{
	const struct each_map *each = arg;
	struct maps_line map;

	return maps_parse_line(text, len, &map) ? 0 : each->cb(&map, each->arg);
}

int procfs_maps_of(const char *path, procfs_map_cb cb, void *arg)
{
	struct each_map each = { cb, arg };
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = maps_read(fd, see_row, &each);
	close(fd);
	return err;
}

int procfs_proc(pid_t pid, struct gmt_proc *proc)
{
	struct procfs_stat stat;
	struct procfs_status status;
	char text[4096];
	ssize_t len;
	int err;

	memset(proc, 0, sizeof(*proc));
	proc->hdr.size = sizeof(*proc);
	proc->hdr.kind = GMT_KIND_PROC;
	proc->hdr.tgid = proc->hdr.tid = (uint32_t)pid;
	proc->ns_pid = (uint32_t)pid;
	err = procfs_stat(pid, &stat);
	if (err)
		return err;
	proc->start_ns = stat.start_ns;
	proc->parent_tgid = (uint32_t)stat.parent;
	memcpy(proc->comm, stat.comm, sizeof(proc->comm));
	if (!procfs_status(pid, &status)) {
		proc->uid = status.uid;
		proc->ns_pid = status.ns_pid[status.ns_count - 1];
	}
	len = procfs_read_pid(pid, "cgroup", text, sizeof(text));
	if (len > 0)
		procfs_parse_cgroup(text, (size_t)len, (char *)proc->cgroup, sizeof(proc->cgroup));
	procfs_command("", pid, (char *)proc->cmdline, sizeof(proc->cmdline));
	return 0;
}
