// SPDX-License-Identifier: BSD-2-Clause
#include "cli/cli_options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

#include "base/count.h"
#include "base/out.h"
#include "base/path.h"
#include "core/account/view_stacks.h"

/* Which commands take an option. */
#define FOR_TRACE (1u << CLI_TRACE | 1u << CLI_TOP)
#define FOR_COMMAND (1u << CLI_TRACE) /* `top` runs none */
#define FOR_REPLAY (1u << CLI_REPORT)
#define FOR_DOCTOR (1u << CLI_DOCTOR)
#define FOR_LIST (1u << CLI_LIST)
#define FOR_OOM (1u << CLI_OOM)
#define FOR_DIFF (1u << CLI_DIFF)
#define FOR_RECORDS (1u << CLI_RECORDS)
#define FOR_PS (1u << CLI_PS)
#define FOR_ALL (FOR_TRACE | FOR_REPLAY | FOR_OOM | FOR_DIFF | FOR_RECORDS | FOR_DOCTOR | FOR_LIST | FOR_PS)
#define FOR_REPORT (FOR_TRACE | FOR_REPLAY)
#define FOR_STACKS (FOR_REPORT | FOR_OOM)
#define FOR_FILES (FOR_STACKS | FOR_RECORDS)
#define FOR_READING (FOR_REPLAY | FOR_OOM | FOR_RECORDS)
#define FOR_PAGED (FOR_REPLAY | FOR_OOM | FOR_DIFF | FOR_RECORDS | FOR_LIST)

/* ---- limits ---- */

#define CLI_MS 1000000ull
#define CLI_RING_MIN (64ull << 10)
#define CLI_MEMORY_MIN (64ull << 20)
#define CLI_RING_MAX (1ull << 30)   /* libbpf maps the data twice; the map's size is 32 bits */
#define CLI_TEXT(n) #n
#define CLI_NUMBER(n) CLI_TEXT(n)

#define RECORDING_SUFFIX ".gmt"

/* ---- words: in the order of their enums ---- */

static const char *const when_words[] = { "auto", "always", "never", NULL };
static const char *const event_words[] = { "some", "all", NULL };
static const char *const order_words[] = {
#define X(name, member, text) text,
	VIEW_ORDERS(X)
#undef X
	NULL
};
static const char *const stack_words[] = {
#define X(name, value, text, help) [value] = text,
	GMT_STACK_MODES(X)
#undef X
	[GMT_STACK_MODE_COUNT] = NULL
};
static const char *const layer_words[] = {
#define X(name, bit, text) [__builtin_ctz(bit)] = text,
	GMT_LAYERS(X)
#undef X
	[__builtin_popcount(GMT_LAYER_ALL)] = NULL
};
static const char *const kind_words[] = {
#define X(name, value, type, text) #name,
	GMT_KINDS(X)
#undef X
	NULL
};

/* ---- outputs ---- */

/* An output serves the commands for which it has functions. */
static unsigned commands_of(const struct sink *sink)
{
	return (sink->report || sink->write || sink->stream ? FOR_REPORT : 0) |
	       (sink->oom || sink->write_history || sink->write_picture ? FOR_OOM : 0) |
	       (sink->write_history ? FOR_REPORT : 0) | (sink->diff || sink->write_diff ? FOR_DIFF : 0) |
	       (sink->record ? FOR_RECORDS : 0) |
	       (sink->doctor ? FOR_DOCTOR : 0) | (sink->list ? FOR_LIST : 0) | (sink->processes ? FOR_PS : 0);
}

static int take_format(const struct cli_given *given)
{
	const struct sink *format = sinks[given->option->value], *other = given->options->format;

	if (other && other != format)
		return cli_wrong(given->cause, "--%s and --%s cannot both go to standard output", other->name,
				 format->name);
	given->options->format = format;
	given->options->format_path = given->text;
	return 0;
}

static int take_help(const struct cli_given *given)
{
	struct options *options = given->options;

	if (given->text && strcmp(given->text, "all"))
		return cli_wrong(given->cause, "--help takes the value all, not '%s'", given->text);
	options->topic = options->command < CLI_COMMAND_COUNT ? options->command : CLI_TRACE;
	options->help_all = given->text;
	options->command = CLI_HELP;
	return 0;
}

static int take_file(const struct cli_given *given)
{
	given->options->files[given->option->value] = given->text;
	return 0;
}

/* The part of the file's name from its last '.' on: "run.gmt" has ".gmt". "": the name has none, as ".gmt" has none. */
static const char *suffix_of(const char *path)
{
	const char *name = path_base(path), *dot = strrchr(name, '.');

	return dot && dot > name ? dot : "";
}

/* Whether a file's name has this end, which may be all behind its first '.', and something before the end. */
static bool has_suffix(const char *path, const char *suffix)
{
	const char *name = path_base(path);
	size_t size = strlen(name), end = suffix ? strlen(suffix) : size;

	return size > end && !strcmp(name + size - end, suffix);
}

/* "FILE.gmt, FILE.folded or FILE.pickle" */
static char *known_suffixes(enum cli_command command)
{
	const char *known[SINKS_MAX + 1];
	size_t count = 0;
	struct out out;

	if (FOR_TRACE & 1u << command)
		known[count++] = RECORDING_SUFFIX;
	for (size_t i = 0; sinks[i]; i++)
		if (sinks[i]->suffix && commands_of(sinks[i]) & 1u << command)
			known[count++] = sinks[i]->suffix;
	out_init_mem(&out);
	for (size_t i = 0; i < count; i++)
		out_printf(&out, "%sFILE%s", !i ? "" : i + 1 < count ? ", " : " or ", known[i]);
	return out_take(&out);
}

/* "'report' writes no recording: give -o a FILE.pickle, not 'x.gmt'" */
static int refuse_output(const struct cli_given *given)
{
	static const char *const words[] = {
#define X(name, word, arguments, help) word,
		CLI_COMMANDS(X)
#undef X
	};
	enum cli_command command = given->options->command;
	char *list = known_suffixes(command);
	int err;

	if (FOR_TRACE & 1u << command)
		err = cli_wrong(given->cause, "-o does not know the suffix '%s' of '%s': give -o a %s",
				suffix_of(given->text), given->text, list);
	else
		err = cli_wrong(given->cause, "'%s' writes no recording: give -o a %s, not '%s'",
				words[command], list, given->text);
	free(list);
	return err;
}

/* Devices and descriptors have names of their own; a recording may have a name without a suffix. */
static bool may_be_recording(const char *path)
{
	const char *suffix = suffix_of(path);

	return !*suffix || !strcmp(suffix, RECORDING_SUFFIX) || !strncmp(path, "/dev/", 5) ||
	       !strncmp(path, "/proc/", 6);
}

/* A recording, or the output that the suffix names. */
static int take_output(const struct cli_given *given)
{
	struct options *options = given->options;

	if (options->command >= CLI_COMMAND_COUNT) /* --help and --version write nothing */
		return 0;
	for (size_t i = 0; sinks[i]; i++) {
		if (commands_of(sinks[i]) & 1u << options->command &&
		    (has_suffix(given->text, sinks[i]->suffix) || has_suffix(given->text, sinks[i]->other_suffix))) {
			options->files[i] = given->text;
			return 0;
		}
	}
	if (!(FOR_TRACE & 1u << options->command) || !may_be_recording(given->text))
		return refuse_output(given);
	options->output = given->text;
	return 0;
}

/* ---- the table ---- */

#define ROW_MEMBER(kind, name, ...) .take = cli_take_##kind, .offset = offsetof(struct options, name), __VA_ARGS__
#define ROW_TAKES(function, ...) .take = function, __VA_ARGS__
#define ROW_SETS(name, set)                                                                          \
	.take = cli_take_set, .value = set,                                                          \
	.offset = offsetof(struct options, name) +                                                   \
		  0 * sizeof(char[sizeof(((struct options *)0)->name) == sizeof(cli_set) ? 1 : -1])
static const struct cli_option rows[] = {
#define OPTION(letter_, name_, argument_, section_, commands_, value, help_, manual)                 \
	{ .letter = letter_, .name = name_, .argument = argument_, .section = CLI_##section_,        \
	  .commands = commands_, .help = help_, ROW_##value },
#include "cli/cli_rows.h"
};
_Static_assert(COUNT(rows) + SINKS_MAX <= CLI_OPTIONS_MAX, "room for all");

/* Adds a row for each format or file that has an option, from the row that stands for all of them. */
static void add_outputs(struct cli_table *table, const struct cli_option *row)
{
	for (int i = 0; sinks[i]; i++) {
		struct cli_option *option = &table->rows[table->count];

		if (!sinks[i]->help || sink_is_file(sinks[i]) != (row->take == take_file))
			continue;
		*option = *row;
		option->name = sinks[i]->name;
		option->help = sinks[i]->help;
		option->suffix = sinks[i]->suffix;
		option->is_optional = sinks[i]->is_data;
		option->argument = sink_is_file(sinks[i]) || sinks[i]->is_data ? row->argument : NULL;
		option->commands = commands_of(sinks[i]);
		option->value = i;
		table->count++;
	}
}

void cli_table_fill(struct cli_table *table)
{
	table->count = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (*rows[i].name)
			table->rows[table->count++] = rows[i];
		else
			add_outputs(table, &rows[i]);
	}
}

const char *cli_option_help(const struct cli_option *option, enum cli_command command)
{
	for (size_t i = 0; i < COUNT(option->others); i++)
		if (option->others[i].commands & 1u << command)
			return option->others[i].help;
	return option->help;
}

const char *cli_target_option(const struct options *options)
{
	const struct { const char *option; size_t count; } all[] = {
		{ "-p", options->pids.count + options->pids.name_count },
		{ "--container", options->containers.count }, { "--cgroup", options->cgroups.count },
		{ "--unit", options->units.count }, { "--slurm-job", options->slurm_jobs.count },
		{ "--pod", options->pods.count },
	};

	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i].count)
			return all[i].option;
	return NULL;
}
