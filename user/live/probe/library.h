/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the places in a library file where uprobes go. The place of a row of api.h that a libcuda exports, or of a hook
 * of another kind (live/framework/library_kinds.h), is the offset of the instruction to probe. Reads the symbol tables
 * and the first bytes of the functions, not the whole file; a damaged file is an error, never a crash.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_LIBRARY_H
#define GPUMEMTRACE_LIVE_PROBE_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/api.h>

#include "live/framework/library_kinds.h"

struct library_probe {
	uint16_t id;             /* enum gmt_api, the uprobe's cookie; or the hook's number, from 1 on */
	bool shifted;            /* the offset is behind an endbr64 */
	uint64_t offset;         /* in the file */
};

struct library {
	const struct library_kind *kind;
	uint64_t dev, ino;       /* st_dev and st_ino of the file */
	uint64_t size, mtime_ns; /* bytes; since 1970: tell files of one st_ino apart where st_dev does not */
	uint32_t owner;          /* its uid */
	bool overlay;            /* it lies on overlayfs: st_dev is the mount's, not the file's */
	char build_id[41];       /* hex; "" if it has none */
	bool is_one;             /* of its kind. A libcuda exports cuMemAlloc_v2, or cuInit and cuMemCreate */
	uint32_t absent;         /* rows without a function in this file */
	uint32_t aliased;        /* rows left out because an earlier row has the same address */
	uint32_t shifted;        /* probes behind an endbr64 */
	uint32_t probe_count;
	struct library_probe probes[GMT_API_MAX]; /* by ascending id */
	char why[96];            /* after an error: what is wrong with the file */
};

/*
 * 0; -ENOEXEC: not a 64-bit ELF file for this machine's byte order, or damaged (lib->why says what); else -errno of
 * open. A sound file of another kind gives 0 with is_one false. The file is not kept open.
 */
int library_open(const char *path, const struct library_kind *kind, struct library *lib);
int library_read(int fd, const struct library_kind *kind, struct library *lib);

/* Opens the file, and fills in what the file system says of it. A descriptor, or an error as above. */
int library_open_file(const char *path, const struct library_kind *kind, struct library *lib);

/* Takes what another process found in the file of `lib`, if it makes sense. */
bool library_take(struct library *lib, const struct library *found);

/* Whether both were made from one file, as uprobes see files. Through overlayfs a file has several st_dev and one
 * st_ino; a copy has an inode of its own and is another file. */
bool library_same(const struct library *a, const struct library *b);

#endif
