/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of probed files, for probed_files.c and probed_processes.c alone. */
#ifndef GPUMEMTRACE_LIVE_PROBE_PROBING_H
#define GPUMEMTRACE_LIVE_PROBE_PROBING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/probe/refused_files.h"
#include "live/probe/trial.h"
#include "live/probe/unmapped.h"

#define PROBING_WHY 100         /* columns */
#define PROBING_LOOKS 5         /* for files that cannot be opened: a file that vanished does not come back */

struct attach;
struct library_kind;
struct parse_client;
struct quota;
struct stream;

struct probing {
	struct attach *attach;
	struct stream *stream;
	struct trial trial;
	uint64_t next_guard_ns;
	struct quota *quota;
	struct parse_client *client;
	struct refused_files refused;
	struct probed_file *files;
	size_t count;
	uint32_t newest;             /* number */
	struct unmapped unmapped;
	uint32_t layers;
	bool with_sizes;
	uint64_t failed;             /* attempts to probe a library, and why the newest one failed: */
	char why_failed[4 * PROBING_WHY + 1];
	bool is_look_due;            /* what failed may work later */
	uint64_t later_ns, wait_ns;  /* when files are read again that could not be read for a reason that passes */
	unsigned int looks;          /* ... for files that cannot be opened, since a file was probed */
};

/* An attempt failed. The cause may hold foreign text. */
void probing_fail(struct probing *probing, int err, const char *cause);

/* Whether the libraries of a kind are probed in this session. */
bool probing_wants(const struct probing *probing, const struct library_kind *kind);

/* Finds a file by its inode, without reading it: libtorch_cpu's symbols take 15 ms, and each process of a job maps the
 * file. NULL: the file is not there, or has another st_dev (library_same()). */
const struct library *probing_find(const struct probing *probing, const char *path);
const struct library *probing_find_same(const struct probing *probing, const struct library *library);

/* Notes which inode the mappings of a probed file have. */
void probing_note_inode(struct probing *probing, const char *path, uint64_t ino);

/* Probes a file that is not probed yet. Returns as probing_add(). */
int probing_probe(struct probing *probing, const struct library_kind *kind, const struct probing_file *file,
		  char *cause, size_t cause_size);

bool probing_has_returns(const struct library *library);

#endif
