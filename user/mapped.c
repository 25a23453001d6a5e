// SPDX-License-Identifier: BSD-2-Clause
#include "mapped.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "live/bpf/target_map.h"
#include "live/framework/library_kinds.h"
#include "live/probe/attach.h"
#include "live/probe/mmap_watch.h"
#include "live/probe/probed_files.h"
#include "live/probe/probed_processes.h"
#include "live/process/roster.h"
#include "live/stacks/stack_thread.h"
#include "rescan.h"
#include "setup.h"
#include "targets.h"

/* Whether a process that maps libcuda belongs to a selected group: then it is a target from now on. */
static bool joins_group(struct session *session, pid_t pid)
{
	uint64_t start_ns = stream_now_ns();

	if (!rescan_may_look(session, pid, false))
		return false;
	if (targets_join(session, pid))
		return true; /* the look at its libraries follows */
	rescan_looked(session, pid, start_ns);
	return false;
}

static void code_mapped(const struct watch_mapping *mapping, void *arg)
{
	const struct library_kind *kind = library_kind_of(mapping->path, strlen(mapping->path));
	struct session *session = arg;
	char cause[SESSION_CAUSE];
	bool is_late = kind == &library_cuda && !probing_has_inode(session->probing, mapping->ino);
	uint64_t start_ns;
	int err;

	/* A process that maps a probed file runs into the probes, target or not. */
	if (probing_guard(session->probing, mapping, cause, sizeof(cause)))
		rescan_give_up(session, cause);
	if (!kind && !stacking_is_sign(mapping->path) &&
	    !stacking_knows(session->stacking, mapping->pid))
		return;
	/* NVML maps a libcuda into this process. */
	if ((pid_t)mapping->pid == getpid() ||
	    (!session->options->all && !target_map_has(attach_targets(session->attach), (pid_t)mapping->pid) &&
	     (kind != &library_cuda || !joins_group(session, (pid_t)mapping->pid))))
		return;
	if (kind == &library_cuda)
		stacking_process(session->stacking, mapping->pid);
	else
		stacking_mapped(session->stacking, mapping->pid);
	if (!kind || !rescan_may_look(session, (pid_t)mapping->pid, is_late))
		return;
	start_ns = stream_now_ns();
	/* A process that has ended needs no probes. -ENOEXEC: the real libcuda may come yet, as behind WSL's stub. */
	err = probing_add_process(session->probing, mapping->pid, cause, sizeof(cause));
	if (err < 0 && err != -ENOEXEC && process_is_there(mapping->pid))
		session_tell(session, err, cause);
	if (is_late && err != -ENOEXEC)
		rescan_note_late(session, (pid_t)mapping->pid);
	rescan_looked(session, (pid_t)mapping->pid, start_ns);
}

void mapped_read(struct session *session)
{
	uint64_t lost = 0;

	watch_read(session->watch, code_mapped, session, &lost);
	if (lost)
		rescan_ask(session, lost);
}
