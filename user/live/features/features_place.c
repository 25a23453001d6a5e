// SPDX-License-Identifier: BSD-2-Clause
/* Checks the place in which this process runs, and its privileges there. */
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "live/features/features.h"
#include "live/process/procfs.h"
#include "live/probe/permission.h"
#include "live/probe/target.h"
#include "live/probe/uprobe.h"
#include "parse/client.h"
#include "parse/parser.h"

#define HAS(caps, cap) ((caps) >> (cap) & 1)

/* Tracing works without these capabilities, but sees less. */
static const struct capability {
	int number;
	bool by_admin;           /* CAP_SYS_ADMIN is as good */
	const char *name, *lost; /* a sentence */
} capabilities[] = {
	{ CAP_SYS_PTRACE, false, "CAP_SYS_PTRACE", "processes of other users cannot be inspected" },
	{ CAP_CHECKPOINT_RESTORE, true, "CAP_CHECKPOINT_RESTORE",
	  "a library whose file was replaced cannot be opened" },
	{ CAP_DAC_READ_SEARCH, false, "CAP_DAC_READ_SEARCH",
	  "files below other users' private directories cannot be opened" },
};

static bool is_missing(const struct capability *capability, uint64_t effective)
{
	return !HAS(effective, capability->number) && !(capability->by_admin && HAS(effective, CAP_SYS_ADMIN));
}

static bool say_missing(struct feature *feature, uint64_t effective)
{
	char text[sizeof(feature->detail)], names[128];
	size_t used = 0, named = 0;

	for (size_t i = 0; i < COUNT(capabilities); i++) {
		const struct capability *c = &capabilities[i];

		if (!is_missing(c, effective))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sno %s: %s", used ? "; " : "", c->name,
					 c->lost);
		named += (size_t)snprintf(names + named, sizeof(names) - named, "%s%s", named ? ", " : "", c->name);
	}
	if (!used)
		return false;
	feature_say(feature, FEATURE_WARN, "%s", text);
	feature_advise(feature, "Run gpumemtrace with sudo, or add %s", names);
	return true;
}

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
				       "BPF, PERFMON, SYS_PTRACE, CHECKPOINT_RESTORE and DAC_READ_SEARCH");
		else
			feature_advise(feature, "Run gpumemtrace with sudo, or with CAP_BPF, CAP_PERFMON, "
				       "CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH");
	} else if (!say_missing(feature, effective)) {
		feature_say(feature, FEATURE_OK, "%s",
			    admin ? "CAP_SYS_ADMIN" : "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, "
			    "CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH");
	}
}

size_t features_limits(uint64_t effective, struct gmt_limit limits[FEATURES_LIMITS_MAX])
{
	_Static_assert(COUNT(capabilities) <= FEATURES_LIMITS_MAX, "callers' arrays hold every limit");
	size_t count = 0;

	for (size_t i = 0; i < COUNT(capabilities); i++) {
		const struct capability *c = &capabilities[i];

		if (!is_missing(c, effective))
			continue;
		limits[count] = (struct gmt_limit){ 0 };
		snprintf((char *)limits[count].what, sizeof(limits->what), "%s", c->lost);
		snprintf((char *)limits[count].why, sizeof(limits->why), "gpumemtrace has no %s", c->name);
		snprintf((char *)limits[count++].remedy, sizeof(limits->remedy), "Run gpumemtrace with sudo, or add %s",
			 c->name);
	}
	return count;
}

void features_judge_readers(struct feature *feature, int err, const struct parse_status *status)
{
	if (err) {
		feature_say(feature, FEATURE_MISSING, "the process that reads foreign files does not start: %s",
			    strerror(-err));
		feature_advise(feature, "Permit gpumemtrace to start processes (RLIMIT_NPROC, pids.max)");
	} else if (!status->has_filter) {
		feature_say(feature, FEATURE_WARN, "foreign files are read without a seccomp filter");
		feature_advise(feature, "Use a kernel with CONFIG_SECCOMP_FILTER for more safety from hostile files");
	} else if (!status->uid || status->capabilities || !status->no_new_privileges) {
		feature_say(feature, FEATURE_WARN, "foreign files are read under a filter, but as %s",
			    status->uid ? "a user with capabilities" : "root");
		feature_advise(feature, "Permit CAP_SETUID, CAP_SETGID and CAP_SETPCAP for more safety from hostile "
			       "files");
	} else {
		feature_say(feature, FEATURE_OK,
			    "foreign files are read by user %u, without capabilities, under a filter", status->uid);
	}
}

void feature_check_readers(struct feature *feature, const struct features_where *where)
{
	static const struct parse_table nothing;
	struct parse_status status = { 0 };
	struct parse_client *client;
	struct parser *parser;
	int err = parser_start(&parser, &nothing);

	(void)where;
	if (!err) {
		client = parse_client_new(parser);
		err = parse_status(client, &status);
		parse_client_free(client);
		parser_free(parser);
	}
	features_judge_readers(feature, err, &status);
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
	if (feature->state != FEATURE_MISSING &&
	    !permission_has_uprobes(!where->no_uprobe_multi && uprobe_has_multi())) {
		feature_say(feature, FEATURE_MISSING,
			    "no CAP_SYS_ADMIN, which uprobes need on a kernel without uprobe_multi");
		feature_advise(feature, "Run gpumemtrace with sudo, add CAP_SYS_ADMIN, or boot Linux 6.6 or newer");
	}
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
