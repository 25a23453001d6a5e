/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of libraries that are probed: what their files are called, what is probed in them and by
 * which program. Adding a library, or a function of a framework, is adding a row in library_kinds.c.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_LIBRARY_KINDS_H
#define GPUMEMTRACE_LIVE_PROBE_LIBRARY_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum library_kind {
	LIBRARY_NONE = -1,
	LIBRARY_CUDA,            /* the driver API: the functions of api.h, entry and return */
	LIBRARY_C10,             /* PyTorch: its memory */
	LIBRARY_TORCH_CPU,       /* what it is doing */
	LIBRARY_TORCH_PYTHON,    /* the ends of that */
	LIBRARY_C10_CUDA,        /* its part for CUDA: who has it may use a GPU; a static probe */
	LIBRARY_KIND_COUNT,
};

/* A function that is probed at its entry alone. */
struct library_hook {
	const char *pattern;     /* of its mangled name, for fnmatch(3) */
	const char *program;     /* the BPF program's name */
	bool is_variant;         /* builds have this one or another: nothing is missing without it */
};

struct library_kind_info {
	const char *stem;        /* the file's name, up to the version: "libcuda.so" */
	uint32_t layer;          /* enum gmt_layer: without it none is probed */
	size_t hook_count;       /* 0: nothing of it is probed, or the functions of api.h */
	const struct library_hook *hooks;
};

const struct library_kind_info *library_kind_info(enum library_kind kind);
bool library_is_probed(enum library_kind kind);   /* whether functions of it are */

/* What a file of this name is. The path need not end with a NUL. */
enum library_kind library_kind_of(const char *path, size_t len);

#endif
