// SPDX-License-Identifier: BSD-2-Clause
#include "live/features/features_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "live/process/procfs.h"

void feature_say(struct feature *feature, enum feature_state state, const char *format, ...)
{
	va_list args;

	feature->state = state;
	va_start(args, format);
	vsnprintf(feature->detail, sizeof(feature->detail), format, args);
	va_end(args);
}

void feature_advise(struct feature *feature, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(feature->remedy, sizeof(feature->remedy), format, args);
	va_end(args);
}

struct feature_path feature_path(const struct features_where *where, const char *path)
{
	struct feature_path full;

	snprintf(full.text, sizeof(full.text), "%s%s", where->system, path);
	return full;
}

const char *feature_text(const struct features_where *where, const char *path, char *buf, size_t size)
{
	ssize_t len = procfs_read(feature_path(where, path).text, buf, size);

	if (len < 0)
		return NULL;
	if (len && buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	return buf;
}

bool feature_exists(const struct features_where *where, const char *path)
{
	return !access(feature_path(where, path).text, F_OK);
}
