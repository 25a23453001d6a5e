// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the names of cgroups come from:
 *   docker       /docker/ID, /system.slice/docker-ID.scope
 *   podman       /machine.slice/libpod-ID.scope/container, /libpod_parent/libpod-ID
 *   cri-o        ...pod<uid>.slice/crio-ID.scope, /crio-ID
 *   containerd   ...pod<uid>.slice/cri-containerd-ID.scope, and "...slice:cri-containerd:ID" where runc was asked for
 *                systemd's names without systemd
 *   Kubernetes   /kubepods/burstable/pod<uid>/..., /kubepods.slice/.../kubepods-burstable-pod<uid>.slice/..., the uid
 *                with '_' for '-' (kubelet, pkg/kubelet/cm: a slice's name has '-' for '/')
 *   Slurm        /slurm/uid_N/job_N/step_N/task_N (cgroup v1), /system.slice/slurmstepd.scope/job_N/step_N/...; with
 *                several daemons on a host slurm_NODE and NODE_slurmstepd.scope (cgroup.conf(5))
 */
#include "core/terms/cgroup_parts.h"

#include <stdio.h>

#include "base/count.h"

#define ID_LEAST 32            /* hex digits: nothing shorter is certainly an id */

const char *cgroup_runtime_name(enum cgroup_runtime runtime)
{
	static const char *const names[] = {
#define X(name, text) text,
		CGROUP_RUNTIMES(X)
#undef X
	};
	return (size_t)runtime < COUNT(names) ? names[runtime] : "";
}

static size_t part_length(const struct scan *s)
{
	return (size_t)(s->end - s->at);
}

static bool part_begins(const struct scan *s, const char *word)
{
	size_t size = strlen(word);

	return part_length(s) >= size && !memcmp(s->at, word, size);
}

static bool part_ends(const struct scan *s, const char *word)
{
	size_t size = strlen(word);

	return part_length(s) > size && !memcmp(s->end - size, word, size);
}

static const char *find_in(const struct scan *s, const char *word)
{
	return memmem(s->at, part_length(s), word, strlen(word));
}

static void copy_part(char *to, size_t to_size, const char *from, size_t size)
{
	snprintf(to, to_size, "%.*s", (int)size, from);
}

/* Takes the next part of a path. Colons separate, too: see above. */
static bool next_part(struct scan *path, struct scan *part)
{
	while (path->at < path->end && (*path->at == '/' || *path->at == ':'))
		path->at++;
	part->at = path->at;
	while (path->at < path->end && *path->at != '/' && *path->at != ':')
		path->at++;
	part->end = path->at;
	return part->at < part->end;
}

/* ---- containers ---- */

static enum cgroup_runtime runtime_of(const struct scan *text)
{
	static const struct { const char *word; enum cgroup_runtime runtime; } words[] = {
		{ "docker", CGROUP_DOCKER }, { "libpod", CGROUP_PODMAN }, { "crio", CGROUP_CRIO },
		{ "cri-containerd", CGROUP_CONTAINERD }, { "nerdctl", CGROUP_CONTAINERD },
		{ "containerd", CGROUP_CONTAINERD },
	};

	for (size_t i = 0; i < COUNT(words); i++)
		if (part_begins(text, words[i].word))
			return words[i].runtime;
	return CGROUP_UNKNOWN;
}

struct container {
	enum cgroup_runtime runtime;
	struct scan id;
};

static bool is_id(const struct scan *s)
{
	for (const char *p = s->at; p < s->end; p++)
		if (!isxdigit((unsigned char)*p))
			return false;
	return part_length(s) >= ID_LEAST && part_length(s) < CGROUP_ID_BYTES;
}

/* Whether a part names a container. `before`: the part in front. A program that watches a container beside it (conmon)
 * is not in the container. */
static bool find_container(const struct scan *part, const struct scan *before, struct container *container)
{
	static const char payload[] = "lxc.payload.";
	struct scan id = *part;
	const char *hyphen;

	container->id = id;
	container->runtime = CGROUP_LXC;
	if (part_begins(part, payload) && part_length(part) > sizeof(payload) - 1) {
		container->id.at += sizeof(payload) - 1;
		return true;
	}
	if (part_length(before) == 3 && part_begins(before, "lxc"))
		return true;
	if (part_ends(&id, ".scope"))
		id.end -= strlen(".scope");
	hyphen = memrchr(id.at, '-', part_length(&id));
	if (hyphen)
		id.at = hyphen + 1;
	if (!is_id(&id) || find_in(part, "conmon"))
		return false;
	container->id = id;
	container->runtime = runtime_of(hyphen ? part : before);
	return true;
}

bool cgroup_any_container(const char *path, size_t size, cgroup_part_fn fn, void *arg)
{
	struct scan all = { path, path + size }, part, before = { path, path };
	struct container container;

	for (; next_part(&all, &part); before = part)
		if (find_container(&part, &before, &container) &&
		    fn(container.id.at, part_length(&container.id), arg))
			return true;
	return false;
}

/* ---- units ---- */

static bool is_slice(const struct scan *part)
{
	return part_ends(part, ".slice");
}

static bool is_unit(const struct scan *part)
{
	return is_slice(part) || part_ends(part, ".service") || part_ends(part, ".scope");
}

bool cgroup_any_unit(const char *path, size_t size, cgroup_part_fn fn, void *arg)
{
	struct scan all = { path, path + size }, part;

	while (next_part(&all, &part))
		if (is_unit(&part) && fn(part.at, part_length(&part), arg))
			return true;
	return false;
}

/* ---- all parts ---- */

static void read_unit(const struct scan *part, struct cgroup_parts *parts)
{
	size_t known = strlen(parts->unit);
	struct scan unit = { parts->unit, parts->unit + known };

	if (is_unit(part) && (!is_slice(part) || !known || is_slice(&unit)))
		copy_part(parts->unit, sizeof(parts->unit), part->at, part_length(part));
}

static void read_container(const struct scan *part, const struct scan *before, struct cgroup_parts *parts)
{
	struct container container;

	if (!find_container(part, before, &container))
		return;
	parts->runtime = container.runtime;
	copy_part(parts->container, sizeof(parts->container), container.id.at, part_length(&container.id));
}

/* "pod<uid>", or a slice that ends in this. */
static void read_pod(const struct scan *part, struct cgroup_parts *parts)
{
	struct scan uid = *part;
	const char *mark = find_in(part, "-pod");

	if (part_begins(part, "pod"))
		uid.at += strlen("pod");
	else if (mark)
		uid.at = mark + strlen("-pod");
	else
		return;
	if (is_slice(&uid))
		uid.end -= strlen(".slice");
	if (uid.at == uid.end || part_length(&uid) >= sizeof(parts->pod))
		return;
	for (const char *p = uid.at; p < uid.end; p++)
		if (!isxdigit((unsigned char)*p) && *p != '-' && *p != '_')
			return;
	copy_part(parts->pod, sizeof(parts->pod), uid.at, part_length(&uid));
	for (char *p = parts->pod; *p; p++)
		*p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
}

static bool is_slurm(const struct scan *part)
{
	static const char v1[] = "slurm";
	bool is_v1 = part_begins(part, v1) && (part_length(part) == strlen(v1) || part->at[strlen(v1)] == '_');

	return is_v1 || part_ends(part, "slurmstepd.scope") || part_begins(part, "slurmstepd.scope");
}

static void read_slurm(const struct scan *part, struct cgroup_parts *parts)
{
	struct scan rest = { part->at + strlen("job_"), part->end };
	uint64_t job;

	if (part_begins(part, "job_") && scan_number(&rest, 10, &job) && rest.at == rest.end && job <= UINT32_MAX)
		snprintf(parts->job, sizeof(parts->job), "%u", (unsigned int)job);
	else if (parts->job[0] && !parts->step[0] && part_begins(part, "step_"))
		copy_part(parts->step, sizeof(parts->step), part->at + strlen("step_"),
			  part_length(part) - strlen("step_"));
}

void cgroup_parts_read(const char *path, size_t size, struct cgroup_parts *parts)
{
	struct scan all = { path, path + size }, part, before = { path, path };
	bool in_slurm = false;

	memset(parts, 0, sizeof(*parts));
	for (; next_part(&all, &part); before = part) {
		parts->is_kubernetes |= find_in(&part, "kubepods") != NULL;
		in_slurm |= is_slurm(&part);
		read_unit(&part, parts);
		read_container(&part, &before, parts);
		if (parts->is_kubernetes)
			read_pod(&part, parts);
		if (in_slurm)
			read_slurm(&part, parts);
	}
}

bool cgroup_next_path(struct scan *text, struct scan *path)
{
	struct scan line;

	while (scan_line(text, &line)) {
		const char *colon = memchr(line.at, ':', part_length(&line));

		colon = colon ? memchr(colon + 1, ':', (size_t)(line.end - colon - 1)) : NULL;
		if (!colon)
			continue;
		*path = (struct scan){ colon + 1, line.end };
		return true;
	}
	return false;
}
