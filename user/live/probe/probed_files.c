// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/probed_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/xalloc.h"
#include "live/framework/library_kinds.h"
#include "live/bpf/plan.h"
#include "live/probe/attach.h"
#include "live/probe/hazard.h"
#include "live/probe/library.h"
#include "live/probe/library_parse.h"
#include "live/probe/mmap_watch.h"
#include "live/probe/quota.h"
#include "live/probe/refused_files.h"
#include "live/probe/target.h"
#include "live/probe/trial.h"
#include "live/probe/unmapped.h"
#include "live/process/procfs.h"
#include "live/process/settings.h"
#include "live/stream.h"

#define HAZARD_PERIOD_NS 1000000000ull /* at least, between looks at all processes */
#define HAZARD_SHARE 20                /* a look of 1 ms is followed by 20 ms without a look */
struct probing {
	struct attach *attach;
	struct stream *stream;
	struct trial trial;
	uint64_t next_guard_ns;
	struct quota *quota;
	struct parse_client *client;
	struct refused_files refused;
	char *note;                  /* the newest sentence, if nobody has taken it */
	struct probed_file *files;
	size_t count;
	uint32_t newest;             /* number */
	struct unmapped unmapped;
	uint32_t layers;
	bool with_sizes;
};

struct probing *probing_new(struct attach *attach, struct stream *stream, struct parser *parser,
			    const struct trial *trial, uint32_t layers, bool with_sizes, uint32_t unmapped_ms)
{
	struct probing *probing = xcalloc(1, sizeof(*probing));
	struct rlimit descriptors = { 0 };

	*probing = (struct probing){
		.attach = attach, .stream = stream, .trial = *trial, .layers = layers, .with_sizes = with_sizes,
		.client = parse_client_new(parser),
	};
	getrlimit(RLIMIT_NOFILE, &descriptors);
	probing->quota = quota_new(descriptors.rlim_cur);
	probing->unmapped.descriptors = descriptors.rlim_cur / UNMAPPED_SHARE;
	probing->unmapped.age_ns = (unmapped_ms ?: UNMAPPED_AGE_MS) * 1000000ull;
	return probing;
}

void probing_free(struct probing *probing)
{
	if (!probing)
		return;
	quota_free(probing->quota);
	parse_client_free(probing->client);
	free(probing->note);
	free(probing->files);
	free(probing);
}

static void announce_library(struct probing *probing, const struct library *library, const char *shown,
			     uint64_t took_ns)
{
	struct gmt_library rec = {
		.dev = library->dev,
		.ino = library->ino,
		.probes = library->probe_count,
		.absent = library->absent,
		.shifted = library->shifted,
		.attach_us = took_ns / 1000,
	};

	snprintf((char *)rec.build_id, sizeof(rec.build_id), "%.39s", library->build_id);
	snprintf((char *)rec.path, sizeof(rec.path), "%s", shown);
	STREAM_PUT(probing->stream, &rec, LIBRARY, 0);
}

static int attach_hooks(struct probing *probing, const struct library *library, const char *path, char *cause,
			size_t cause_size)
{
	for (uint32_t i = 0; i < library->probe_count; i++) {
		const struct library_probe *probe = &library->probes[i];
		struct library_hook hook = library->kind->hooks[probe->id - 1];
		int err;

		hook.layout.framework = library->kind->framework->id;
		err = attach_hook(probing->attach, path, probing->newest + 1, &hook, probe->offset, cause, cause_size);
		if (err)
			return err;
	}
	return 0;
}

/* Sizes come from the allocator's own probe. Old releases of PyTorch lack the probe, and so does PyTorch on machines
 * other than x86-64. */
static int attach_sizes(struct probing *probing, struct library *library, const char *path, char *cause,
			size_t cause_size)
{
	const struct library_point *point = library->kind->point;
	struct usdt_place places[LIBRARY_POINTS];
	int count = library_ask_points(probing->client, path, point, places);

	library->absent = count <= 0;
	for (int i = 0; i < count; i++) {
		int err = attach_usdt(probing->attach, path, probing->newest + 1, &places[i], point->program,
				      library->kind->framework->id, cause, cause_size);

		if (err)
			return err;
		library->probe_count++;
	}
	return 0;
}

static int attach_points(struct probing *probing, struct library *library, const char *path, char *cause,
			 size_t cause_size)
{
	int err;

	if (!library->kind->framework)
		return attach_library(probing->attach, path, probing->newest + 1, library, cause, cause_size);
	err = attach_hooks(probing, library, path, cause, cause_size);
	if (!err && library->kind->point && probing->with_sizes)
		err = attach_sizes(probing, library, path, cause, cause_size);
	return err;
}

/* A process may have mapped the file while it was being probed. */
static int attach_guarded(struct probing *probing, struct library *library, const char *path, char *cause,
			  size_t cause_size)
{
	int err = hazard_library(&probing->trial, library, cause, cause_size);

	if (!err)
		err = attach_points(probing, library, path, cause, cause_size);
	if (err)
		return err;
	err = hazard_library(&probing->trial, library, cause, cause_size);
	if (err)
		attach_drop(probing->attach, (uint32_t[]){ probing->newest + 1 }, 1);
	return err;
}

static bool is_kind_wanted(const struct probing *probing, const struct library_kind *kind)
{
	return (probing->layers & (kind->framework ? GMT_LAYER_FRAMEWORK : GMT_LAYER_API)) &&
	       (!kind->framework || kind->hook_count || (kind->point && probing->with_sizes));
}

/* Finds a file by its inode, without reading it: libtorch_cpu's symbols take 15 ms, and each process of a job maps the
 * file. NULL: the file is not there, or has another st_dev (library_same()). */
static const struct library *find_file(const struct probing *probing, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return NULL;
	for (size_t i = 0; i < probing->count; i++)
		if (probing->files[i].library.ino == st.st_ino && probing->files[i].library.dev == st.st_dev)
			return &probing->files[i].library;
	return NULL;
}

static const struct library *find_same(const struct probing *probing, const struct library *library)
{
	for (size_t i = 0; i < probing->count; i++)
		if (library_same(&probing->files[i].library, library))
			return &probing->files[i].library;
	return NULL;
}

/* ---- files that cannot be read ---- */

static void refuse_library(struct probing *probing, const struct library *library, int err, const char *cause)
{
	if (err == -EDQUOT) /* it is read later */
		return;
	refused_add(&probing->refused, library);
	free(probing->note);
	probing->note = xstrdup(cause);
}

size_t probing_unread(const struct probing *probing)
{
	return probing->refused.count;
}

char *probing_note(struct probing *probing)
{
	char *note = probing->note;

	probing->note = NULL;
	return note;
}

/* ---- a file ---- */

static void keep_file(struct probing *probing, const struct library *library)
{
	probing->files = xgrow(probing->files, probing->count, sizeof(*probing->files));
	probing->files[probing->count++] = (struct probed_file){
		.library = *library, .number = ++probing->newest, .stays = true, .seen_ns = stream_now_ns(),
	};
}

static int probe_library(struct probing *probing, const struct library_kind *kind, const char *path, const char *shown,
			 char *cause, size_t cause_size)
{
	uint64_t start_ns = stream_now_ns();
	struct library library;
	int err;

	if (!is_kind_wanted(probing, kind) || find_file(probing, path))
		return 0;
	if (refused_has(&probing->refused, path))
		return -ENOEXEC;
	err = library_ask(probing->client, path, kind, &library);
	if (!err && !library.is_one && kind == &library_cuda) {
		err = -ENOEXEC;
		snprintf(library.why, sizeof(library.why), "the library does not export the CUDA driver API");
	}
	if (err) {
		snprintf(cause, cause_size, "%s: %s", shown, library.why[0] ? library.why : strerror(-err));
		if (parse_gave_up(err))
			refuse_library(probing, &library, err, cause);
		return err;
	}
	if (find_same(probing, &library))
		return 0;
	/* Entry probes hurt no process. */
	if (kind == &library_cuda)
		err = attach_guarded(probing, &library, path, cause, cause_size);
	else
		err = attach_points(probing, &library, path, cause, cause_size);
	if (err && kind == &library_cuda)
		return err;
	/* The other layers do not need a framework's library. */
	if (err)
		library.probe_count = 0;
	keep_file(probing, &library);
	announce_library(probing, &library, shown, stream_now_ns() - start_ns);
	return 1;
}

int probing_add(struct probing *probing, const char *path, const char *shown, char *cause, size_t cause_size)
{
	return probe_library(probing, &library_cuda, path, shown, cause, cause_size);
}

struct walk {
	struct probing *probing;
	char *cause;
	size_t cause_size;
	int added;
	char *refusal;           /* NULL: a file that hazard.h refuses ends the walk; else the first such sentence */
	bool refused;
	pid_t pid;               /* of the newest file, and what the process has of each framework */
	struct {
		bool is_loaded, reports;
	} has[GMT_FW_COUNT];
};

/* Whether a file has a probe on the function to which a framework reports its blocks. */
static bool reports_blocks(struct probing *probing, const struct library_kind *kind, const char *path)
{
	const struct library *known = find_file(probing, path);
	struct library library;

	if (plan_leaves_out(attach_plan(probing->attach), FRAMEWORK_BLOCKS))
		return false;
	if (!known && kind->hook_count && !refused_has(&probing->refused, path) &&
	    !library_ask(probing->client, path, kind, &library))
		known = find_same(probing, &library);
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

/* Probes a file that is new on account of the process's user. */
static int probe_for_user(struct walk *walk, const struct target_library *found)
{
	struct probing *probing = walk->probing;
	struct procfs_status status;
	struct probed_file *file;
	size_t before = attach_descriptors(probing->attach);
	int ret;

	if (!is_kind_wanted(probing, found->kind) || find_file(probing, found->attach_path))
		return 0;
	if (procfs_status(found->pid, &status) || !quota_permits(probing->quota, status.uid))
		return 0;
	parse_client_charge(probing->client, status.uid);
	ret = probe_library(probing, found->kind, found->attach_path, found->path, walk->cause, walk->cause_size);
	if (ret <= 0)
		return ret;
	file = &probing->files[probing->count - 1];
	file->stays = false;
	file->uid = status.uid;
	file->descriptors = attach_descriptors(probing->attach) - before;
	quota_take(probing->quota, file->uid, file->descriptors);
	return ret;
}

static int add_found(const struct target_library *found, void *arg)
{
	struct walk *walk = arg;
	int ret = probe_for_user(walk, found);

	if (walk->pid != found->pid)
		tell_frameworks(walk);
	walk->pid = found->pid;
	note_framework(walk, found);
	if (ret == -ENOEXEC || parse_gave_up(ret)) /* only its name is that of a library; or it cannot be read */
		return 0;
	if (ret == -ECANCELED && walk->refusal) {
		if (!walk->refused)
			snprintf(walk->refusal, walk->cause_size, "%s", walk->cause);
		walk->refused = true;
		return 0;
	}
	if (ret > 0)
		walk->added++;
	return ret < 0 ? ret : 0;
}

int probing_add_process(struct probing *probing, pid_t pid, char *cause, size_t cause_size)
{
	struct walk walk = { .probing = probing, .cause = cause, .cause_size = cause_size };
	int err;

	*cause = '\0';
	err = target_libraries(pid, add_found, &walk);
	if (err < 0 && !*cause)
		snprintf(cause, cause_size, "the libraries of process %d cannot be opened: %s", pid, strerror(-err));
	if (!err)
		tell_frameworks(&walk);
	return err ? err : walk.added;
}

static bool has_return_probes(const struct library *library)
{
	return library->kind == &library_cuda && library->probe_count;
}

static bool has_libcuda(const struct probing *probing)
{
	for (size_t i = 0; i < probing->count; i++)
		if (has_return_probes(&probing->files[i].library))
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
	else
		tell_frameworks(&walk);
	if (!err && walk.refused && !has_libcuda(probing))
		err = -ECANCELED;
	free(other);
	return err ? err : walk.added;
}

/* ---- processes that return probes would kill ---- */

/* Drops the probes of a file if hazard.h refuses the file. Returns whether it does. */
static bool give_up_refused(struct probing *probing, size_t i, int refusal)
{
	if (!refusal)
		return false;
	attach_drop(probing->attach, &probing->files[i].number, 1);
	probing->files[i].library.probe_count = 0;
	return true;
}

size_t probing_guard(struct probing *probing, const struct watch_mapping *mapping, char *cause, size_t cause_size)
{
	const struct library_kind *kind = library_kind_of(mapping->path, strlen(mapping->path));
	size_t given_up = 0;

	if (!hazard_is_needed(&probing->trial))
		return 0;
	for (size_t i = 0; i < probing->count; i++) {
		const struct library *library = &probing->files[i].library;

		if (has_return_probes(library) && (mapping->ino == library->ino || kind == library->kind))
			given_up += give_up_refused(probing, i, hazard_process(&probing->trial, library, mapping->pid,
									       cause, cause_size));
	}
	return given_up;
}

size_t probing_guard_all(struct probing *probing, bool at_once, char *cause, size_t cause_size)
{
	uint64_t start_ns = stream_now_ns(), rest_ns;
	size_t given_up = 0;

	if (!hazard_is_needed(&probing->trial) || (!at_once && start_ns < probing->next_guard_ns))
		return 0;
	for (size_t i = 0; i < probing->count; i++)
		if (has_return_probes(&probing->files[i].library))
			given_up += give_up_refused(probing, i,
						    hazard_library(&probing->trial, &probing->files[i].library,
								   cause, cause_size));
	rest_ns = (stream_now_ns() - start_ns) * HAZARD_SHARE;
	probing->next_guard_ns = stream_now_ns() + (rest_ns > HAZARD_PERIOD_NS ? rest_ns : HAZARD_PERIOD_NS);
	return given_up;
}

/* ---- files that no process maps ---- */

void probing_drop_unmapped(struct probing *probing)
{
	unmapped_drop(&probing->unmapped, probing->files, &probing->count, probing->attach, probing->quota);
}

size_t probing_dropped(const struct probing *probing)
{
	return probing->unmapped.dropped;
}

bool probing_next_limit(struct probing *probing, struct gmt_limit *limit)
{
	uint32_t uid;

	if (!quota_next_told(probing->quota, &uid))
		return false;
	*limit = (struct gmt_limit){ 0 };
	snprintf((char *)limit->what, sizeof(limit->what), "some libraries of user %u are not probed", uid);
	snprintf((char *)limit->why, sizeof(limit->why),
		 "a user may have %d different files probed, and half of gpumemtrace's descriptors",
		 QUOTA_FILES);
	snprintf((char *)limit->remedy, sizeof(limit->remedy), "Look for a process of user %u that maps many copies"
		 " of libcuda, or raise `ulimit -n`", uid);
	return true;
}

uint64_t probing_refused(const struct probing *probing)
{
	return quota_refused(probing->quota);
}

size_t probing_count(const struct probing *probing)
{
	size_t count = 0;

	for (size_t i = 0; i < probing->count; i++)
		count += probing->files[i].library.kind == &library_cuda;
	return count;
}
