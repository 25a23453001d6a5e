// SPDX-License-Identifier: BSD-2-Clause
/* Prints the help: of the whole program, or of one command with the options of that command. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/out.h"
#include "cli/cli.h"
#include "cli/cli_commands.h"

#define NAME_COLUMNS 28

static void help_option(struct out *out, const struct cli_option *option, enum cli_command command)
{
	char left[64];
	int n = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s%s", option->letter ? '-' : ' ',
			 option->letter ? option->letter : ' ', option->letter ? ',' : ' ', option->name,
			 option->is_optional ? "[=" : option->argument ? " " : "",
			 option->argument ? option->argument : "", option->is_optional ? "]" : "");

	out_text(out, left);
	out_pad(out, NAME_COLUMNS - n);
	out_char(out, ' ');
	for (const char *text = cli_option_help(option, command); *text; text++)
		if (*text == '@' && option->initial)
			out_text(out, option->initial);
		else
			out_char(out, *text);
	out_char(out, '\n');
}

static bool is_shown(const struct cli_option *option, const struct options *options)
{
	return option->commands & 1u << options->topic && (options->help_all || option->section != CLI_EXPERT);
}

/* Returns whether options were left out that --help=all shows. */
static bool help_options(struct out *out, const struct options *options)
{
	static const char *const titles[CLI_SECTION_COUNT] = {
#define X(name, title) title,
		CLI_SECTIONS(X)
#undef X
	};
	int section = -1;
	bool has_more = false;
	struct cli_table table;

	cli_table_fill(&table);
	for (size_t i = 0; i < table.count; i++) {
		const struct cli_option *option = &table.rows[i];

		has_more |= option->section == CLI_EXPERT && option->commands & 1u << options->topic;
		if (!is_shown(option, options))
			continue;
		if ((int)option->section != section)
			out_printf(out, "\n%s:\n", titles[option->section]);
		section = (int)option->section;
		help_option(out, option, options->topic);
	}
	return has_more && !options->help_all;
}

static void help_examples(struct out *out, enum cli_command command)
{
	const char *sudo = command == CLI_TRACE || command == CLI_TOP ? "sudo " : "";
	size_t columns = 0;

	for (const struct cli_example *e = cli_examples; e->line; e++)
		if (e->command == command && strlen(e->line) > columns)
			columns = strlen(e->line);
	out_text(out, "\nExamples:\n");
	for (const struct cli_example *e = cli_examples; e->line; e++) {
		if (e->command != command)
			continue;
		out_printf(out, "  %sgpumemtrace %s", sudo, e->line);
		out_pad(out, (int)(columns - strlen(e->line)));
		out_printf(out, "  %s\n", e->what);
	}
}

static void help_usage(struct out *out, const char *before, size_t command)
{
	const struct cli_command_info *info = &cli_commands[command];

	out_printf(out, "%s gpumemtrace %s%s[OPTIONS]%s%s\n", before, info->word, *info->word ? " " : "",
		   *info->arguments ? " " : "", info->arguments);
}

static void help_command(struct out *out, const struct options *options)
{
	const struct cli_command_info *info = &cli_commands[options->topic];

	help_usage(out, "usage:", options->topic);
	out_printf(out, "\n%c%s.\n", toupper((unsigned char)*info->help), info->help + 1);
	help_examples(out, options->topic);
	if (help_options(out, options))
		out_printf(out, "\n'gpumemtrace help %s --all' also lists the expert options.\n", info->word);
}

static void help_program(struct out *out, const struct options *options)
{
	for (size_t i = 0; i < CLI_COMMAND_COUNT; i++)
		help_usage(out, i ? "      " : "usage:", i);
	out_text(out, "       gpumemtrace help [COMMAND] [--all]\n");
	out_text(out, "\nShows who holds GPU memory, and why: the live and peak memory of CUDA processes,\n"
		      "for each process and GPU. The numbers add up to the number that nvidia-smi\n"
		      "shows. gpumemtrace neither restarts nor changes the processes.\n\n");
	for (size_t i = 1; i < CLI_COMMAND_COUNT; i++)
		out_printf(out, "  %-8s %s\n", cli_commands[i].word, cli_commands[i].help);
	for (const struct cli_alias *a = cli_aliases; a->word; a++)
		out_printf(out, "  %-8s %s\n", a->word, a->help);
	out_text(out, "\n'gpumemtrace help COMMAND' lists the options of a command. The options below\n"
		      "are for tracing.\n");
	help_examples(out, CLI_TRACE);
	if (help_options(out, options))
		out_text(out, "\n'gpumemtrace help --all' also lists the expert options.\n");
	out_text(out,
		 "\nTracing needs root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE,\n"
		 "CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH. Ctrl-C ends tracing and prints\n"
		 "the report. gpumemtrace(1) explains each number, the JSON and the exit codes:\n");
#define X(name, code, text) out_printf(out, "  %3d  %s\n", code, text);
	GMT_EXITS(X)
#undef X
}

void cli_help(struct out *out, const struct options *options)
{
	if (options->topic == CLI_TRACE)
		help_program(out, options);
	else
		help_command(out, options);
}
