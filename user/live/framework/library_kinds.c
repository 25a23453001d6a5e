// SPDX-License-Identifier: BSD-2-Clause
#include "live/framework/library_kinds.h"

#include <string.h>

#include <gpumemtrace/wire.h>

#include "live/framework/framework_rows.h"

const struct library_kind library_cuda = { .stem = "libcuda.so" };

uint32_t library_layer(const struct library_kind *kind)
{
	return kind->framework ? GMT_LAYER_FRAMEWORK : GMT_LAYER_API;
}

/* The stem alone or with a version, not libcudart.so, libcudadebugger.so, libcuda_loader.so. */
static bool is_named(const char *base, size_t len, const char *stem)
{
	size_t stem_len = strlen(stem);

	return len >= stem_len && !memcmp(base, stem, stem_len) && (len == stem_len || base[stem_len] == '.');
}

static const struct library_kind *kind_in(const struct framework *framework, const char *base, size_t len)
{
	for (size_t i = 0; i < framework->library_count; i++)
		if (is_named(base, len, framework->libraries[i].stem))
			return &framework->libraries[i];
	return NULL;
}

const struct library_kind *library_kind_of(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *base = slash ? slash + 1 : path;
	const struct library_kind *kind = NULL;

	len -= (size_t)(base - path);
	if (is_named(base, len, library_cuda.stem))
		return &library_cuda;
	for (unsigned int id = 0; id < GMT_FW_COUNT && !kind; id++)
		kind = kind_in(framework_of(id), base, len);
	return kind;
}
