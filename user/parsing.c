// SPDX-License-Identifier: BSD-2-Clause
#include "parsing.h"

#include "live/probe/library_parse.h"
#include "symbol/elf/file_names.h"
#include "symbol/python/pyparse.h"
#include "symbol/unwind/table_parse.h"

const struct parse_table parsing_table = {
	.serve = {
		[PARSE_LIBRARY] = library_serve,
		[PARSE_POINTS] = library_serve_points,
		[PARSE_FACTS] = table_serve_facts,
		[PARSE_TABLE] = table_serve_table,
		[PARSE_EVAL] = pyparse_serve_eval,
		[PARSE_SWITCHERS] = table_serve_switchers,
		[PARSE_OPEN] = file_names_serve_open,
		[PARSE_READ] = file_names_serve_read,
		[PARSE_NAME] = file_names_serve_find,
		[PARSE_CLOSE] = file_names_serve_close,
		[PARSE_PYTHON] = pyparse_serve_python,
		[PARSE_THREADS] = pyparse_serve_threads,
	},
};
