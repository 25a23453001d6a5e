// SPDX-License-Identifier: BSD-2-Clause
#include "rescan.h"

#include <stdio.h>

#include "cli/cli.h"
#include "live/bpf/target_map.h"
#include "live/probe/attach.h"
#include "live/probe/probed_files.h"
#include "live/probe/probed_processes.h"
#include "live/probe/target.h"
#include "live/stacks/stack_thread.h"
#include "live/stream.h"
#include "say.h"
#include "setup.h"

void rescan_give_up(struct session *session, const char *cause)
{
	double at_s = (stream_now_ns() - session->start_ns) / 1e9;

	say("the probes were removed: %s", cause);
	if (!session->given_up[0])
		snprintf(session->given_up, sizeof(session->given_up), "calls were not traced from +%.3f s on: %s",
			 at_s, cause);
}

void rescan_guard(struct session *session, bool at_once)
{
	char cause[SESSION_CAUSE];

	if (probing_guard_all(session->probing, at_once, cause, sizeof(cause)))
		rescan_give_up(session, cause);
}

uint64_t rescan_next(uint64_t start_ns, uint64_t now_ns, uint64_t least_ns)
{
	uint64_t rest_ns = (now_ns - start_ns) * RESCAN_SHARE;

	return now_ns + (rest_ns > least_ns ? rest_ns : least_ns);
}

void rescan_note_late(struct session *session, pid_t pid)
{
	int uses = target_uses(pid, &session->driver);
	bool has_ended = uses < 0 || !(uses & TARGET_USES_LIBCUDA);

	/* Any process may have a stand-in's devices open. */
	if (!has_ended && !(session->driver.ctl_rdev && uses & TARGET_USES_DEVICE))
		return;
	session->rescan.late += session->rescan.late_pid != pid;
	session->rescan.late_pid = pid;
}

static void note_delayed(struct session *session, size_t at)
{
	struct rescan *rescan = &session->rescan;

	if (rescan->recent[at].is_late)
		rescan_note_late(session, rescan->recent[at].pid);
	rescan->recent[at].is_late = false;
}

bool rescan_may_look(struct session *session, pid_t pid, bool is_late)
{
	struct rescan *rescan = &session->rescan;
	uint64_t now_ns = stream_now_ns();

	for (size_t i = 0; i < RESCAN_PROCESSES; i++) {
		if (rescan->recent[i].pid != pid || now_ns >= rescan->recent[i].next_ns)
			continue;
		rescan->is_due = true;
		rescan->recent[i].is_late |= is_late;
		return false;
	}
	return true;
}

void rescan_looked(struct session *session, pid_t pid, uint64_t start_ns)
{
	struct rescan *rescan = &session->rescan;
	size_t at = 0;

	while (at < RESCAN_PROCESSES && rescan->recent[at].pid != pid)
		at++;
	if (at == RESCAN_PROCESSES)
		at = rescan->newest = (rescan->newest + 1) % RESCAN_PROCESSES;
	note_delayed(session, at);
	rescan->recent[at].pid = pid;
	rescan->recent[at].next_ns = rescan_next(start_ns, stream_now_ns(), 0);
}

void rescan_ask(struct session *session, uint64_t lost)
{
	if (!session->rescan.lost)
		say("processes map so many files that gpumemtrace cannot follow: a library that is loaded now may be"
		    " probed late");
	session->rescan.lost += lost;
	session->rescan.is_due = true;
}

static void look_at(void *arg, pid_t pid)
{
	struct session *session = arg;
	char cause[SESSION_CAUSE];

	/* What cannot be probed was said when it was mapped, or is said by the next look at the process. */
	probing_add_process(session->probing, pid, cause, sizeof(cause));
	if (stacking_knows(session->stacking, (uint32_t)pid))
		stacking_mapped(session->stacking, (uint32_t)pid);
}

void rescan_look(struct session *session)
{
	struct rescan *rescan = &session->rescan;
	uint64_t start_ns = stream_now_ns();
	char cause[SESSION_CAUSE];

	rescan->is_due |= probing_look_is_due(session->probing);
	if (!rescan->is_due || start_ns < rescan->next_ns)
		return;
	rescan->is_due = false;
	rescan_guard(session, true);
	if (session->options->all)
		probing_add_all(session->probing, cause, sizeof(cause));
	else
		target_map_each(attach_targets(session->attach), look_at, session);
	for (size_t i = 0; i < RESCAN_PROCESSES; i++)
		note_delayed(session, i);
	rescan->next_ns = rescan_next(start_ns, stream_now_ns(), RESCAN_PERIOD_NS);
}
