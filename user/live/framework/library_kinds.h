/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libraries that are probed: libcuda, and the libraries of frameworks whose allocators are watched
 * (<gpumemtrace/fw.h> lists the frameworks). Each framework has a file in this folder. The file names the libraries,
 * the functions to probe with their programs, and the settings of the environment that matter.
 */
#ifndef GPUMEMTRACE_LIVE_FRAMEWORK_LIBRARY_KINDS_H
#define GPUMEMTRACE_LIVE_FRAMEWORK_LIBRARY_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/config.h>
#include <gpumemtrace/wire.h>

struct framework;

/* The program for the function that an allocator reports its blocks to. */
#define FRAMEWORK_BLOCKS "fw_block"

/* A function that is probed at its entry alone. */
struct library_hook {
	const char *pattern;     /* of its mangled name, for fnmatch(3) */
	const char *program;     /* the BPF program's name */
	bool is_variant;         /* a build has one of several variants: the others are not missed */
	struct gmt_fw_layout layout; /* what its arguments are; may lack the framework's number */
};

/* A static probe (usdt_notes.h) that reports the requested sizes of blocks. It is placed only if they are wanted. */
struct library_point {
	const char *provider, *name;
	const char *program;
	int args;                /* that the program reads */
};

struct library_kind {
	const char *stem;        /* the file's name, up to the version: "libcuda.so" */
	const struct framework *framework; /* NULL: the driver API, the functions of api.h, entry and return */
	bool is_for_gpus;        /* a process that maps the library may use a GPU through the framework */
	size_t hook_count;
	const struct library_hook *hooks;
	const struct library_point *point; /* NULL: none */
};

/* A variable of the environment that says what a framework's allocator will do. */
struct framework_setting {
	const char *name;
	const char *value;       /* an item of a list with commas; blanks do not count; NULL: any value */
	uint32_t flag;           /* enum gmt_framework_flag */
};

struct framework {
	enum gmt_fw id;
	size_t library_count;
	const struct library_kind *libraries;
	size_t setting_count;
	const struct framework_setting *settings;
};

extern const struct library_kind library_cuda;
#define X(name, value, row, text) extern const struct framework framework_##row;
GMT_FRAMEWORKS(X)
#undef X

const struct framework *framework_of(enum gmt_fw id);   /* below GMT_FW_COUNT */

/* The kind of a file of this name; NULL: the file is not probed. The path need not end with a NUL. */
const struct library_kind *library_kind_of(const char *path, size_t len);

#endif
