// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/probed_processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "live/bpf/plan.h"
#include "live/framework/library_kinds.h"
#include "live/probe/attach.h"
#include "live/probe/library.h"
#include "live/probe/library_parse.h"
#include "live/probe/probing.h"
#include "live/probe/quota.h"
#include "live/probe/target.h"
#include "live/process/procfs.h"
#include "live/process/settings.h"
#include "live/stream.h"

struct walk {
	struct probing *probing;
	char *cause;
	size_t cause_size;
	int added;
	char *refusal;           /* NULL: a file that hazard.h refuses ends the walk; else the first such sentence */
	bool refused;
	bool has_failed;         /* the probing of a file, which is counted, and not the walk */
	bool has_libcuda;        /* a file that can be probed, or a quota or the layers leave the file out */
	bool has_refused;        /* a file with libcuda's name that cannot be read: a note names the file */
	char no_library[4 * PROBING_WHY + 1]; /* why the newest other file of this name is none; "": none is so */
	pid_t pid;               /* of the newest file, and what the process has of each framework */
	struct {
		bool is_loaded, reports;
	} has[GMT_FW_COUNT];
};

/* Whether a file has a probe on the function to which a framework reports its blocks. */
static bool reports_blocks(struct probing *probing, const struct library_kind *kind, const char *path)
{
	const struct library *known = probing_find(probing, path);
	struct library library;

	if (plan_leaves_out(attach_plan(probing->attach), FRAMEWORK_BLOCKS))
		return false;
	if (!known && kind->hook_count && !refused_has(&probing->refused, path) &&
	    !library_ask(probing->client, path, kind, &library))
		known = probing_find_same(probing, &library);
	for (uint32_t i = 0; known && kind->hook_count && i < known->probe_count; i++)
		if (known->probes[i].id && !strcmp(kind->hooks[known->probes[i].id - 1].program, FRAMEWORK_BLOCKS))
			return true;
	return false;
}

static void note_framework(struct walk *walk, const struct target_library *found)
{
	const struct library_kind *kind = found->kind;

	if (!kind->framework)
		return;
	walk->has[kind->framework->id].is_loaded |= kind->is_for_gpus;
	walk->has[kind->framework->id].reports |= reports_blocks(walk->probing, kind, found->attach_path);
}

/* Called when all files of a process have been seen. */
static void tell_frameworks(struct walk *walk)
{
	for (unsigned int id = 0; id < GMT_FW_COUNT; id++) {
		struct gmt_framework rec = { .framework = id };

		if (!walk->has[id].is_loaded || !(walk->probing->layers & GMT_LAYER_FRAMEWORK))
			continue;
		rec.flags = settings_read(framework_of(id), walk->pid);
		rec.flags |= walk->has[id].reports ? 0 : GMT_FRAMEWORK_NO_HOOK;
		STREAM_PUT(walk->probing->stream, &rec, FRAMEWORK, walk->pid);
	}
	memset(walk->has, 0, sizeof(walk->has));
}

/* The walk goes on: other files and processes may be better. */
static int cannot_look(const struct walk *walk, pid_t pid, const char *path, int err)
{
	char cause[4 * PROBING_WHY + 1];

	snprintf(cause, sizeof(cause), "%s of process %d cannot be opened (%s)", *path ? path : "the mappings",
		 (int)pid, strerror(-err));
	probing_fail(walk->probing, err, cause);
	return 0;
}

/* Probes a file that is new on account of the process's user. */
static int probe_for_user(struct walk *walk, const struct target_library *found, uint32_t uid)
{
	const struct probing_file mapped = { found->attach_path, found->path, found->pid, uid };
	struct probing *probing = walk->probing;
	struct probed_file *file;
	size_t before;
	int ret;

	if (!probing_wants(probing, found->kind) || probing_find(probing, found->attach_path))
		return 0;
	if (!quota_permits(probing->quota, uid))
		return 0;
	before = attach_descriptors(probing->attach);
	ret = probing_probe(probing, found->kind, &mapped, walk->cause, walk->cause_size);
	if (ret <= 0)
		return ret;
	file = &probing->files[probing->count - 1];
	file->stays = false;
	file->uid = uid;
	file->descriptors = attach_descriptors(probing->attach) - before;
	quota_take(probing->quota, file->uid, file->descriptors);
	return ret;
}

static void note_libcuda(struct walk *walk, const struct target_library *found, int ret)
{
	if (found->kind != &library_cuda)
		return;
	if (ret != -ENOEXEC)
		walk->has_libcuda = true;
	else if (refused_has(&walk->probing->refused, found->attach_path))
		walk->has_refused = true;
	else
		human_text(walk->no_library, PROBING_WHY, walk->cause, strlen(walk->cause));
}

/* The cause is "" if a note speaks of each file. */
static int say_no_library(const struct walk *walk, pid_t pid)
{
	*walk->cause = '\0';
	if (walk->no_library[0])
		snprintf(walk->cause, walk->cause_size, "no libcuda of process %d can be probed (%s): calls of the"
			 " process are not traced", pid, walk->no_library);
	return -ENOEXEC;
}

static int add_found(const struct target_library *found, void *arg)
{
	struct walk *walk = arg;
	struct procfs_status status;
	int ret;

	if (walk->pid != found->pid)
		tell_frameworks(walk);
	walk->pid = found->pid;
	ret = found->err ?: procfs_status(found->pid, &status);
	if (target_may_pass(ret))
		return cannot_look(walk, found->pid, found->path, ret);
	if (ret)
		return 0;
	parse_client_charge(walk->probing->client, status.uid);
	ret = probe_for_user(walk, found, status.uid);
	probing_note_inode(walk->probing, found->attach_path, found->ino);
	note_framework(walk, found);
	note_libcuda(walk, found, ret);
	/* Only its name is that of a library; or it cannot be read, or not now. */
	if (ret == -ENOEXEC || parse_gave_up(ret) || (walk->refusal && target_may_pass(ret)))
		return 0;
	if (ret == -ECANCELED && walk->refusal) {
		if (!walk->refused)
			snprintf(walk->refusal, walk->cause_size, "%s", walk->cause);
		walk->refused = true;
		return 0;
	}
	if (ret > 0)
		walk->added++;
	walk->has_failed = ret < 0;
	return ret < 0 ? ret : 0;
}

int probing_add_process(struct probing *probing, pid_t pid, char *cause, size_t cause_size)
{
	struct walk walk = { .probing = probing, .cause = cause, .cause_size = cause_size };
	int err;

	*cause = '\0';
	err = target_libraries(pid, add_found, &walk);
	if ((err == -EACCES || err == -EPERM) && !*cause)
		snprintf(cause, cause_size, "process %d may not be inspected (%s): a security module, a user namespace"
			 " or missing privileges protect the process. 'gpumemtrace doctor' says which privileges are"
			 " missing, and 'gpumemtrace ps' lists the processes that use CUDA", pid, strerror(-err));
	else if (err < 0 && !*cause)
		snprintf(cause, cause_size, "the libraries of process %d cannot be opened: %s", pid, strerror(-err));
	if (target_may_pass(err) && !walk.has_failed)
		probing_fail(probing, err, cause);
	if (!err)
		tell_frameworks(&walk);
	if (!err && !walk.has_libcuda && (walk.has_refused || walk.no_library[0]))
		return say_no_library(&walk, pid);
	return err ? err : walk.added;
}

static bool has_libcuda(const struct probing *probing)
{
	for (size_t i = 0; i < probing->count; i++)
		if (probing_has_returns(&probing->files[i].library))
			return true;
	return false;
}

int probing_add_all(struct probing *probing, char *cause, size_t cause_size)
{
	char *other = xcalloc(1, cause_size);
	struct walk walk = { .probing = probing, .cause = other, .cause_size = cause_size, .refusal = cause };
	int err;

	*cause = '\0';
	err = target_scan(add_found, &walk);
	if (err && *other)
		snprintf(cause, cause_size, "%s", other);
	else if (err < 0)
		snprintf(cause, cause_size, "/proc cannot be read: %s", strerror(-err));
	if (target_may_pass(err) && !walk.has_failed)
		probing_fail(probing, err, cause);
	if (!err)
		tell_frameworks(&walk);
	if (!err && walk.refused && !has_libcuda(probing))
		err = -ECANCELED;
	free(other);
	return err ? err : walk.added;
}
