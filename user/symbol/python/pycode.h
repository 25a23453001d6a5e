/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and lines of Python frames: reads code objects out of a process and keeps what they say.
 *
 * A code object is known by its address and check word (struct gmt_py_frame): an address alone may
 * meanwhile hold another one. What is kept stays true after the object is gone. Everything read is
 * taken for hostile: sizes are bounded, names are made valid UTF-8 without control characters.
 */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYCODE_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#include "symbol/python/pylayout.h"

#define PYCODE_NAME_MAX 512          /* characters of a name that are kept */
#define PYCODE_FILE_MAX 4096         /* of a file's */
#define PYCODE_LINES_MAX (1u << 20)  /* bytes of a line table; larger ones give no lines */
#define PYCODE_MEMORY_MAX (64u << 20) /* when there is more, all is forgotten */

/* Where a frame is. The texts stay until the next pycode_resolve(). */
struct pycode_where {
	const char *function;        /* qualified name (3.11 on), else the name */
	const char *file;
	int line;                    /* 0: the instruction belongs to no line */
	int first_line;              /* of the function */
	bool is_hidden;              /* not begun yet: Python's own tracebacks leave it out (3.11 on) */
};

struct pycode;

/* `code_type`: the address of PyCode_Type, 0 if unknown. Both are copied. */
struct pycode *pycode_new(const struct pylayout *layout, uint64_t code_type);
void pycode_free(struct pycode *codes);

/*
 * 0; -ESTALE: the object is gone, what lies there now is another one; -EINVAL: no code object;
 * else the -errno of `read`.
 */
int pycode_resolve(struct pycode *codes, const struct gmt_py_frame *frame, py_read_fn read, void *arg,
		   struct pycode_where *where);

#endif
