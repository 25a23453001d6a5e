/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What people know of a process: a name, a container, a cgroup, a systemd unit, a Slurm job, a pod.
 *
 * Names. A pattern is compared with the command's name (comm), with the file name of the program (argv[0]), and, if
 * an interpreter runs a script or module, with the file name of the script or the module's name. The whole name has to
 * match; '*', '?' and '[...]' stand for other characters, as in a shell. A pattern with a '/' is compared with the
 * paths in the command line instead of the file names.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_FIND_SELECTOR_H
#define GPUMEMTRACE_LIVE_PROCESS_FIND_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/terms/cgroup_parts.h"

/* X(NAME, text): the text fits before the selector's own: "container 3f2a". Those from CONTAINER on are groups: other
 * processes may join them. */
#define FIND_KINDS(X)                                                             \
	X(PID, "process")                                                         \
	X(NAME, "name")                                                           \
	X(CUDA, "")                /* all that have libcuda mapped, or are hidden */ \
	X(CONTAINER, "container")  /* the beginning of an id, or a name */        \
	X(CGROUP, "cgroup")        /* a path: the processes in the cgroup and below */ \
	X(UNIT, "unit")            /* systemd's: a service, a scope or a slice */ \
	X(SLURM_JOB, "Slurm job")  /* JOB or JOB_TASK of an array, each with .STEP or without */ \
	X(POD, "pod")              /* a uid, or [NAMESPACE/]NAME */
enum find_kind {
#define X(name, text) FIND_##name,
	FIND_KINDS(X)
#undef X
};
const char *find_kind_text(enum find_kind kind);

#define FIND_IDS 64              /* that one name can stand for */
#define FIND_ID_LEAST 4          /* hex digits of an id: fewer are a name */
#define FIND_WANTED 1024         /* bytes */

struct find_selector {
	enum find_kind kind;
	const char *text;        /* as given; the caller's */
	pid_t pid;
	char wanted[FIND_WANTED];/* in the form that is compared */
	char step[CGROUP_JOB_BYTES];          /* of a Slurm job; "": all */
	char task[CGROUP_JOB_BYTES];          /* of the array `wanted`; "": `wanted` is a job's own id */
	/* What the newest look found: the ids that a name stands for, and the container that an id's beginning fits. */
	size_t id_count;
	char ids[FIND_IDS][CGROUP_ID_BYTES];
	char container[CGROUP_ID_BYTES];
	bool has_more_ids;       /* than FIND_IDS */
	bool is_cut;             /* not all containers or pods of the machine were looked at */
	bool is_settled;         /* the names stand for what they stood for then */
	bool is_ambiguous;       /* the beginning fits two containers, or the name fits pods of two namespaces */
};

/* Reads a selector: 0; -EINVAL and a sentence that says what is expected. `root`: "" for this machine. */
int find_selector_read(struct find_selector *selector, const char *root, enum find_kind kind, const char *text,
		       char *why, size_t why_size);
/* From now on the selector means what the newest look found: the same containers and pods. */
void find_settle(struct find_selector *selector);

#endif
