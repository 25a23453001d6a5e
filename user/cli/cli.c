/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "cli/cli_commands.h"
#include "cli/cli_near.h"

#define LONG_ONLY 0x100   /* plus the index: the value of an option without a letter */

/* The value that getopt returns for a row of the table. */
static int getopt_value(const struct cli_table *table, size_t i)
{
	return table->rows[i].letter ? table->rows[i].letter : LONG_ONLY + (int)i;
}

static void fill_getopt(const struct cli_table *table, struct option *longs, char *shorts)
{
	size_t used = 0;

	/* '+': stop at the first word that is no option. ':': report a missing argument as ':'. */
	shorts[used++] = '+';
	shorts[used++] = ':';
	for (size_t i = 0; i < table->count; i++) {
		longs[i] = (struct option){
			.name = table->rows[i].name,
			.has_arg = table->rows[i].is_optional ? optional_argument :
				   table->rows[i].argument ? required_argument : no_argument,
			.val = getopt_value(table, i),
		};
		if (!table->rows[i].letter)
			continue;
		shorts[used++] = (char)table->rows[i].letter;
		if (table->rows[i].argument && !table->rows[i].is_optional)
			shorts[used++] = ':';
	}
	shorts[used] = '\0';
	longs[table->count] = (struct option){ 0 };
}

/* Two commands may have an option of one name that means something else for each. */
static const struct cli_option *option_of(const struct cli_table *table, unsigned int command, int value)
{
	const struct cli_option *found = NULL;

	for (size_t i = 0; i < table->count; i++) {
		if (value != getopt_value(table, i))
			continue;
		found = found ?: &table->rows[i];
		if (command < CLI_COMMAND_COUNT && table->rows[i].commands & 1u << command)
			return &table->rows[i];
	}
	return found;
}

static int apply_value(const struct cli_option *option, struct options *options, const char *text, char **cause)
{
	struct cli_given given = {
		.option = option, .text = text, .options = options, .member = (char *)options + option->offset,
		.cause = cause,
	};

	return option->take(&given);
}

/* ---- options that are not known ---- */

/* The option of the command that the name begins, if `which` counts 0, or else the next such option. NULL: no more. */
static const char *begun_by(const struct cli_table *table, const char *name, size_t size, size_t which)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strncmp(table->rows[i].name, name, size) && !which--)
			return table->rows[i].name;
	return NULL;
}

/* word: as given, with the dashes. */
static int refuse_name(const struct cli_table *table, const struct options *options, const char *word,
		       char **cause)
{
	enum cli_command command = options->command < CLI_COMMAND_COUNT ? options->command : CLI_TRACE;
	const char *name = word + 2, *blank = *cli_commands[command].word ? " " : "";
	size_t size = strcspn(name, "=");
	struct cli_near near = cli_near_begin_sized(name, size);

	if (size && begun_by(table, name, size, 1))
		return cli_wrong(cause, "%s is short for --%s and --%s: give the whole name", word,
				 begun_by(table, name, size, 0), begun_by(table, name, size, 1));
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].commands & 1u << command)
			cli_near_try(&near, table->rows[i].name);
	if (near.best)
		return cli_wrong(cause, "there is no option --%.*s; did you mean --%s?", (int)size, name,
				 near.best);
	return cli_wrong(cause, "there is no option %s; gpumemtrace%s%s --help lists the options", word, blank,
			 cli_commands[command].word);
}

static int refuse_letter(const struct options *options, int letter, char **cause)
{
	enum cli_command command = options->command < CLI_COMMAND_COUNT ? options->command : CLI_TRACE;

	return cli_wrong(cause, "there is no option -%c; gpumemtrace%s%s --help lists the options", letter,
			 *cli_commands[command].word ? " " : "", cli_commands[command].word);
}

static int apply_option(const struct cli_table *table, struct options *options, int value, char **argv, char **cause)
{
	int asked = value == ':' || value == '?' ? optopt : value;
	const struct cli_option *option = option_of(table, options->command, asked);
	const char *word = cli_commands[options->command < CLI_COMMAND_COUNT ? options->command : 0].word;

	/* optopt: 0 for an unknown long name, else a value of the table or an unknown letter. */
	if (value == '?' && option)
		return cli_wrong(cause, "--%s takes no value", option->name);
	if (value == '?' && !optopt)
		return refuse_name(table, options, argv[optind - 1], cause);
	if (value == '?')
		return refuse_letter(options, optopt, cause);
	if (value != ':' && options->command < CLI_COMMAND_COUNT && !(option->commands & 1u << options->command))
		return cli_wrong(cause, *word ? "--%s cannot be used with '%s'" : "--%s cannot be used for tracing",
				 option->name, word);
	/* A forgotten value would otherwise swallow the "--" before a command. */
	if (value == ':' || (option->argument && optarg && (!*optarg || !strcmp(optarg, "--"))))
		return cli_wrong(cause, "--%s needs a value: --%s%c%s", option->name, option->name,
				 option->is_optional ? '=' : ' ', option->argument);
	return apply_value(option, options, optarg, cause);
}

static bool takes_file(const struct options *options)
{
	return options->command == CLI_REPORT || options->command == CLI_OOM || options->command == CLI_DIFF ||
	       options->command == CLI_RECORDS;
}

static bool is_recording(const char *path)
{
	size_t size = strlen(path);

	return size > 4 && !strcmp(path + size - 4, ".gmt");
}

/* Takes a word that is no option: the recording of report, oom and records. */
static int take_word(struct options *options, const char *word, char **cause)
{
	const char *command;

	if (options->command >= CLI_COMMAND_COUNT)
		return 0;
	if (takes_file(options) && !options->input) {
		options->input = word;
		return 0;
	}
	if (options->command == CLI_OOM || options->command == CLI_REPORT ||
	    (options->command == CLI_DIFF && !options->more.count)) {
		options->more.texts = xreallocarray(options->more.texts, options->more.count + 1, sizeof(word));
		options->more.texts[options->more.count++] = word;
		return 0;
	}
	command = cli_commands[options->command].word;
	if (options->command == CLI_DIFF)
		return cli_wrong(cause, "'diff' takes two recordings: '%s' is one too many", word);
	if (takes_file(options))
		return cli_wrong(cause, "'%s' takes one recording: '%s' is one too many", command, word);
	if (options->command == CLI_TOP)
		return cli_wrong(cause, "'%s' is not an option; to see this process: gpumemtrace top -p %s", word,
				 word);
	if (options->command != CLI_TRACE)
		return cli_wrong(cause, "'%s' takes no argument: remove '%s'", command, word);
	if (cli_command_find(word) > 0)
		return cli_wrong(cause, "'%s' must be the first word: gpumemtrace %s ...", word, word);
	if (strspn(word, "0123456789,") == strlen(word))
		return cli_wrong(cause, "'%s' is not an option; to trace this process: gpumemtrace -p %s", word, word);
	if (cli_command_near(word))
		return cli_wrong(cause, "there is no command '%s'; did you mean '%s'?", word,
				 cli_command_near(word));
	if (is_recording(word))
		return cli_wrong(cause, "'%s' is not an option; to print its report: gpumemtrace report %s", word,
				 word);
	return cli_wrong(cause, "'%s' is neither a command nor an option; to run it: gpumemtrace -- %s", word, word);
}

static int parse_words(const struct cli_table *table, struct options *options, int argc, char **argv, char **cause)
{
	struct option longs[CLI_OPTIONS_MAX + 1];
	char shorts[2 * CLI_OPTIONS_MAX + 3];
	int value, err = 0;

	fill_getopt(table, longs, shorts);
	opterr = 0;
	optind = 0;   /* glibc: also forgets the place of an earlier parse */
	while (!err) {
		value = getopt_long(argc, argv, shorts, longs, NULL);
		if (value != -1) {
			err = apply_option(table, options, value, argv, cause);
			continue;
		}
		if (optind > 1 && !strcmp(argv[optind - 1], "--")) {
			options->child = argv + optind;
			break;
		}
		if (optind >= argc)
			break;
		err = take_word(options, argv[optind], cause);
		/* Options may follow the word: go on behind the word. */
		argv[optind] = argv[0];
		argc -= optind;
		argv += optind;
		optind = 0;
	}
	return err;
}

/* ---- checks of the whole ---- */

bool cli_is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

bool cli_has_data_on_stdout(const struct options *options)
{
	return options->format && options->format->is_data &&
	       (!options->format_path || cli_is_stdout(options->format_path));
}

/* At most one output may go to standard output; `first` names the one that does. */
static int claim_stdout(char *first, size_t size, bool is_claimed, const char *name, char **cause)
{
	if (!is_claimed)
		return 0;
	if (*first)
		return cli_wrong(cause, "%s and %s cannot both go to standard output", first, name);
	snprintf(first, size, "%s", name);
	return 0;
}

static int check_stdout(const struct options *options, char **cause)
{
	bool is_data = cli_has_data_on_stdout(options);
	char first[64] = "", name[64];
	int err = claim_stdout(first, sizeof(first), options->child && !is_data, "the command's output", cause);

	snprintf(name, sizeof(name), "--%s", is_data ? options->format->name : "");
	if (!err)
		err = claim_stdout(first, sizeof(first), is_data, name, cause);
	if (!err)
		err = claim_stdout(first, sizeof(first), cli_is_stdout(options->output), "'-o -'", cause);
	for (size_t i = 0; !err && sinks[i]; i++) {
		snprintf(name, sizeof(name), "'--%s -'", sinks[i]->name);
		err = claim_stdout(first, sizeof(first), cli_is_stdout(options->files[i]), name, cause);
	}
	return err;
}

static int check_files(const struct options *options, char **cause)
{
	for (size_t i = 0; sinks[i]; i++)
		if (options->files[i] && sinks[i]->write_history && !options->window.events)
			return cli_wrong(cause, "--window off keeps no events, and a %s needs them: remove one of the"
						" two options", sinks[i]->name);
	for (size_t i = 0; sinks[i]; i++)
		if (sinks[i]->stream && cli_is_stdout(options->files[i]))
			return cli_wrong(cause, "a database cannot go to standard output: give --%s a file",
					 sinks[i]->name);
	if (options->redact && options->source)
		return cli_wrong(cause, "--redact leaves out what files say, and --source shows it: remove one of the"
					" two options");
	return check_stdout(options, cause);
}

static int check_targets(const struct options *options, char **cause)
{
	const char *target = cli_target_option(options);

	if (options->child && !options->child[0])
		return cli_wrong(cause, "there is no command after --");
	if (options->child && target)
		return cli_wrong(cause, "%s and a command cannot be combined: trace one or the other", target);
	if (options->child && options->all)
		return cli_wrong(cause, "-a and a command cannot be combined: trace one or the other");
	if (options->all && target)
		return cli_wrong(cause, "-a and %s cannot be combined: -a traces every process", target);
	if (!options->child && !options->all && !target)
		return cli_wrong(cause, "nothing to trace: give -p PID, -p NAME, -a or -- COMMAND (see --help)");
	return 0;
}

/* Whether a file is asked for that is made of one recording. */
static bool asks_one_file(const struct options *options)
{
	for (size_t i = 0; sinks[i]; i++)
		if (options->files[i] &&
		    !(options->command == CLI_DIFF ? sinks[i]->write_diff != NULL :
		      options->command == CLI_REPORT && sinks[i]->write_ranks))
			return true;
	return false;
}

static int check_options(const struct options *options, char **cause)
{
	int err = 0;

	if (options->command >= CLI_COMMAND_COUNT)
		return 0;
	if (options->command == CLI_TRACE)
		err = check_targets(options, cause);
	else if (options->pids.name_count)
		err = cli_wrong(cause, "'%s' is not a process id: records have no names to look for",
				options->pids.names[0]);
	else if (options->more.count && asks_one_file(options))
		err = cli_wrong(cause, "such a file is made of one recording: remove '%s'", options->more.texts[0]);
	else if (options->command == CLI_DIFF && !options->more.count)
		err = cli_wrong(cause, "two recordings or moments are to be compared: gpumemtrace diff A.gmt B.gmt, or"
				       " run.gmt@iteration=3 run.gmt@peak");
	else if (takes_file(options) && !options->input)
		err = cli_wrong(cause, "the recording or dump is missing: gpumemtrace %s FILE.gmt",
				cli_commands[options->command].word);
	return err ? err : check_files(options, cause);
}

/* An initial value is read as the option's own value is. */
static int set_initial(const struct cli_table *table, struct options *options, char **cause)
{
	int err = 0;

	for (size_t i = 0; !err && i < table->count; i++)
		if (table->rows[i].initial)
			err = apply_value(&table->rows[i], options, table->rows[i].initial, cause);
	return err;
}

/* "help", "help all", "help COMMAND", "help COMMAND --all". */
static int parse_help(struct options *options, int argc, char **argv, char **cause)
{
	options->command = CLI_HELP;
	for (int i = 1; i < argc; i++) {
		int command = cli_command_find(argv[i]);
		const char *near = cli_command_near(argv[i]);

		if (!strcmp(argv[i], "all") || !strcmp(argv[i], "--all") || !strcmp(argv[i], "-a"))
			options->help_all = true;
		else if (command >= 0)
			options->topic = (size_t)command < CLI_COMMAND_COUNT ? (enum cli_command)command : CLI_TRACE;
		else if (near && argv[i][0] != '-')
			return cli_wrong(cause, "there is no command '%s'; did you mean '%s'?", argv[i], near);
		else if (argv[i][0] != '-')
			return cli_wrong(cause, "there is no command '%s'; gpumemtrace help lists the commands",
					 argv[i]);
	}
	return 0;
}

int cli_parse(struct options *options, int argc, char **argv, char **cause)
{
	int command = argc > 1 ? cli_command_find(argv[1]) : -1, err;
	bool skip = command > 0;
	struct cli_table table;

	cli_table_fill(&table);
	*options = (struct options){ .command = skip ? (enum cli_command)command : CLI_TRACE };
	*cause = NULL;
	err = set_initial(&table, options, cause);
	if (!err && command == CLI_HELP)
		return parse_help(options, argc - skip, argv + skip, cause);
	if (!err)
		err = parse_words(&table, options, argc - skip, argv + skip, cause);
	if (options->command == CLI_TOP) {
		options->command = CLI_TRACE;
		options->all |= !cli_target_option(options);
	}
	if (!err && skip && options->child)
		err = cli_wrong(cause, "'%s' runs no command", argv[1]);
	return err ? err : check_options(options, cause);
}

void options_free(struct options *options)
{
	free(options->pids.list);
	free(options->pids.names);
	free(options->containers.texts);
	free(options->cgroups.texts);
	free(options->units.texts);
	free(options->slurm_jobs.texts);
	free(options->pods.texts);
	free(options->libcuda.texts);
	free(options->owners.texts);
	free(options->more.texts);
	*options = (struct options){ 0 };
}

bool cli_use_color(const struct options *options, bool terminal)
{
	const char *no_color = secure_getenv("NO_COLOR");

	if (options->color != CLI_AUTO)
		return options->color == CLI_ALWAYS;
	return terminal && !(no_color && *no_color);
}
