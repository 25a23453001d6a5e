/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and lines of Python frames: reads code objects out of a process and keeps their names and line tables.
 *
 * Address and check word (struct gmt_py_frame) identify a code object: another object may have its address later. Kept
 * names stay true when the object is gone. The bytes that are read may be hostile: sizes are bounded, and names become
 * valid UTF-8 without control characters.
 */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYCODE_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYCODE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#include "symbol/python/pylayout.h"

#define PYCODE_NAME_MAX 512          /* characters of a name that are kept */
#define PYCODE_FILE_MAX 4096         /* characters of a file's name */
#define PYCODE_LINES_MAX (1u << 20)  /* bytes of a line table; larger ones give no lines */
#define PYCODE_MEMORY_MAX (64u << 20) /* when there is more, all is forgotten */

/* The place of a frame. The texts are valid until the next pycode_resolve(). */
struct pycode_where {
	const char *function;        /* qualified name (3.11 on), else the name */
	const char *file;
	int line;                    /* 0: the instruction belongs to no line */
	int first_line;              /* of the function */
	bool is_hidden;              /* not begun: Python's own tracebacks leave the frame out (3.11 on) */
};

struct pycode;

/* `code_type`: the address of PyCode_Type, 0 if unknown. Both are copied. */
struct pycode *pycode_new(const struct pylayout *layout, uint64_t code_type);
void pycode_free(struct pycode *codes);

/* 0; -ESTALE: the object is gone, or another has its address; -EINVAL: no code object; else the -errno of `read`. */
int pycode_resolve(struct pycode *codes, const struct gmt_py_frame *frame, py_read_fn read, void *arg,
		   struct pycode_where *where);

#endif
