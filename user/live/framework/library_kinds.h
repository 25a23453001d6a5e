/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of libraries that are probed: what their files are called, what is probed in them and by which program.
 * libcuda is one, the others are rows of a framework (frameworks.h).
 */
#ifndef GPUMEMTRACE_LIVE_FRAMEWORK_LIBRARY_KINDS_H
#define GPUMEMTRACE_LIVE_FRAMEWORK_LIBRARY_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/config.h>

struct framework;

/* A function that is probed at its entry alone. */
struct library_hook {
	const char *pattern;     /* of its mangled name, for fnmatch(3) */
	const char *program;     /* the BPF program's name */
	bool is_variant;         /* builds have this one or another: nothing is missing without it */
	struct gmt_fw_layout layout; /* what its arguments are; the framework's number need not be there */
};

/* A static probe (usdt_notes.h) that says what blocks were asked for: placed only where that is wanted. */
struct library_point {
	const char *provider, *name;
	const char *program;
	int args;                /* that the program reads */
};

struct library_kind {
	const char *stem;        /* the file's name, up to the version: "libcuda.so" */
	const struct framework *framework; /* NULL: the driver API, the functions of api.h, entry and return */
	bool is_for_gpus;        /* who has it mapped may use a GPU through the framework */
	size_t hook_count;
	const struct library_hook *hooks;
	const struct library_point *point; /* NULL: none */
};

extern const struct library_kind library_cuda;

/* What a file of this name is; NULL: none of them. The path need not end with a NUL. */
const struct library_kind *library_kind_of(const char *path, size_t len);

/* enum gmt_layer: without it nothing of the library is probed. */
uint32_t library_layer(const struct library_kind *kind);

#endif
