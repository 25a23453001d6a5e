// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/own_code.h"

#include <stdbool.h>
#include <string.h>

/* The first row whose part is in the path decides. */
static const struct {
	const char *part;
	enum own_code code;
} rows[] = {
	{ "/site-packages/", OWN_CODE_PACKAGE },
	{ "/dist-packages/", OWN_CODE_PACKAGE },
	{ "/lib/python3", OWN_CODE_STANDARD },
	{ "/lib64/python3", OWN_CODE_STANDARD },
	/* Names in place of paths: what CPython runs for a user. Others, such as <frozen os> and torch.fx's
	 * <eval_with_key>, are made by libraries. */
	{ "<string>", OWN_CODE_PROGRAM },
	{ "<stdin>", OWN_CODE_PROGRAM },
	{ "<ipython-input", OWN_CODE_PROGRAM },
	{ "<", OWN_CODE_STANDARD },
};

enum own_code own_code_of(const char *file)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_name = rows[i].part[0] == '<';

		if (is_name ? !strncmp(file, rows[i].part, strlen(rows[i].part)) : strstr(file, rows[i].part) != NULL)
			return rows[i].code;
	}
	return OWN_CODE_PROGRAM;
}

const char *own_code_short_name(const char *path)
{
	const char *name = basename(path), *at = name;

	if (strncmp(name, "__", 2) || name == path)
		return name;
	for (at = name - 1; at > path && at[-1] != '/';)
		at--;
	return at;
}
