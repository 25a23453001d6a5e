// SPDX-License-Identifier: BSD-2-Clause
/* See cli_values.h. */
#include "cli_values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/out.h"
#include "core/history/history.h"
#include "exit_codes.h"

#define NS_PER_S 1e9
#define SECONDS_MAX (366.0 * 86400)
#define WINDOW_EVENTS_MAX 100000000

int cli_wrong(char **cause, const char *format, ...)
{
	struct out out;
	va_list args;

	out_init_mem(&out);
	va_start(args, format);
	out_vprintf(&out, format, args);
	va_end(args);
	free(*cause);
	*cause = out_take(&out);
	return GMT_EXIT_USAGE;
}

int cli_seconds(const char *name, const char *argument, double least, uint64_t *ns, char **cause)
{
	char *end;
	double seconds = strtod(argument, &end);

	if (end == argument || !isfinite(seconds))
		return cli_wrong(cause, "--%s takes a time in seconds, not '%s'", name, argument);
	if (!strcmp(end, "m"))
		seconds *= 60;
	else if (!strcmp(end, "h"))
		seconds *= 3600;
	else if (*end && strcmp(end, "s"))
		return cli_wrong(cause, "--%s takes a time in seconds (or 5m, 2h), not '%s'", name, argument);
	if (seconds < least || seconds <= 0)
		return cli_wrong(cause, "--%s must be at least %g seconds, not '%s'", name, least, argument);
	if (seconds > SECONDS_MAX)
		return cli_wrong(cause, "--%s must be at most a year, not '%s'", name, argument);
	*ns = (uint64_t)(seconds * NS_PER_S);
	return 0;
}

int cli_size(const char *name, const char *argument, uint64_t most, uint64_t *bytes, char **cause)
{
	static const char units[] = "kmgt";
	unsigned long long value;
	const char *unit;
	char *end;

	errno = 0;
	value = isdigit((unsigned char)*argument) ? strtoull(argument, &end, 10) : 0;
	if (!value || errno)
		return cli_wrong(cause, "--%s takes a size like 16M, not '%s'", name, argument);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		end++;
		if (__builtin_mul_overflow(value, 1ull << 10 * (unit - units + 1), &value))
			value = ULLONG_MAX;
	}
	if (*end && strcasecmp(end, "b") && (!unit || strcasecmp(end, "ib")))
		return cli_wrong(cause, "--%s takes a size like 16M, not '%s'", name, argument);
	if (value > most)
		return cli_wrong(cause, "--%s must be at most %lluG, not '%s'", name,
				 (unsigned long long)most >> 30, argument);
	*bytes = value;
	return 0;
}

int cli_count(const char *name, const char *argument, uint32_t least, uint32_t most, uint32_t *count, char **cause)
{
	unsigned long value;
	char *end = NULL;

	errno = 0;
	value = isdigit((unsigned char)*argument) ? strtoul(argument, &end, 10) : 0;
	if (!end || *end || errno)
		return cli_wrong(cause, "--%s takes a number, not '%s'", name, argument);
	if (value < least || value > most)
		return cli_wrong(cause, "--%s takes a number from %u to %u, not '%s'", name, least, most, argument);
	*count = (uint32_t)value;
	return 0;
}

/* One of the list. */
static bool take_window(const char *text, size_t size, uint64_t *events, uint64_t *ns)
{
	static const struct { const char *unit; double events, seconds; } units[] = {
		{ "", 1, 0 }, { "k", 1e3, 0 }, { "M", 1e6, 0 }, { "s", 0, 1 }, { "min", 0, 60 }, { "h", 0, 3600 },
		{ "KiB", 1024.0 / sizeof(struct history_event), 0 },
		{ "MiB", 1048576.0 / sizeof(struct history_event), 0 },
		{ "GiB", 1073741824.0 / sizeof(struct history_event), 0 },
	};
	char *end;
	double value = isdigit((unsigned char)*text) ? strtod(text, &end) : 0;
	size_t unit = 0, left;

	if (!isfinite(value) || value <= 0 || end > text + size)
		return false;
	left = (size_t)(text + size - end);
	while (unit < sizeof(units) / sizeof(units[0]) &&
	       (strlen(units[unit].unit) != left || strncmp(units[unit].unit, end, left)))
		unit++;
	if (unit == sizeof(units) / sizeof(units[0]))
		return false;
	if (units[unit].seconds) {
		*ns = (uint64_t)(value * units[unit].seconds * NS_PER_S);
		return *ns && value * units[unit].seconds <= SECONDS_MAX;
	}
	*events = (uint64_t)(value * units[unit].events);
	return *events && value * units[unit].events <= WINDOW_EVENTS_MAX;
}

int cli_window(const char *argument, uint64_t *events, uint64_t *ns, char **cause)
{
	if (!strcmp(argument, "off")) {
		*events = 0;
		return 0;
	}
	for (const char *p = argument;; p++) {
		size_t size = strcspn(p, ",");

		if (!take_window(p, size, events, ns))
			return cli_wrong(cause, "--window takes a number of events (200k), a time (60s, 5min), an"
					 " amount of memory (16MiB), a list of these, or off, not '%s'", argument);
		p += size;
		if (!*p)
			return 0;
	}
}
