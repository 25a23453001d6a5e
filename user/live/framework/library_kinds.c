// SPDX-License-Identifier: BSD-2-Clause
#include "live/framework/library_kinds.h"

#include <string.h>

#include "base/path.h"

const struct library_kind library_cuda = { .stem = "libcuda.so" };

static const struct framework *const frameworks[GMT_FW_COUNT] = {
#define X(name, value, row, text) [GMT_FW_##name] = &framework_##row,
	GMT_FRAMEWORKS(X)
#undef X
};

const struct framework *framework_of(enum gmt_fw id)
{
	return frameworks[id];
}

/* Whether the name is the stem, alone or with a version. libcudart.so, for example, is no libcuda.so. */
static bool is_named(const char *base, size_t len, const char *stem)
{
	size_t stem_len = strlen(stem);

	return len >= stem_len && !memcmp(base, stem, stem_len) && (len == stem_len || base[stem_len] == '.');
}

const struct library_kind *library_kind_of(const char *path, size_t len)
{
	const char *base = path_base_sized(path, len);

	len -= (size_t)(base - path);
	if (is_named(base, len, library_cuda.stem))
		return &library_cuda;
	for (unsigned int id = 0; id < GMT_FW_COUNT; id++)
		for (size_t i = 0; i < frameworks[id]->library_count; i++)
			if (is_named(base, len, frameworks[id]->libraries[i].stem))
				return &frameworks[id]->libraries[i];
	return NULL;
}
