// SPDX-License-Identifier: BSD-2-Clause
#include "live/probing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "live/attach.h"
#include "live/library.h"
#include "live/stream.h"
#include "live/target.h"

struct probing {
	struct attach *attach;
	struct stream *stream;
	struct library *libraries;
	size_t count;
	uint32_t layers;
};

struct probing *probing_new(struct attach *attach, struct stream *stream, uint32_t layers)
{
	struct probing *probing = xcalloc(1, sizeof(*probing));

	probing->attach = attach;
	probing->stream = stream;
	probing->layers = layers;
	return probing;
}

void probing_free(struct probing *probing)
{
	if (!probing)
		return;
	free(probing->libraries);
	free(probing);
}

static void announce(struct probing *probing, const struct library *library, const char *shown, uint64_t took_ns)
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
	const struct library_kind_info *info = library_kind_info(library->kind);

	for (uint32_t i = 0; i < library->probe_count; i++) {
		const struct library_probe *probe = &library->probes[i];
		int err = attach_hook(probing->attach, path, info->hooks[probe->id - 1].program, probe->offset,
				      cause, cause_size);

		if (err)
			return err;
	}
	return 0;
}

static int attach_points(struct probing *probing, const struct library *library, const char *path, char *cause,
			 size_t cause_size)
{
	struct attach_point points[GMT_API_MAX];

	if (library->kind != LIBRARY_CUDA)
		return attach_hooks(probing, library, path, cause, cause_size);
	for (uint32_t i = 0; i < library->probe_count; i++)
		points[i] = (struct attach_point){ library->probes[i].offset, library->probes[i].id };
	return attach_library(probing->attach, path, probing->count + 1, points, library->probe_count, cause,
			      cause_size);
}

static int add(struct probing *probing, enum library_kind kind, const char *path, const char *shown, char *cause,
	       size_t cause_size)
{
	uint64_t start_ns = stream_now_ns();
	struct library library;
	int err;

	if (!(probing->layers & library_kind_info(kind)->layer))
		return 0;
	err = library_open(path, kind, &library);
	if (!err && !library.is_one && kind == LIBRARY_CUDA) {
		err = -ENOEXEC;
		snprintf(library.why, sizeof(library.why), "it does not export the CUDA driver API");
	}
	if (err) {
		snprintf(cause, cause_size, "%s: %s", shown, library.why[0] ? library.why : strerror(-err));
		return err;
	}
	for (size_t i = 0; i < probing->count; i++)
		if (library_same(&probing->libraries[i], &library))
			return 0;
	err = attach_points(probing, &library, path, cause, cause_size);
	if (err && kind == LIBRARY_CUDA)
		return err;
	/* Without a framework's library the other layers are as good as ever. */
	if (err)
		library.probe_count = 0;
	probing->libraries = xreallocarray(probing->libraries, probing->count + 1, sizeof(library));
	probing->libraries[probing->count++] = library;
	announce(probing, &library, shown, stream_now_ns() - start_ns);
	return 1;
}

int probing_add(struct probing *probing, const char *path, const char *shown, char *cause, size_t cause_size)
{
	return add(probing, LIBRARY_CUDA, path, shown, cause, cause_size);
}

struct walk {
	struct probing *probing;
	char *cause;
	size_t cause_size;
	int added;
};

static int add_found(const struct target_library *found, void *arg)
{
	struct walk *walk = arg;
	int ret = add(walk->probing, found->kind, found->attach_path, found->path, walk->cause, walk->cause_size);

	if (ret == -ENOEXEC) /* named like one, but none */
		return 0;
	if (ret > 0)
		walk->added++;
	return ret < 0 ? ret : 0;
}

int probing_add_process(struct probing *probing, pid_t pid, char *cause, size_t cause_size)
{
	struct walk walk = { probing, cause, cause_size, 0 };
	int err = target_libraries(pid, add_found, &walk);

	return err ? err : walk.added;
}

int probing_add_all(struct probing *probing, char *cause, size_t cause_size)
{
	struct walk walk = { probing, cause, cause_size, 0 };
	int err = target_scan(add_found, &walk, NULL);

	return err ? err : walk.added;
}

size_t probing_count(const struct probing *probing)
{
	size_t count = 0;

	for (size_t i = 0; i < probing->count; i++)
		count += probing->libraries[i].kind == LIBRARY_CUDA;
	return count;
}
