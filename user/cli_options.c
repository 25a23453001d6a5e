// SPDX-License-Identifier: BSD-2-Clause
/* See cli_options.h. */
#include "cli_options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "cli.h"
#include "cli_values.h"
#include "core/terms/names.h"

/* Which commands take an option. */
#define FOR_TRACE (1u << CLI_TRACE)
#define FOR_REPLAY (1u << CLI_REPLAY)
#define FOR_DOCTOR (1u << CLI_DOCTOR)
#define FOR_LIST (1u << CLI_LIST)
#define FOR_OOM (1u << CLI_OOM)
#define FOR_RECORDS (1u << CLI_RECORDS)
#define FOR_ALL (FOR_TRACE | FOR_REPLAY | FOR_OOM | FOR_RECORDS | FOR_DOCTOR | FOR_LIST)
#define FOR_REPORT (FOR_TRACE | FOR_REPLAY)
#define FOR_STACKS (FOR_REPORT | FOR_OOM)
#define FOR_FILES (FOR_STACKS | FOR_RECORDS)

/* ---- limits ---- */

#define CLI_MS 1000000ull
#define CLI_RING_MIN (64ull << 10)
#define CLI_RING_MAX (1ull << 30)   /* libbpf maps the data twice; the map's size is 32 bits */
#define CLI_STACKS_INITIAL (GMT_STACKS_DEFAULT == GMT_STACKS_FULL ? "full" : "fp")
#define CLI_TEXT(n) #n
#define CLI_NUMBER(n) CLI_TEXT(n)

/* ---- words: in the order of their enums ---- */

static const char *const when_words[] = { "auto", "always", "never", NULL };
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
static const char *const layer_words[] = { "api", "kernel", "nvml", "framework", NULL };
_Static_assert(GMT_LAYER_API == 1 && GMT_LAYER_KERNEL == 2 && GMT_LAYER_NVML == 4 && GMT_LAYER_FRAMEWORK == 8,
	       "bit i for the word i");
static const char *const kind_words[] = {
#define X(name, value, type, text) #name,
	GMT_KINDS(X)
#undef X
	NULL
};

/* ---- outputs ---- */

/* An output is for the commands that it has functions for. */
static unsigned commands_of(const struct sink *sink)
{
	return (sink->report || sink->write ? FOR_REPORT : 0) | (sink->write_history ? FOR_STACKS : 0) |
	       (sink->oom ? FOR_OOM : 0) | (sink->record ? FOR_RECORDS : 0) |
	       (sink->doctor ? FOR_DOCTOR : 0) | (sink->list ? FOR_LIST : 0);
}

static int take_format(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	const struct sink *format = sinks[option->value];

	(void)argument;
	if (options->format && options->format != format)
		return cli_wrong(cause, "--%s and --%s cannot both go to standard output", options->format->name,
				 format->name);
	options->format = format;
	return 0;
}

static int take_file(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	(void)cause;
	options->files[option->value] = argument;
	return 0;
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t size = strlen(path), end = strlen(suffix);

	return size > end && !strcmp(path + size - end, suffix);
}

/* "'replay' writes no recording: give -o a FILE.pickle, not 'x.gmt'" */
static int refuse_recording(const struct options *options, const char *argument, char **cause)
{
	struct out out;
	char *list;
	int err;

	out_init_mem(&out);
	for (size_t i = 0; sinks[i]; i++)
		if (sinks[i]->suffix && commands_of(sinks[i]) & 1u << options->command)
			out_printf(&out, "%sFILE%s", out.size ? " or " : "", sinks[i]->suffix);
	list = out_take(&out);
	err = cli_wrong(cause, "'%s' writes no recording: give -o a %s, not '%s'",
			options->command == CLI_REPLAY ? "replay" : "oom", list, argument);
	free(list);
	return err;
}

/* A recording; or what the suffix says. */
static int take_output(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	(void)option;
	for (size_t i = 0; sinks[i]; i++) {
		if (!sinks[i]->suffix || !(commands_of(sinks[i]) & 1u << options->command) ||
		    !has_suffix(argument, sinks[i]->suffix))
			continue;
		options->files[i] = argument;
		return 0;
	}
	if (options->command != CLI_TRACE)
		return refuse_recording(options, argument, cause);
	options->output = argument;
	return 0;
}

/* ---- the table ---- */

#define ROW_OUTPUT(field) .take = take_output, .suffix = ".gmt"
#define ROW_FORMATS(field) .take = take_format
#define ROW_FILES(field) .take = take_file
static const struct cli_option rows[] = {
#define OPTION(letter_, name_, argument_, section_, commands_, kind, help_, manual)                  \
	{ .letter = letter_, .name = name_, .argument = argument_, .section = CLI_##section_,        \
	  .commands = commands_, .help = help_, ROW_##kind },
#include "cli_rows.h"
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) + SINKS_MAX <= CLI_OPTIONS_MAX, "room for all");

/* A row for each format or file that has an option, made of that which stands for all of them. */
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
		option->commands = commands_of(sinks[i]);
		option->value = i;
		table->count++;
	}
}

void cli_table_fill(struct cli_table *table)
{
	table->count = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (*rows[i].name)
			table->rows[table->count++] = rows[i];
		else
			add_outputs(table, &rows[i]);
	}
}

void cli_option_text(struct out *out, const struct cli_option *option, const char *text)
{
	for (; *text; text++) {
		if (*text == '@' && option->initial)
			out_text(out, option->initial);
		else
			out_char(out, *text);
	}
}
