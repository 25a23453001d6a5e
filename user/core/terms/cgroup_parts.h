/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the path of a cgroup says of the processes in it: their container, pod, Slurm job and systemd unit. The path is
 * foreign text: a user who may make cgroups chooses their names.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_CGROUP_PARTS_H
#define GPUMEMTRACE_CORE_TERMS_CGROUP_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/scan.h"

/* X(NAME, text) */
#define CGROUP_RUNTIMES(X)                                                        \
	X(NONE, "")                                                               \
	X(UNKNOWN, "container")   /* an id without a runtime's name */            \
	X(DOCKER, "docker")                                                       \
	X(PODMAN, "podman")                                                       \
	X(CRIO, "cri-o")                                                          \
	X(CONTAINERD, "containerd")                                               \
	X(LXC, "lxc")
enum cgroup_runtime {
#define X(name, text) CGROUP_##name,
	CGROUP_RUNTIMES(X)
#undef X
};
const char *cgroup_runtime_name(enum cgroup_runtime runtime);

#define CGROUP_ID_BYTES 65     /* 64 hex digits; the name of an LXC container is cut */
#define CGROUP_POD_BYTES 37    /* the uid of a pod, with hyphens */
#define CGROUP_JOB_BYTES 16

/* "": the path does not say it. Of parts that lie in each other, the innermost. */
struct cgroup_parts {
	enum cgroup_runtime runtime;
	char container[CGROUP_ID_BYTES];
	bool is_kubernetes;
	char pod[CGROUP_POD_BYTES];
	char job[CGROUP_JOB_BYTES], step[CGROUP_JOB_BYTES]; /* Slurm's: "123", "0" or "batch" */
	char unit[128];        /* systemd's: a service or a scope, else a slice */
};
void cgroup_parts_read(const char *path, size_t size, struct cgroup_parts *parts);

/* Calls back for each container and each unit of the path, from the outermost on. True: the answer of a callback. */
typedef bool (*cgroup_part_fn)(const char *name, size_t size, void *arg);
bool cgroup_any_container(const char *path, size_t size, cgroup_part_fn fn, void *arg);
bool cgroup_any_unit(const char *path, size_t size, cgroup_part_fn fn, void *arg);

/* Takes the path of the next line of /proc/PID/cgroup (cgroups(7)): "3:cpu,cpuacct:/a/b". False at the end. */
bool cgroup_next_path(struct scan *text, struct scan *path);

#endif
