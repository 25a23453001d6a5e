// SPDX-License-Identifier: BSD-2-Clause
/*
 * See targets.h. The order matters: both layers are in place before a process becomes a target, so that they begin at
 * one moment. The baseline is taken last, so that no memory falls between "before attach" and "since attach".
 */
#include "targets.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count.h"
#include "base/out.h"
#include "cli/cli.h"
#include "display.h"
#include "events.h"
#include "live/bpf/target_map.h"
#include "live/bpf/users.h"
#include "live/probe/attach.h"
#include "live/nvidia/nvml_sampler.h"
#include "live/probe/probed_files.h"
#include "live/process/descendants.h"
#include "live/process/find_facts.h"
#include "live/process/procfs.h"
#include "live/probe/probed_processes.h"
#include "live/process/roster.h"
#include "live/stacks/stack_thread.h"
#include "live/probe/target.h"
#include "live/select/selection.h"
#include "rescan.h"
#include "say.h"
#include "setup.h"

/* Whether the process may have memory that no record will show. Any process may have a stand-in's devices open, so
 * with a stand-in the library is the sign. */
static bool used_gpu(const struct session *session, int uses)
{
	int sign = session->driver.ctl_rdev ? TARGET_USES_LIBCUDA : TARGET_USES_DEVICE;

	return uses < 0 || uses & sign;
}

/* A process beyond its user's share is no target, which is counted. False: the process has ended. */
static bool make_target(struct session *session, const struct identity *identity)
{
	const struct target_map *targets = attach_targets(session->attach);
	struct procfs_status status;
	bool is_new = false;
	uint32_t user;

	if (procfs_status(identity->pid, &status))
		return false;
	if (!target_map_has(targets, identity->pid) && users_take_process(session->users, status.uid, &user)) {
		is_new = !target_map_add(targets, identity->pid, user);
		if (!is_new)
			users_return_process(session->users, user);
	}
	if (identity_is_there(identity))
		return true;
	/* The exit may have come before the process was a target: then the pid's next owner would be the target. */
	if (is_new && target_map_remove(targets, identity->pid))
		users_return_process(session->users, user);
	return false;
}

static void make_pid_target(struct session *session, pid_t pid)
{
	struct identity identity;

	if (identity_take(&session->identities, pid, &identity))
		return;
	make_target(session, &identity);
	identity_drop(&session->identities, &identity);
}

#define PS_LISTS "'gpumemtrace ps' lists the processes that use CUDA"

static int tell_no_target(pid_t pid, const struct target_info *info)
{
	const char *remedies[] = {
		[TARGET_HIDDEN] = "run gpumemtrace as root, outside of a container",
		[TARGET_MAINLESS] = "trace the program from its start ('gpumemtrace -- COMMAND')",
	};
	const char *remedy = (size_t)info->kind < sizeof(remedies) / sizeof(*remedies) ? remedies[info->kind] : NULL;

	if (info->kind == TARGET_THREAD)
		say("pid %d is a thread of process %u: use -p %u", pid, info->tgid, info->tgid);
	else
		say("pid %d %s: %s", pid, target_kind_text(info->kind), remedy ? remedy : PS_LISTS);
	return GMT_EXIT_TARGET;
}

static int tell_exited(pid_t pid)
{
	say("pid %d has exited", (int)pid);
	return GMT_EXIT_TARGET;
}

static int tell_unwatched(pid_t pid, int err)
{
	say("the end of process %d cannot be watched: %s", (int)pid, strerror(-err));
	return GMT_EXIT_FAILURE;
}

/* The end of a target is an event. */
static int watch_target(struct session *session, const struct identity *identity)
{
	int fd = (int)syscall(SYS_pidfd_open, identity->pid, 0), err = fd < 0 ? -errno : 0;

	/* The descriptor is of this process if the pid has not passed to another one until now. */
	if (err == -ESRCH || !identity_is_there(identity)) {
		if (fd >= 0)
			close(fd);
		return tell_exited(identity->pid);
	}
	if (!err)
		err = events_add(session, fd, SESSION_TARGET);
	if (err)
		return tell_unwatched(identity->pid, err);
	session->targets_left++;
	return 0;
}

static int add_watched(struct session *session, const struct identity *identity, const struct target_info *info)
{
	int uses = target_uses(identity->pid, &session->driver), err;
	char cause[SESSION_CAUSE];
	pid_t pid = identity->pid;

	if (uses >= 0 && !(uses & TARGET_USES_LIBCUDA)) {
		say("process %d (%.15s) has not loaded libcuda yet: tracing begins when the process or a child loads"
		    " libcuda. " PS_LISTS " now", pid, info->comm);
	} else {
		err = probing_add_process(session->probing, pid, cause, sizeof(cause));
		if (err < 0 && process_is_there(pid)) {
			session_tell(session, err, cause);
			if (err != -ENOEXEC)
				return GMT_EXIT_DENIED;
			uses &= ~TARGET_USES_LIBCUDA;
		}
	}
	if (!make_target(session, identity))
		return 0; /* the event of its end comes */
	if (!roster_is_live(session->roster, pid)) /* it may be a child of a target */
		roster_add(session->roster, pid, used_gpu(session, uses));
	stacking_process(session->stacking, pid);
	return 0;
}

/* `start_ticks`: the start of the process that was chosen; 0: any process with this pid. */
static int add_target(struct session *session, pid_t pid, uint64_t start_ticks)
{
	struct identity identity;
	struct target_info info;
	int status, err;

	target_inspect(pid, &info);
	if (info.kind != TARGET_PROCESS)
		return tell_no_target(pid, &info);
	err = identity_take(&session->identities, pid, &identity);
	if (err)
		return err == -ESRCH ? tell_exited(pid) : tell_unwatched(pid, err);
	if (start_ticks && identity.start_ticks != start_ticks)
		status = tell_exited(pid);
	else
		status = watch_target(session, &identity);
	if (!status)
		status = add_watched(session, &identity, &info);
	identity_drop(&session->identities, &identity);
	return status;
}

static int note_user(const struct target_library *library, void *arg)
{
	struct session *session = arg;

	/* A tracer that uses a GPU nevertheless is introduced by its first record or by its memory in NVML. */
	if (!library->kind || find_is_tracer("", library->pid))
		return 0;
	if (library->kind == &library_cuda && !roster_is_live(session->roster, library->pid))
		roster_add(session->roster, library->pid,
			   used_gpu(session, target_uses(library->pid, &session->driver)));
	stacking_process(session->stacking, library->pid);
	return 0;
}

static int add_all(struct session *session)
{
	char cause[SESSION_CAUSE];
	int err;

	err = probing_add_all(session->probing, cause, sizeof(cause));
	if (cause[0] && err != -ESRCH)
		session_tell(session, err < 0 ? err : -ECANCELED, cause);
	if (err < 0 && err != -ESRCH)
		return GMT_EXIT_DENIED;
	target_scan(note_user, session);
	attach_arm(session->attach);
	return 0;
}

static void add_library(struct session *session, const char *path)
{
	char cause[SESSION_CAUSE];

	int err = probing_add(session->probing, path, path, cause, sizeof(cause));

	if (err < 0)
		session_tell(session, err, cause);
}

/* Where a driver root may keep libcuda, in the order in which the NVIDIA container toolkit searches. */
static void add_root_library(struct session *session)
{
	static const char *const dirs[] = {
		"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/lib64",
	};
	char path[4096];

	for (size_t i = 0; i < COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s%s/libcuda.so.1", session->options->driver_root, dirs[i]);
		if (!access(path, R_OK)) {
			add_library(session, path);
			return;
		}
	}
}

/* Probes the library that most programs will load, so that their first calls are not missed. */
static void add_likely_libraries(struct session *session)
{
	const struct options *options = session->options;
	char path[4096];

	for (size_t i = 0; i < options->libcuda.count; i++)
		add_library(session, options->libcuda.texts[i]);
	if (cli_target_option(options) && !session->selection->group_count)
		return;
	if (!target_default_library(path, sizeof(path)))
		add_library(session, path);
	if (options->driver_root)
		add_root_library(session);
}

static int let_command_go(struct session *session)
{
	char *const *argv = session->options->child;
	int err;

	make_pid_target(session, session->command.pid);
	err = command_go(&session->command, display_relays(session->display));
	if (!err) {
		roster_expect(session->roster, session->command.pid);
		stacking_process(session->stacking, session->command.pid);
		return 0;
	}
	say("cannot run %s: %s", argv[0], strerror(-err));
	if (err == -ENOENT)
		return GMT_EXIT_COMMAND_NOT_FOUND;
	return err == -EACCES || err == -ENOEXEC ? GMT_EXIT_COMMAND_NOT_EXECUTABLE : GMT_EXIT_COMMAND_OURS;
}

static void attach_pid(void *arg, pid_t tgid)
{
	struct session *session = arg;

	make_pid_target(session, tgid);
}

/* ---- groups ---- */

/* Without libcuda the process is introduced when it, or a child, uses CUDA. */
static void join_session(struct session *session, const struct identity *identity)
{
	pid_t pid = identity->pid;
	int uses = target_uses(pid, &session->driver), err = 0;
	bool is_idle = uses >= 0 && !(uses & TARGET_USES_LIBCUDA);
	char cause[SESSION_CAUSE];

	if (!is_idle)
		err = probing_add_process(session->probing, pid, cause, sizeof(cause));
	is_idle |= err == -ENOEXEC;
	if (err < 0 && !is_idle && process_is_there(pid))
		session_tell(session, err, cause);
	if (!make_target(session, identity) || is_idle || find_is_tracer("", pid))
		return;
	if (!roster_is_live(session->roster, pid))
		roster_add(session->roster, pid, used_gpu(session, uses));
	stacking_process(session->stacking, (uint32_t)pid);
}

static bool is_selected(const struct session *session, pid_t pid)
{
	struct selection *selection = session->selection;

	return selection->group_count && find_selects("", selection->groups, selection->group_count, pid);
}

/* The process that was selected may have ended, and another one may have its pid: the one that is held is asked. */
static bool join_selected(struct session *session, pid_t pid)
{
	struct identity identity;
	bool joins;

	if (identity_take(&session->identities, pid, &identity))
		return false;
	joins = is_selected(session, pid) && identity_is_there(&identity);
	if (joins)
		join_session(session, &identity);
	identity_drop(&session->identities, &identity);
	return joins;
}

bool targets_join(struct session *session, pid_t pid)
{
	return is_selected(session, pid) && join_selected(session, pid);
}

static void see_member(pid_t pid, void *arg)
{
	struct session *session = arg;

	session->grouped++;
	if (!target_map_has(attach_targets(session->attach), pid))
		join_selected(session, pid);
}

void targets_look(struct session *session, bool at_once)
{
	struct selection *selection = session->selection;
	uint64_t start_ns = stream_now_ns();
	size_t before = session->grouped;

	if (!selection->group_count || (!at_once && start_ns < session->next_joining_ns))
		return;
	session->grouped = 0;
	/* Without descriptors /proc cannot be read for a while. */
	if (find_each("", selection->groups, selection->group_count, see_member, session))
		session->grouped = before;
	session->next_joining_ns = rescan_next(start_ns, stream_now_ns(), TARGETS_LOOK_NS);
}

/* ---- children ---- */

#define CHILDREN_LOOKS 4         /* at most, for children that come during a look */

struct kinship {
	struct session *session;
	size_t joined;
	int err;                 /* of the newest child that could not be held */
};

static void join_child(pid_t pid, pid_t parent, void *arg)
{
	struct kinship *kinship = arg;
	struct session *session = kinship->session;
	const struct target_map *targets = attach_targets(session->attach);
	struct procfs_stat stat;
	struct identity identity;
	int err;

	if (target_map_has(targets, pid))
		return;
	err = identity_take(&session->identities, pid, &identity);
	if (err) {
		kinship->err = err == -ESRCH ? kinship->err : err;
		return;
	}
	if (!procfs_stat(pid, &stat) && stat.parent == parent)
		join_session(session, &identity);
	/* A child beyond its user's share is none, and is not asked for again. */
	kinship->joined += target_map_has(targets, pid);
	identity_drop(&session->identities, &identity);
}

/* The children that a target has. A target's new children become targets by themselves, so the looks come to an end. */
static void join_children(struct session *session, pid_t pid)
{
	struct kinship kinship = { .session = session, .joined = 1 };
	int err = 0;

	for (int i = 0; i < CHILDREN_LOOKS && kinship.joined && !session->options->no_children; i++) {
		kinship.joined = 0;
		err = descendants_each(pid, join_child, &kinship);
	}
	err = err ? err : kinship.err;
	if (err)
		say("not all children of process %d are traced: %s", (int)pid, strerror(-err));
}

static int add_with_children(struct session *session, pid_t pid, uint64_t start_ticks)
{
	int status = add_target(session, pid, start_ticks);

	if (!status)
		join_children(session, pid);
	return status;
}

/* ---- all ---- */

int targets_select(struct selection *selection, const struct options *options)
{
	const struct selection_texts texts[] = {
		{ FIND_NAME, options->pids.names, options->pids.name_count },
		{ FIND_CONTAINER, options->containers.texts, options->containers.count },
		{ FIND_CGROUP, options->cgroups.texts, options->cgroups.count },
		{ FIND_UNIT, options->units.texts, options->units.count },
		{ FIND_SLURM_JOB, options->slurm_jobs.texts, options->slurm_jobs.count },
		{ FIND_POD, options->pods.texts, options->pods.count },
	};
	char *text, *rest, *line;
	struct out cause;
	int err;

	out_init_mem(&cause);
	err = selection_open(selection, texts, COUNT(texts), &cause);
	rest = text = out_take(&cause);
	while (err && (line = strsep(&rest, "\n")))
		say("%s", line);
	free(text);
	if (!err)
		return 0;
	return err == -ESRCH ? GMT_EXIT_TARGET : err == -EACCES ? GMT_EXIT_DENIED : GMT_EXIT_USAGE;
}

/* Without a screen nothing would be seen of a group until one of its processes loads libcuda. */
static void tell_idle_groups(const struct session *session)
{
	if (!session->grouped || roster_live_count(session->roster) || session->options->quiet)
		return;
	say("no process that was chosen has loaded libcuda yet: tracing begins when one of them does. " PS_LISTS
	    " now");
}

int targets_add(struct session *session)
{
	const struct selection *chosen = session->selection;
	const struct options *options = session->options;
	int status = 0;

	if (!options->all && !target_pids_are_initial()) {
		say("this container has a pid namespace of its own, and the kernel reports the host's pids: run"
		    " gpumemtrace on the host, or in a container started with --pid=host");
		return session_failure(session, GMT_EXIT_DENIED);
	}
	add_likely_libraries(session);
	if (options->child)
		return let_command_go(session);
	if (options->all)
		status = add_all(session);
	for (size_t i = 0; !status && i < options->pids.count; i++)
		status = add_with_children(session, options->pids.list[i], 0);
	for (size_t i = 0; !status && i < chosen->process_count; i++)
		status = add_with_children(session, chosen->processes[i].pid, chosen->processes[i].start_ticks);
	if (!status) {
		targets_look(session, true);
		tell_idle_groups(session);
		meter_sample(session->meter, GMT_NVML_BASELINE, false);
	}
	/* Attach to idle processes, too: their exits must be seen. */
	roster_each_live(session->roster, attach_pid, session);
	users_read(session->users, true);
	return status;
}
