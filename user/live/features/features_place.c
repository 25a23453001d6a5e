// SPDX-License-Identifier: BSD-2-Clause
/* Checks the place in which this process runs, and its privileges there. */
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/features/features_checks.h"
#include "live/process/procfs.h"
#include "live/probe/target.h"

#define HAS(caps, cap) ((caps) >> (cap) & 1)

void features_judge_capabilities(struct feature *feature, uint64_t effective, bool initial_user_ns, bool root)
{
	bool admin = HAS(effective, CAP_SYS_ADMIN);

	if (!initial_user_ns) {
		feature_say(feature, FEATURE_MISSING,
		    "in a user namespace, whose capabilities do not permit tracing");
		feature_advise(feature, "Run gpumemtrace outside of rootless containers and user namespaces");
	} else if (!admin && !(HAS(effective, CAP_BPF) && HAS(effective, CAP_PERFMON))) {
		feature_say(feature, FEATURE_MISSING, "%s%s", root ? "root, but with " : "",
			    effective ? "neither CAP_SYS_ADMIN nor both of CAP_BPF and CAP_PERFMON"
			    : root ? "no capabilities" : "none: not root");
		if (root)
			feature_advise(feature, "Start the container with --privileged, or with --cap-add for each of "
				       "BPF, PERFMON, SYS_PTRACE and CHECKPOINT_RESTORE");
		else
			feature_advise(feature, "Run gpumemtrace with sudo, or with CAP_BPF, CAP_PERFMON, "
				       "CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE");
	} else if (!HAS(effective, CAP_SYS_PTRACE)) {
		feature_say(feature, FEATURE_WARN, "no CAP_SYS_PTRACE: processes of other users cannot be inspected");
		feature_advise(feature, "Run gpumemtrace with sudo, or add CAP_SYS_PTRACE");
	} else if (!admin && !HAS(effective, CAP_CHECKPOINT_RESTORE)) {
		feature_say(feature, FEATURE_WARN,
		    "no CAP_CHECKPOINT_RESTORE: a library whose file was replaced cannot be opened");
		feature_advise(feature, "Run gpumemtrace with sudo, or add CAP_CHECKPOINT_RESTORE");
	} else {
		feature_say(feature, FEATURE_OK, "%s",
		    admin ? "CAP_SYS_ADMIN" : "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE");
	}
}

void feature_check_privileges(struct feature *feature, const struct features_where *where)
{
	char text[16384], map[64]; /* sized as in procfs_status() */
	unsigned long inside, outside, count;
	struct procfs_status status;
	bool initial;

	if (!feature_text(where, "/proc/self/status", text, sizeof(text)) ||
	    procfs_parse_status(text, strlen(text), &status)) {
		feature_say(feature, FEATURE_WARN, "/proc/self/status cannot be read");
		feature_advise(feature, "Mount /proc");
		return;
	}
	/* the initial user namespace maps all ids to themselves */
	initial = !feature_text(where, "/proc/self/uid_map", map, sizeof(map)) ||
		  (sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && !outside &&
		   count == UINT32_MAX);
	features_judge_capabilities(feature, status.cap_effective, initial, !geteuid());
}

void feature_check_pid_namespace(struct feature *feature, const struct features_where *where)
{
	(void)where;
	if (target_pids_are_initial()) {
		feature_say(feature, FEATURE_OK, "the initial namespace");
		return;
	}
	feature_say(feature, FEATURE_WARN,
	    "a nested namespace: gpumemtrace cannot translate the kernel's pids, so -p does not work");
	feature_advise(feature,
	       "Start the container with the host's pid namespace (docker run --pid=host, hostPID: true)");
}

void feature_check_container(struct feature *feature, const struct features_where *where)
{
	static const struct {
		const char *path, *name;
	} signs[] = {
		{ "/.dockerenv", "Docker" },
		{ "/run/.containerenv", "Podman" },
		{ "/var/run/secrets/kubernetes.io", "Kubernetes" },
		{ "/run/systemd/container", "a container" },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (!feature_exists(where, signs[i].path))
			continue;
		feature_say(feature, FEATURE_OK, "in %s", signs[i].name);
		if (!target_pids_are_initial())
			feature_advise(feature,
			       "To trace the whole machine, start the container with --privileged --pid=host");
		return;
	}
	feature_say(feature, FEATURE_OK, "none detected");
}
