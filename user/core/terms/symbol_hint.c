/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/terms/symbol_hint.h"

#include <stddef.h>
#include <string.h>

/* Source: the code of PyTorch 1.13 and 2.11. A function's name may be qualified; NULL matches any name. */
static const struct {
	const char *function;    /* the end of its name, or a part of it if `is_part` */
	const char *file;        /* a part of its path */
	enum gmt_category category;
	int is_part;
} rows[] = {
	{ "CUDABlasHandle", NULL, GMT_CATEGORY_WORKSPACE, 1 },
	{ "CUDABlasLtWorkspace", NULL, GMT_CATEGORY_WORKSPACE, 1 },
	{ "cublasLtWorkspace", NULL, GMT_CATEGORY_WORKSPACE, 1 },
	{ "_apply", "/torch/nn/modules/module.py", GMT_CATEGORY_PARAMETER, 0 },
	{ "__init__", "/torch/nn/modules/", GMT_CATEGORY_PARAMETER, 0 },
	{ "__new__", "/torch/nn/parameter.py", GMT_CATEGORY_PARAMETER, 0 },
	{ NULL, "/torch/optim/", GMT_CATEGORY_OPTIMIZER_STATE, 0 },
	{ "_call_impl", "/torch/nn/modules/module.py", GMT_CATEGORY_ACTIVATION, 0 },
};

static int ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

uint8_t symbol_hint(const char *function, const char *file)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].file && !strstr(file, rows[i].file))
			continue;
		if (!rows[i].function ||
		    (rows[i].is_part ? strstr(function, rows[i].function) != NULL
				     : ends_with(function, rows[i].function)))
			return rows[i].category;
	}
	return SYMBOL_HINT_NONE;
}
