// SPDX-License-Identifier: BSD-2-Clause
#include "cli/cli_values.h"

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

#include "base/count.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "core/history/history.h"
#include "core/terms/names.h"
#include "cli/exit_codes.h"

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

/* "--duration takes a time in seconds, not 'x'" */
#define REFUSE_VALUE(given, format, ...)                                                             \
	cli_wrong((given)->cause, "--%s " format ", not '%s'", (given)->option->name, ##__VA_ARGS__, (given)->text)

int cli_take_flag(const struct cli_given *given)
{
	*(cli_flag *)given->member = true;
	return 0;
}

int cli_take_times(const struct cli_given *given)
{
	++*(cli_times *)given->member;
	return 0;
}

int cli_take_set(const struct cli_given *given)
{
	*(cli_set *)given->member = given->option->value;
	return 0;
}

int cli_take_text(const struct cli_given *given)
{
	*(cli_text *)given->member = given->text;
	return 0;
}

int cli_take_place(const struct cli_given *given)
{
	bool is_off = !strcmp(given->text, "off");

	*(cli_place *)given->member = (cli_place){ .path = is_off ? NULL : given->text, .is_off = is_off };
	return 0;
}

int cli_take_list(const struct cli_given *given)
{
	cli_list *list = given->member;

	list->texts = xreallocarray(list->texts, list->count + 1, sizeof(*list->texts));
	list->texts[list->count++] = given->text;
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

int cli_take_pids(const struct cli_given *given)
{
	struct cli_pids *pids = given->member;

	/* Digits and commas are no name, nor is what looks like an option. */
	if (given->text[0] != '-' && given->text[strspn(given->text, "0123456789,")]) {
		pids->names = xreallocarray(pids->names, pids->name_count + 1, sizeof(*pids->names));
		pids->names[pids->name_count++] = given->text;
		return 0;
	}
	for (const char *p = given->text;; p++) {
		char *end;
		long pid;

		errno = 0;
		pid = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : 0;
		if (pid <= 0 || errno || pid > INT_MAX || (*end && *end != ','))
			return cli_wrong(given->cause, "'%s' is not a process id or a comma-separated list of them",
					 given->text);
		add_pid_once(pids, (pid_t)pid);
		p = end;
		if (!*p)
			return 0;
	}
}

/* ---- numbers ---- */

static int parse_time(const struct cli_given *given, uint64_t *ns)
{
	double least = (double)given->option->least / NS_PER_S;
	char *end;
	double seconds = strtod(given->text, &end);

	if (end == given->text || !isfinite(seconds))
		return REFUSE_VALUE(given, "takes a time in seconds");
	if (!strcmp(end, "m"))
		seconds *= 60;
	else if (!strcmp(end, "h"))
		seconds *= 3600;
	else if (*end && strcmp(end, "s"))
		return REFUSE_VALUE(given, "takes a time in seconds (or 5m, 2h)");
	if (seconds < least)
		return REFUSE_VALUE(given, "must be at least %g seconds", least);
	if (seconds > SECONDS_MAX)
		return REFUSE_VALUE(given, "must be at most a year");
	*ns = (uint64_t)(seconds * NS_PER_S);
	return 0;
}

int cli_take_time(const struct cli_given *given)
{
	return parse_time(given, given->member);
}

int cli_take_moment(const struct cli_given *given)
{
	uint64_t ns = 0;
	int err = parse_time(given, &ns);

	*(cli_moment *)given->member = (cli_moment){ .ns = (int64_t)ns, .is_given = !err };
	return err;
}

static int parse_bytes(const struct cli_given *given)
{
	static const char units[] = "kmgt";
	unsigned long long value;
	const char *unit;
	char *end;

	errno = 0;
	value = isdigit((unsigned char)*given->text) ? strtoull(given->text, &end, 10) : 0;
	if (!value || errno)
		return REFUSE_VALUE(given, "takes a size like 16M");
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		end++;
		if (__builtin_mul_overflow(value, 1ull << 10 * (unit - units + 1), &value))
			value = ULLONG_MAX;
	}
	if (*end && strcasecmp(end, "b") && (!unit || strcasecmp(end, "ib")))
		return REFUSE_VALUE(given, "takes a size like 16M");
	if (value > given->option->most)
		return REFUSE_VALUE(given, "must be at most %lluG", (unsigned long long)given->option->most >> 30);
	*(cli_size *)given->member = value;
	return 0;
}

int cli_take_size(const struct cli_given *given)
{
	const uint64_t *bytes = given->member;
	int err = parse_bytes(given);

	if (!err && *bytes < given->option->least)
		return REFUSE_VALUE(given, "must be at least %lluM", (unsigned long long)given->option->least >> 20);
	return err;
}

int cli_take_power(const struct cli_given *given)
{
	cli_power *bytes = given->member, power = given->option->least;
	int err = parse_bytes(given);

	while (!err && power < *bytes)
		power *= 2;
	*bytes = power;
	return err;
}

int cli_take_number(const struct cli_given *given)
{
	uint64_t least = given->option->least, most = given->option->most;
	unsigned long value;
	char *end = NULL;

	errno = 0;
	value = isdigit((unsigned char)*given->text) ? strtoul(given->text, &end, 10) : 0;
	if (!end || *end || errno)
		return REFUSE_VALUE(given, "takes a number");
	if (value < least || value > most)
		return REFUSE_VALUE(given, "takes a number from %u to %u", (unsigned int)least, (unsigned int)most);
	*(cli_number *)given->member = (cli_number)value;
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
static int refuse_word(const struct cli_given *given, const char *last)
{
	const char *const *words = given->option->words;
	struct out out;
	char *list;
	int err;

	out_init_mem(&out);
	for (size_t i = 0; words[i]; i++)
		out_printf(&out, "%s%s", !i ? "" : words[i + 1] ? ", " : last, words[i]);
	list = out_take(&out);
	err = REFUSE_VALUE(given, "takes %s", list);
	free(list);
	return err;
}

int cli_take_word(const struct cli_given *given)
{
	int index = find_word(given->option->words, given->text, strlen(given->text));

	if (index < 0)
		return refuse_word(given, " or ");
	*(cli_word *)given->member = index;
	return 0;
}

int cli_take_words(const struct cli_given *given)
{
	cli_words wanted = 0;

	for (const char *p = given->text; *p; p += strcspn(p, ","), p += *p == ',') {
		int index = find_word(given->option->words, p, strcspn(p, ","));

		if (index < 0)
			return refuse_word(given, " and ");
		wanted |= 1u << index;
	}
	*(cli_words *)given->member = wanted;
	return 0;
}

/* ---- record kinds ---- */

/* The low half has the kernel's kinds, the high half has the collector's kinds. */
uint64_t cli_kind_bit(unsigned int kind)
{
	unsigned int low = kind & (GMT_KIND_USER_FIRST - 1);

	return low < 32 ? 1ull << (low + (kind >= GMT_KIND_USER_FIRST ? 32 : 0)) : 0;
}

#define X(name, value, type, text) \
	_Static_assert((value & (GMT_KIND_USER_FIRST - 1)) < 32, "each kind has a bit");
GMT_KINDS(X)
#undef X

int cli_take_kinds(const struct cli_given *given)
{
	for (const char *p = given->text;; p++) {
		size_t size = strcspn(p, ",");
		unsigned int kind = gmt_kind_find(p, size);

		if (!kind)
			return cli_wrong(given->cause, "there is no record kind '%.*s':"
					 " include/gpumemtrace/wire.h lists the kinds", (int)size, p);
		*(cli_kinds *)given->member |= cli_kind_bit(kind);
		p += size;
		if (!*p)
			return 0;
	}
}

/* ---- --window: limits such as 200k (events), 60s or 16MiB (of memory), separated by commas; or off ---- */

/* Reads one limit. */
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
	while (unit < COUNT(units) &&
	       (strlen(units[unit].unit) != left || strncmp(units[unit].unit, end, left)))
		unit++;
	if (unit == COUNT(units))
		return false;
	/* One of the two is 0. A number that is too large for an integer must not become one. */
	if (value * units[unit].seconds > SECONDS_MAX || value * units[unit].events > WINDOW_EVENTS_MAX)
		return false;
	if (units[unit].seconds) {
		window->ns = (uint64_t)(value * units[unit].seconds * NS_PER_S);
		return window->ns;
	}
	window->events = (uint64_t)(value * units[unit].events);
	return window->events;
}

int cli_take_window(const struct cli_given *given)
{
	cli_window *window = given->member;

	if (!strcmp(given->text, "off")) {
		window->events = 0;
		return 0;
	}
	for (const char *p = given->text;; p++) {
		size_t size = strcspn(p, ",");

		if (!parse_limit(p, size, window))
			return REFUSE_VALUE(given, "takes a number of events (200k), a time (60s, 5min), an amount of"
					    " memory (16MiB), a list of these, or off");
		p += size;
		if (!*p)
			return 0;
	}
}
