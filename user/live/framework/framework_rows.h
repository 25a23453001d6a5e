/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frameworks whose allocators are watched (the list is in <gpumemtrace/fw.h>): each is a file of this folder
 * that says which libraries it has, what is probed in them, and which settings of the environment matter.
 */
#ifndef GPUMEMTRACE_LIVE_FRAMEWORK_FRAMEWORK_ROWS_H
#define GPUMEMTRACE_LIVE_FRAMEWORK_FRAMEWORK_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "live/framework/library_kinds.h"

/* The program for the function that an allocator reports its blocks to. */
#define FRAMEWORK_BLOCKS "fw_block"

/* A variable of the environment that says what a framework's allocator will do. */
struct framework_setting {
	const char *name;
	const char *value;       /* one of those that are separated by commas, blanks apart; NULL: any value */
	uint32_t flag;           /* enum gmt_framework_flag */
};

struct framework {
	enum gmt_fw id;
	size_t library_count;
	const struct library_kind *libraries;
	size_t setting_count;
	const struct framework_setting *settings;
};

#define X(name, value, row, text) extern const struct framework framework_##row;
GMT_FRAMEWORKS(X)
#undef X

const struct framework *framework_of(enum gmt_fw id);   /* below GMT_FW_COUNT */

#endif
