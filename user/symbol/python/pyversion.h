/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds CPython in a running process: its module, its version, and all that BPF and user space need to read its frames.
 * The version's table has to agree with the sizes in the interpreter's own type objects. The place of thread states has
 * to lead to a thread state that names its thread.
 *
 * An interpreter that fails these checks is refused with a reason in words. Stacks then have native frames only.
 */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYVERSION_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYVERSION_H

#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/python.h>

#include "symbol/python/pylayout.h"

struct parse_client;

struct pyversion {
	struct gmt_py_config config; /* for BPF */
	struct pylayout layout;      /* for pycode_new() */
	uint64_t code_type;          /* address of PyCode_Type: likewise */
	uint64_t runtime;            /* address of _PyRuntime; 0: not CPython */
	uint64_t bias;               /* of its module: address - vaddr. Eval ranges are addresses */
	uint64_t dev, ino;           /* of its module's file */
	char path[256];              /* as the process sees it; cut if longer */
	char why[160];               /* the reason for an error other than -ENOENT; can be printed */
};

/*
 * 0; -ENOENT: no CPython in this process (a program may load it later); -EAGAIN: CPython is starting up,
 * ask again; -ENOTSUP: a CPython that is not supported; parse_gave_up(): its file cannot be read; else -errno.
 */
int pyversion_find(pid_t pid, struct parse_client *client, struct pyversion *python);

/* A py_read_fn of a process's memory; arg: pid_t *. */
int pyversion_read(void *arg, uint64_t addr, void *dst, size_t n);

#endif
