// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/torch_env.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"

#define ENVIRON_MAX (256 * 1024)

/* Settings that other frameworks have under their own names are not PyTorch's. */
static const struct {
	const char *name;
	const char *setting;     /* among others, separated by commas; NULL: that it is there is enough */
	uint32_t flag;
} rules[] = {
	{ "PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, GMT_FRAMEWORK_UNCACHED },
};

/* PyTorch passes over blanks. */
static bool has_setting(const char *value, const char *end, const char *setting)
{
	while (value < end) {
		const char *wanted = setting;

		for (; value < end && *value != ','; value++) {
			if (*value == ' ')
				continue;
			wanted = wanted && *wanted == *value ? wanted + 1 : NULL;
		}
		if (wanted && !*wanted)
			return true;
		value++;
	}
	return false;
}

static uint32_t flags_of(const char *at, const char *end)
{
	const char *equals = memchr(at, '=', (size_t)(end - at));
	uint32_t flags = 0;

	for (size_t i = 0; equals && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strlen(rules[i].name) == (size_t)(equals - at) &&
		    !memcmp(at, rules[i].name, (size_t)(equals - at)) &&
		    (!rules[i].setting || has_setting(equals + 1, end, rules[i].setting)))
			flags |= rules[i].flag;
	return flags;
}

uint32_t torch_env_parse(const char *bytes, size_t size)
{
	const char *at = bytes, *end = bytes + size;
	uint32_t flags = 0;

	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));

		flags |= flags_of(at, stop ? stop : end);
		at = (stop ? stop : end) + 1;
	}
	return flags;
}

uint32_t torch_env_read(pid_t pid)
{
	char *bytes = xmalloc(ENVIRON_MAX);
	ssize_t size = procfs_read_pid(pid, "environ", bytes, ENVIRON_MAX);
	uint32_t flags = size > 0 ? torch_env_parse(bytes, (size_t)size) : 0;

	free(bytes);
	return flags;
}
