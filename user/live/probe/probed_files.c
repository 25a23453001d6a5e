// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/probed_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "live/framework/library_kinds.h"
#include "live/probe/attach.h"
#include "live/probe/hazard.h"
#include "live/probe/library.h"
#include "live/probe/library_parse.h"
#include "live/probe/mmap_watch.h"
#include "live/probe/probing.h"
#include "live/probe/quota.h"
#include "live/probe/target.h"
#include "live/stream.h"

#define HAZARD_PERIOD_NS 1000000000ull /* at least, between looks at all processes */
#define HAZARD_SHARE 20                /* a look of 1 ms is followed by 20 ms without a look */
#define LATER_NS 1000000000ull         /* until files that have to wait are read again; twice as long each time, */
#define LATER_MOST_NS 64000000000ull   /* and so long at most */

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
	probing->unmapped.stream = stream;
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
	refused_free(&probing->refused);
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

	memcpy(rec.build_id, library->build_id, strnlen(library->build_id, sizeof(rec.build_id)));
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

	if (parse_may_pass(count)) {
		snprintf(cause, cause_size, "%s", parse_why(probing->client, count));
		return count;
	}
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

static int attach_points(struct probing *probing, struct library *library, const struct probing_file *file,
			 char *cause, size_t cause_size)
{
	char why[4 * PROBING_WHY];
	int err;

	if (!library->kind->framework)
		err = attach_library(probing->attach, file->path, probing->newest + 1, library, why, sizeof(why));
	else
		err = attach_hooks(probing, library, file->path, why, sizeof(why));
	if (!err && library->kind->framework && library->kind->point && probing->with_sizes)
		err = attach_sizes(probing, library, file->path, why, sizeof(why));
	if (err)
		snprintf(cause, cause_size, "%s %s", file->shown, why);
	return err;
}

/* A process may have mapped the file while it was being probed. */
static int attach_guarded(struct probing *probing, struct library *library, const struct probing_file *file,
			  char *cause, size_t cause_size)
{
	int err = hazard_library(&probing->trial, library, cause, cause_size);

	if (!err)
		err = attach_points(probing, library, file, cause, cause_size);
	if (err)
		return err;
	err = hazard_library(&probing->trial, library, cause, cause_size);
	if (err)
		attach_drop(probing->attach, (uint32_t[]){ probing->newest + 1 }, 1);
	return err;
}

bool probing_wants(const struct probing *probing, const struct library_kind *kind)
{
	return (probing->layers & (kind->framework ? GMT_LAYER_FRAMEWORK : GMT_LAYER_API)) &&
	       (!kind->framework || kind->hook_count || (kind->point && probing->with_sizes));
}

static struct probed_file *find_file(const struct probing *probing, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return NULL;
	for (size_t i = 0; i < probing->count; i++)
		if (probing->files[i].library.ino == st.st_ino && probing->files[i].library.dev == st.st_dev)
			return &probing->files[i];
	return NULL;
}

const struct library *probing_find(const struct probing *probing, const char *path)
{
	struct probed_file *file = find_file(probing, path);

	return file ? &file->library : NULL;
}

void probing_note_inode(struct probing *probing, const char *path, uint64_t ino)
{
	struct probed_file *file = find_file(probing, path);

	if (file)
		file->mapped_ino = ino;
}

bool probing_has_inode(const struct probing *probing, uint64_t ino)
{
	for (size_t i = 0; i < probing->count; i++)
		if (probing->files[i].library.ino == ino || probing->files[i].mapped_ino == ino)
			return true;
	return false;
}

const struct library *probing_find_same(const struct probing *probing, const struct library *library)
{
	for (size_t i = 0; i < probing->count; i++)
		if (library_same(&probing->files[i].library, library))
			return &probing->files[i].library;
	return NULL;
}

/* ---- files that cannot be read ---- */

/* False: that is so already, and was told. */
static bool read_later(struct probing *probing)
{
	if (probing->later_ns)
		return false;
	probing->wait_ns = !probing->wait_ns ? LATER_NS :
			   probing->wait_ns < LATER_MOST_NS ? 2 * probing->wait_ns : LATER_MOST_NS;
	probing->later_ns = stream_now_ns() + probing->wait_ns;
	return probing->wait_ns == LATER_NS;
}

/* A file that no process has mapped is the caller's to speak of. Returns what the look at the file returns. */
static int refuse_library(struct probing *probing, const struct library *library, const struct probing_file *file,
			  int err, const char *cause)
{
	if (parse_may_pass(err)) {
		if (read_later(probing) && file->pid)
			refused_say(&probing->refused, cause);
		return err;
	}
	if (!file->pid)
		return -ENOEXEC;
	refused_add(&probing->refused, library);
	probing->refused.given_up += parse_gave_up(err);
	probing->refused.ended += parse_was_ended(err);
	if (err != -ECHILD) /* of which the session speaks once */
		refused_tell(&probing->refused, file, library->why[0] ? library->why : strerror(-err));
	return -ENOEXEC;
}

size_t probing_unread(const struct probing *probing, size_t *ended)
{
	*ended = probing->refused.ended;
	return probing->refused.given_up;
}

uint64_t probing_unreadable(const struct probing *probing)
{
	return probing->refused.told;
}

bool probing_next_unreadable(struct probing *probing, bool is_last, struct gmt_limit *limit)
{
	return refused_next_limit(&probing->refused, is_last, limit);
}

char *probing_note(struct probing *probing)
{
	return refused_note(&probing->refused);
}

void probing_fail(struct probing *probing, int err, const char *cause)
{
	probing->failed++;
	human_text(probing->why_failed, PROBING_WHY, cause, strlen(cause));
	if (err == -EMFILE || err == -ENFILE)
		probing->is_look_due = true;
	else if (target_may_pass(err) && probing->looks++ < PROBING_LOOKS)
		probing->is_look_due = true;
	else if (parse_may_pass(err))
		read_later(probing);
}

uint64_t probing_failed(const struct probing *probing, const char **why)
{
	*why = probing->why_failed;
	return probing->failed;
}

bool probing_look_is_due(struct probing *probing)
{
	bool is_later = probing->later_ns && stream_now_ns() >= probing->later_ns;
	bool is_due = probing->is_look_due || is_later;

	probing->is_look_due = false;
	if (is_later)
		probing->later_ns = 0;
	return is_due;
}

/* ---- a file ---- */

static void keep_file(struct probing *probing, const struct library *library)
{
	probing->files = xgrow(probing->files, probing->count, sizeof(*probing->files));
	probing->files[probing->count++] = (struct probed_file){
		.library = *library, .number = ++probing->newest, .stays = true, .seen_ns = stream_now_ns(),
	};
}

static int probe_new(struct probing *probing, const struct library_kind *kind, const struct probing_file *file,
		     char *cause, size_t cause_size)
{
	uint64_t start_ns = stream_now_ns();
	struct library library;
	int err;

	if (!probing_wants(probing, kind) || probing_find(probing, file->path))
		return 0;
	if (refused_has(&probing->refused, file->path))
		return -ENOEXEC;
	err = library_ask(probing->client, file->path, kind, &library);
	if (err) {
		snprintf(cause, cause_size, "%s: %s", file->shown, library.why[0] ? library.why : strerror(-err));
		return err == -ENOEXEC || parse_gave_up(err) ?
			       refuse_library(probing, &library, file, err, cause) : err;
	}
	/* A sound library, which may load the real one, as WSL's stub does: nothing is wrong with the file. */
	if (!library.is_one && kind == &library_cuda) {
		snprintf(cause, cause_size, "%s: the library does not export the CUDA driver API", file->shown);
		return -ENOEXEC;
	}
	if (probing_find_same(probing, &library))
		return 0;
	/* Entry probes hurt no process. */
	if (kind == &library_cuda)
		err = attach_guarded(probing, &library, file, cause, cause_size);
	else
		err = attach_points(probing, &library, file, cause, cause_size);
	if (err && kind == &library_cuda)
		return err;
	/* The other layers do not need a framework's library. */
	if (target_may_pass(err) || parse_may_pass(err)) {
		attach_drop(probing->attach, (uint32_t[]){ probing->newest + 1 }, 1);
		probing_fail(probing, err, cause);
		return 0; /* a later look tries again */
	}
	if (err) {
		library.probe_count = 0;
		probing_fail(probing, err, cause);
	}
	keep_file(probing, &library);
	announce_library(probing, &library, file->shown, stream_now_ns() - start_ns);
	return 1;
}

int probing_probe(struct probing *probing, const struct library_kind *kind, const struct probing_file *file,
		  char *cause, size_t cause_size)
{
	int ret;

	*cause = '\0';
	ret = probe_new(probing, kind, file, cause, cause_size);
	if (ret < 0 && !*cause)
		snprintf(cause, cause_size, "%s cannot be probed: %s", file->shown, strerror(-ret));
	if (ret > 0)
		probing->looks = probing->wait_ns = 0;
	if (ret < 0 && ret != -ENOEXEC) /* only its name is a library's */
		probing_fail(probing, ret, cause);
	return ret;
}

int probing_add(struct probing *probing, const char *path, const char *shown, char *cause, size_t cause_size)
{
	const struct probing_file file = { .path = path, .shown = shown };

	return probing_probe(probing, &library_cuda, &file, cause, cause_size);
}

bool probing_has_returns(const struct library *library)
{
	return library->kind == &library_cuda && library->probe_count;
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

		if (probing_has_returns(library) && (mapping->ino == library->ino || kind == library->kind))
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
		if (probing_has_returns(&probing->files[i].library))
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
