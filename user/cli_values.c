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

#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "core/history/history.h"
#include "core/terms/names.h"
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

static void *field_of(const struct cli_option *option, struct options *options)
{
	return (char *)options + option->offset;
}

int cli_take_flag(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	(void)argument, (void)cause;
	*(bool *)field_of(option, options) = true;
	return 0;
}

int cli_take_times(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	unsigned int *times = field_of(option, options);

	(void)argument, (void)cause;
	++*times;
	return 0;
}

int cli_take_set(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	(void)argument, (void)cause;
	*(int *)field_of(option, options) = option->value;
	return 0;
}

int cli_take_text(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	(void)cause;
	*(const char **)field_of(option, options) = argument;
	return 0;
}

int cli_take_place(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	struct cli_place *place = field_of(option, options);

	(void)cause;
	place->is_off = !strcmp(argument, "off");
	place->path = place->is_off ? NULL : argument;
	return 0;
}

int cli_take_list(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	struct cli_list *list = field_of(option, options);

	(void)cause;
	list->texts = xreallocarray(list->texts, list->count + 1, sizeof(argument));
	list->texts[list->count++] = argument;
	return 0;
}

/* ---- processes ---- */

static void add_pid_once(struct cli_pids *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->count; i++)
		if (pids->list[i] == pid)
			return;
	pids->list = xreallocarray(pids->list, pids->count + 1, sizeof(pid));
	pids->list[pids->count++] = pid;
}

int cli_take_pids(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	const char *p = argument;

	for (;;) {
		char *end;
		long pid;

		errno = 0;
		pid = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : 0;
		if (pid <= 0 || errno || pid > INT_MAX || (*end && *end != ','))
			return cli_wrong(cause, "'%s' is not a process id or a comma-separated list of them",
				     argument);
		add_pid_once(field_of(option, options), (pid_t)pid);
		if (!*end)
			return 0;
		p = end + 1;
	}
}

/* ---- numbers ---- */

static int parse_time(const struct cli_option *option, uint64_t *ns, const char *argument, char **cause)
{
	char *end;
	double seconds = strtod(argument, &end);

	if (end == argument || !isfinite(seconds))
		return cli_wrong(cause, "--%s takes a time in seconds, not '%s'", option->name, argument);
	if (!strcmp(end, "m"))
		seconds *= 60;
	else if (!strcmp(end, "h"))
		seconds *= 3600;
	else if (*end && strcmp(end, "s"))
		return cli_wrong(cause, "--%s takes a time in seconds (or 5m, 2h), not '%s'", option->name, argument);
	if (seconds < (double)option->least / NS_PER_S)
		return cli_wrong(cause, "--%s must be at least %g seconds, not '%s'", option->name,
				 (double)option->least / NS_PER_S, argument);
	if (seconds > SECONDS_MAX)
		return cli_wrong(cause, "--%s must be at most a year, not '%s'", option->name, argument);
	*ns = (uint64_t)(seconds * NS_PER_S);
	return 0;
}

int cli_take_time(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	return parse_time(option, field_of(option, options), argument, cause);
}

int cli_take_moment(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	struct cli_moment *moment = field_of(option, options);
	uint64_t ns = 0;
	int err = parse_time(option, &ns, argument, cause);

	*moment = (struct cli_moment){ .ns = (int64_t)ns, .is_given = !err };
	return err;
}

int cli_take_size(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	static const char units[] = "kmgt";
	unsigned long long value;
	const char *unit;
	char *end;

	errno = 0;
	value = isdigit((unsigned char)*argument) ? strtoull(argument, &end, 10) : 0;
	if (!value || errno)
		return cli_wrong(cause, "--%s takes a size like 16M, not '%s'", option->name, argument);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		end++;
		if (__builtin_mul_overflow(value, 1ull << 10 * (unit - units + 1), &value))
			value = ULLONG_MAX;
	}
	if (*end && strcasecmp(end, "b") && (!unit || strcasecmp(end, "ib")))
		return cli_wrong(cause, "--%s takes a size like 16M, not '%s'", option->name, argument);
	if (value > option->most)
		return cli_wrong(cause, "--%s must be at most %lluG, not '%s'", option->name,
				 (unsigned long long)option->most >> 30, argument);
	*(uint64_t *)field_of(option, options) = value;
	return 0;
}

int cli_take_power(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	uint64_t *bytes = field_of(option, options), power = option->least;
	int err = cli_take_size(option, options, argument, cause);

	while (!err && power < *bytes)
		power *= 2;
	*bytes = power;
	return err;
}

int cli_take_number(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	unsigned long value;
	char *end = NULL;

	errno = 0;
	value = isdigit((unsigned char)*argument) ? strtoul(argument, &end, 10) : 0;
	if (!end || *end || errno)
		return cli_wrong(cause, "--%s takes a number, not '%s'", option->name, argument);
	if (value < option->least || value > option->most)
		return cli_wrong(cause, "--%s takes a number from %u to %u, not '%s'", option->name,
				 (unsigned int)option->least, (unsigned int)option->most, argument);
	*(uint32_t *)field_of(option, options) = (uint32_t)value;
	return 0;
}

/* ---- words ---- */

static int find_word(const char *const *words, const char *text, size_t size)
{
	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == size && !strncmp(words[i], text, size))
			return i;
	return -1;
}

/* "--color takes auto, always or never, not 'red'". */
static int refuse_word(const struct cli_option *option, const char *last, const char *argument, char **cause)
{
	struct out out;
	char *list;
	int err;

	out_init_mem(&out);
	for (size_t i = 0; option->words[i]; i++)
		out_printf(&out, "%s%s", !i ? "" : option->words[i + 1] ? ", " : last, option->words[i]);
	list = out_take(&out);
	err = cli_wrong(cause, "--%s takes %s, not '%s'", option->name, list, argument);
	free(list);
	return err;
}

int cli_take_word(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	int index = find_word(option->words, argument, strlen(argument));

	if (index < 0)
		return refuse_word(option, " or ", argument, cause);
	*(int *)field_of(option, options) = index;
	return 0;
}

int cli_take_words(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	uint32_t *bits = field_of(option, options), wanted = 0;

	for (const char *p = argument; *p; p += strcspn(p, ","), p += *p == ',') {
		int index = find_word(option->words, p, strcspn(p, ","));

		if (index < 0)
			return refuse_word(option, " and ", argument, cause);
		wanted |= 1u << index;
	}
	*bits = wanted;
	return 0;
}

/* ---- record kinds ---- */

/* The kinds of the kernel in the low half, those of the collector in the high one. */
uint64_t cli_kind_bit(unsigned int kind)
{
	unsigned int low = kind & (GMT_KIND_USER_FIRST - 1);

	return low < 32 ? 1ull << (low + (kind >= GMT_KIND_USER_FIRST ? 32 : 0)) : 0;
}

#define X(name, value, type, text) \
	_Static_assert((value & (GMT_KIND_USER_FIRST - 1)) < 32, "each kind has a bit");
GMT_KINDS(X)
#undef X

int cli_take_kinds(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	uint64_t *kinds = field_of(option, options);

	for (const char *p = argument;; p++) {
		size_t size = strcspn(p, ",");
		unsigned int kind = gmt_kind_find(p, size);

		if (!kind)
			return cli_wrong(cause, "there is no record kind '%.*s':"
					 " include/gpumemtrace/wire.h lists the kinds", (int)size, p);
		*kinds |= cli_kind_bit(kind);
		p += size;
		if (!*p)
			return 0;
	}
}

/* ---- what --window takes: 200k (events), 60s, 16MiB (of memory), or some of these with commas between; off ---- */

/* One of the list. */
static bool parse_limit(const char *text, size_t size, struct cli_window *window)
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
		window->ns = (uint64_t)(value * units[unit].seconds * NS_PER_S);
		return window->ns && value * units[unit].seconds <= SECONDS_MAX;
	}
	window->events = (uint64_t)(value * units[unit].events);
	return window->events && value * units[unit].events <= WINDOW_EVENTS_MAX;
}

int cli_take_window(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	struct cli_window *window = field_of(option, options);

	if (!strcmp(argument, "off")) {
		window->events = 0;
		return 0;
	}
	for (const char *p = argument;; p++) {
		size_t size = strcspn(p, ",");

		if (!parse_limit(p, size, window))
			return cli_wrong(cause, "--%s takes a number of events (200k), a time (60s, 5min), an amount of"
					 " memory (16MiB), a list of these, or off, not '%s'", option->name, argument);
		p += size;
		if (!*p)
			return 0;
	}
}
