/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a Python process say, read by a worker without privileges (parse/parser.h). */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYPARSE_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYPARSE_H

#include <gpumemtrace/python.h>

#include "parse/client.h"
#include "symbol/elf/source.h"
#include "symbol/python/pytls.h"

/* Of a file that holds CPython. Addresses are the file's. */
struct pyparse_facts {
	uint64_t runtime, runtime_bytes; /* _PyRuntime */
	uint64_t code_type;              /* PyCode_Type */
	uint64_t version;                /* the value of Py_Version; 0: there is none */
	uint32_t minor;                  /* pyfile_minor(), if there is no version; 0: not found */
	uint32_t eval_count;
	struct gmt_py_range eval[GMT_PY_EVAL_RANGES];
};

/* ---- the worker's side ---- */

int pyparse_serve_python(void **state, struct parse_task *task, struct parse_answer *answer);
int pyparse_serve_threads(void **state, struct parse_task *task, struct parse_answer *answer);
int pyparse_serve_eval(void **state, struct parse_task *task, struct parse_answer *answer);

/* ---- the asker's side: errors as parse_ask() ---- */

/* 0; -ENOENT: no CPython. `shape`: what the headers say. */
int pyparse_python(struct parse_client *client, const struct source_file *file, struct image *shape,
		   struct pyparse_facts *facts);

/* Searches a process's modules for glibc's data. 0; -ENOENT; -ENOTSUP; after an error `why` is the reason in words. */
int pyparse_threads(struct parse_client *client, const struct modules *modules, struct pytls *tls, const char **why);

/* As pyfile_eval_ranges(): how many, or an error. */
int pyparse_eval(struct parse_client *client, const struct source_file *file,
		 struct gmt_py_range ranges[GMT_PY_EVAL_RANGES]);

#endif
