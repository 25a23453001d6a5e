// SPDX-License-Identifier: BSD-2-Clause
#include "privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/count.h"
#include "base/out_file.h"
#include "cli/cli.h"
#include "live/probe/permission.h"
#include "live/process/refused_calls.h"
#include "say.h"

#define CAP(name) (1ull << CAP_##name)

/* ---- capabilities ---- */

/* X(NAME): the capabilities that may be kept, and why. */
#define KEPT(X)                                                                   \
	X(BPF)                /* loads the programs, fills their maps */          \
	X(PERFMON)            /* attaches uprobes and tracepoints, watches mappings */ \
	X(SYS_PTRACE)         /* reads maps, links and memory of other users' processes */ \
	X(CHECKPOINT_RESTORE) /* opens a mapped file that was replaced: /proc/PID/map_files */ \
	X(DAC_READ_SEARCH)    /* opens files below private directories, reads /proc/PID/environ and fd */ \
	X(KILL)               /* passes signals on to a command that became another user */ \
	X(DAC_OVERRIDE)       /* writes where the user who ran sudo wants the files */ \
	X(FOWNER)             /* ... replaces another user's file in that user's sticky directory */ \
	X(SYS_ADMIN)          /* the kernel refuses the first four without it */

#define ALWAYS (CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(DAC_READ_SEARCH))

void privileges_names(uint64_t capabilities, char *text, size_t size)
{
	static const struct {
		int cap;
		const char *name;
	} names[] = {
#define X(name) { CAP_##name, #name },
		KEPT(X)
#undef X
	};
	size_t used = 0;

	snprintf(text, size, "none");
	for (size_t i = 0; i < COUNT(names); i++)
		if (capabilities >> names[i].cap & 1 && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", names[i].name);
}

/* ---- capabilities of the file ---- */

/* AT_SECURE: the execve() gave this process more than its user has. libc ignores LD_LIBRARY_PATH and its like then. A
 * security module may set it for root, too, who needs nobody's privileges. */
static bool are_lent(void)
{
	return getauxval(AT_SECURE) && getuid();
}

bool privileges_lay_aside(void)
{
	if (!are_lent())
		return false;
	confine_set_effective(0);
	return true;
}

void privileges_take_up(void)
{
	if (are_lent())
		confine_set_effective(UINT64_MAX);
}

const char *privileges_dangerous_option(const struct options *options)
{
	return options->nvml.path ? "--nvml" : options->driver_root ? "--driver-root" : NULL;
}

/* ---- what the outputs need ---- */

/* The capabilities that this thread lacks for writing the file. */
static uint64_t lacks_for_file(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;
	bool exists = !stat(path, &st);

	if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) && errno == EACCES ? CAP(DAC_OVERRIDE) : 0;
	if (exists && S_ISDIR(st.st_mode))
		snprintf(folder, sizeof(folder), "%s", path);
	else
		out_file_folder(path, folder);
	if (stat(folder, &st))
		return 0;
	return (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) && errno == EACCES ? CAP(DAC_OVERRIDE) : 0) |
	       (st.st_mode & S_ISVTX && st.st_uid != geteuid() ? CAP(FOWNER) : 0);
}

static uint64_t lacks_for_outputs(const struct options *options)
{
	uint64_t lacks = lacks_for_file(options->oom_dir.path ? options->oom_dir.path : ".");

	if (options->output && strcmp(options->output, "-"))
		lacks |= lacks_for_file(options->output);
	for (size_t i = 0; i < COUNT(options->files); i++)
		if (options->files[i] && strcmp(options->files[i], "-"))
			lacks |= lacks_for_file(options->files[i]);
	return lacks;
}

/* ---- limits ---- */

#define DESCRIPTORS (1 << 20)   /* fs.nr_open of an unchanged system: nobody may have more */

static void raise_limit(int resource, rlim_t wanted)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur >= wanted)
		return;
	if (limit.rlim_max >= wanted || setrlimit(resource, &(struct rlimit){ wanted, wanted })) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		setrlimit(resource, &limit);
	}
}

void privileges_drop(const struct options *options, bool multi)
{
	uint64_t had = confine_effective(), keep = (ALWAYS | (options->child ? CAP(KILL) : 0)) & had;

	raise_limit(RLIMIT_NOFILE, DESCRIPTORS);
	/* Before 5.11 BPF's memory counted against this limit. */
	raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
	confine_set_effective(keep);
	keep |= lacks_for_outputs(options) & had;
	if (permission_is_refused(multi))
		keep |= CAP(SYS_ADMIN) & had;
	confine_set_effective(had);
	if (confine_capabilities(keep) && confine_effective() & ~keep)
		say("capabilities that tracing does not need could not be dropped");
	if (options->verbose) {
		char names[256];

		privileges_names(confine_effective(), names, sizeof(names));
		say("capabilities kept: %s", names);
	}
}

void privileges_close(void)
{
	int err = refuse_calls();

	if (err)
		say("the system calls of this process could not be restricted (%s): tracing works, but with more"
		    " privileges than it needs", strerror(-err));
}
