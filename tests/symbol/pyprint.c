// SPDX-License-Identifier: BSD-2-Clause
/* See pyprint.h. */
#include "pyprint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/parse_child.h"
#include "core/terms/names.h"
#include "symbol/python/pycode.h"
#include "symbol/python/pyparse.h"

static const struct parse_table table = {
	.serve = { [PARSE_PYTHON] = pyparse_serve_python, [PARSE_THREADS] = pyparse_serve_threads },
};

void pyprint_find(pid_t pid, struct pyversion *python)
{
	struct parse_child child = parse_child_start(&table);
	int err = pyversion_find(pid, child.client, python);

	parse_child_end(&child);

	if (err) {
		fprintf(stderr, "%s: %s\n", err == -ENOENT ? "no CPython" : "refused",
			python->why[0] ? python->why : strerror(-err));
		exit(3);
	}
}

void pyprint_frames(const struct pyversion *python, pid_t pid, const struct gmt_py_frame *frames, size_t count)
{
	struct pycode *codes = pycode_new(&python->layout, python->code_type);

	for (size_t i = 0; i < count; i++) {
		struct pycode_where where;
		int err = pycode_resolve(codes, &frames[i], pyversion_read, &pid, &where);

		if (err)
			printf("?\t?\t%s\n", strerror(-err));
		else if (!where.is_hidden)
			printf("%s\t%s\t%d\n", where.function, where.file, where.line);
	}
	pycode_free(codes);
}

const char *pyprint_reason(unsigned int reason)
{
	return gmt_py_reason_text(reason);
}
