// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/settings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "live/framework/library_kinds.h"
#include "live/process/procfs.h"

/* Whether a list with commas has an item. Blanks do not count. */
static bool has_value(const char *value, const char *end, const char *one)
{
	while (value < end) {
		const char *wanted = one;

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

static bool is_set(const struct framework_setting *setting, const char *at, const char *end)
{
	const char *equals = memchr(at, '=', (size_t)(end - at));

	return equals && strlen(setting->name) == (size_t)(equals - at) &&
	       !memcmp(at, setting->name, (size_t)(equals - at)) &&
	       (!setting->value || has_value(equals + 1, end, setting->value));
}

static uint32_t flags_of(const struct framework *framework, const char *at, const char *end)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < framework->setting_count; i++)
		if (is_set(&framework->settings[i], at, end))
			flags |= framework->settings[i].flag;
	return flags;
}

uint32_t settings_parse(const struct framework *framework, const char *bytes, size_t size)
{
	const char *at = bytes, *end = bytes + size;
	uint32_t flags = 0;

	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));

		flags |= flags_of(framework, at, stop ? stop : end);
		at = (stop ? stop : end) + 1;
	}
	return flags;
}

uint32_t settings_read(const struct framework *framework, pid_t pid)
{
	char *bytes = xmalloc(PROCFS_STRINGS_MAX);
	ssize_t size = procfs_read_pid(pid, "environ", bytes, PROCFS_STRINGS_MAX);
	uint32_t flags = size > 0 ? settings_parse(framework, bytes, (size_t)size) : 0;

	free(bytes);
	return flags;
}
