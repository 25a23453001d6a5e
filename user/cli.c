/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

#include "base/alloc.h"
#include "base/out.h"

#define NS_PER_S 1e9
#define DEFAULT_INTERVAL_S 1.0
#define INTERVAL_MIN_S 0.1
#define SECONDS_MAX (366.0 * 86400)
#define DEFAULT_RING_BYTES (16ull << 20)
#define RING_BYTES_MIN (64ull << 10)
#define RING_BYTES_MAX (1ull << 30)   /* libbpf maps the data twice; the map's size is 32 bits */

/* Which commands take an option. */
#define FOR_TRACE (1u << CLI_TRACE)
#define FOR_REPLAY (1u << CLI_REPLAY)
#define FOR_DOCTOR (1u << CLI_DOCTOR)
#define FOR_LIST (1u << CLI_LIST)
#define FOR_ALL (FOR_TRACE | FOR_REPLAY | FOR_DOCTOR | FOR_LIST)

struct cli_option {
	int letter;               /* 0: has only the long name */
	const char *name;
	const char *argument;     /* NULL: takes none */
	unsigned commands;
	int (*apply)(struct options *options, const char *argument, char **cause);
	const char *help;
};

__attribute__((format(printf, 2, 3))) static int wrong(char **cause, const char *format, ...)
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

/* ---- values ---- */

static void add_pid(struct options *options, pid_t pid)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return;
	options->pids = xreallocarray(options->pids, options->pid_count + 1, sizeof(pid));
	options->pids[options->pid_count++] = pid;
}

static int opt_pid(struct options *options, const char *argument, char **cause)
{
	const char *p = argument;

	for (;;) {
		char *end;
		long pid;

		errno = 0;
		pid = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : 0;
		if (pid <= 0 || errno || pid > INT_MAX || (*end && *end != ','))
			return wrong(cause, "'%s' is not a process id or a comma-separated list of them",
				     argument);
		add_pid(options, (pid_t)pid);
		if (!*end)
			return 0;
		p = end + 1;
	}
}

static int parse_seconds(const char *name, const char *argument, double least, uint64_t *ns, char **cause)
{
	char *end;
	double seconds = strtod(argument, &end);

	if (end == argument || !isfinite(seconds))
		return wrong(cause, "--%s takes seconds, not '%s'", name, argument);
	if (!strcmp(end, "m"))
		seconds *= 60;
	else if (!strcmp(end, "h"))
		seconds *= 3600;
	else if (*end && strcmp(end, "s"))
		return wrong(cause, "--%s takes seconds (or 5m, 2h), not '%s'", name, argument);
	if (seconds < least || seconds <= 0)
		return wrong(cause, "--%s must be at least %g seconds, not '%s'", name, least, argument);
	if (seconds > SECONDS_MAX)
		return wrong(cause, "--%s can be a year at most, not '%s'", name, argument);
	*ns = (uint64_t)(seconds * NS_PER_S);
	return 0;
}

static int opt_duration(struct options *options, const char *argument, char **cause)
{
	return parse_seconds("duration", argument, 0.001, &options->duration_ns, cause);
}

static int opt_interval(struct options *options, const char *argument, char **cause)
{
	return parse_seconds("interval", argument, INTERVAL_MIN_S, &options->interval_ns, cause);
}

static int opt_ring_size(struct options *options, const char *argument, char **cause)
{
	static const char units[] = "kmgt";
	char *end;
	unsigned long long bytes;
	const char *unit;

	errno = 0;
	bytes = isdigit((unsigned char)*argument) ? strtoull(argument, &end, 10) : 0;
	if (!bytes || errno)
		return wrong(cause, "--ring-size takes a size like 16M, not '%s'", argument);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		end++;
		if (__builtin_mul_overflow(bytes, 1ull << 10 * (unit - units + 1), &bytes))
			bytes = ULLONG_MAX;
	}
	if (*end && strcasecmp(end, "b") && (!unit || strcasecmp(end, "ib")))
		return wrong(cause, "--ring-size takes a size like 16M, not '%s'", argument);
	if (bytes > RING_BYTES_MAX)
		return wrong(cause, "--ring-size can be 1G at most, not '%s'", argument);
	options->ring_bytes = RING_BYTES_MIN;
	while (options->ring_bytes < bytes)
		options->ring_bytes *= 2;
	return 0;
}

static int opt_layers(struct options *options, const char *argument, char **cause)
{
	static const struct { const char *name; uint32_t layer; } layers[] = {
		{ "api", GMT_LAYER_API }, { "kernel", GMT_LAYER_KERNEL }, { "nvml", GMT_LAYER_NVML },
		{ "framework", GMT_LAYER_FRAMEWORK },
	};
	const size_t count = sizeof(layers) / sizeof(layers[0]);
	uint32_t wanted = 0;

	for (const char *p = argument; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ","), i = 0;

		while (i < count && (strlen(layers[i].name) != n || strncmp(layers[i].name, p, n)))
			i++;
		if (i == count)
			return wrong(cause, "--layers takes api, kernel, nvml and framework, not '%s'", argument);
		wanted |= layers[i].layer;
	}
	if (!wanted)
		return wrong(cause, "--layers needs at least one of api, kernel, nvml and framework");
	options->layers = wanted;
	return 0;
}

static int opt_nvml(struct options *options, const char *argument, char **cause)
{
	(void)cause;
	if (!strcmp(argument, "off"))
		options->layers &= ~(uint32_t)GMT_LAYER_NVML;
	else
		options->nvml_path = argument;
	return 0;
}

static int opt_libcuda(struct options *options, const char *argument, char **cause)
{
	(void)cause;
	options->libcuda = xreallocarray(options->libcuda, options->libcuda_count + 1, sizeof(argument));
	options->libcuda[options->libcuda_count++] = argument;
	return 0;
}

static int opt_color(struct options *options, const char *argument, char **cause)
{
	static const char *const words[] = { "auto", "always", "never" };   /* enum cli_when */

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(argument, words[i])) {
			options->color = (enum cli_when)i;
			return 0;
		}
	}
	return wrong(cause, "--color takes auto, always or never, not '%s'", argument);
}

/* One function for each option that only sets a member. */
#define SETTER(option, statement)                                                          \
	static int opt_##option(struct options *options, const char *argument, char **cause) \
	{                                                                                  \
		(void)argument, (void)cause;                                               \
		statement;                                                                 \
		return 0;                                                                  \
	}
SETTER(all, options->all = true)
SETTER(output, options->output = argument)
SETTER(json, options->json = true)
SETTER(strict, options->strict = true)
SETTER(no_children, options->no_children = true)
SETTER(driver_root, options->driver_root = argument)
SETTER(quiet, options->quiet = true)
SETTER(verbose, options->verbose++)
SETTER(live, options->live = CLI_ALWAYS)
SETTER(no_live, options->live = CLI_NEVER)
SETTER(help, options->command = CLI_HELP)
SETTER(version, options->command = CLI_VERSION)

/* ---- the table ---- */

static const struct cli_option table[] = {
	{ 'p', "pid", "PID[,PID...]", FOR_TRACE, opt_pid, "trace these processes; may be repeated" },
	{ 'a', "all", NULL, FOR_TRACE, opt_all, "trace every process that uses CUDA, now or later" },
	{ 'd', "duration", "SECONDS", FOR_TRACE, opt_duration, "stop after that time (also 5m, 2h)" },
	{ 'i', "interval", "SECONDS", FOR_TRACE, opt_interval, "time between live views; default 1" },
	{ 'o', "output", "FILE.gmt", FOR_TRACE, opt_output, "record to a file; - is standard output" },
	{ 0, "json", NULL, FOR_ALL, opt_json, "print JSON: one line for each live view, one for the report" },
	{ 0, "strict", NULL, FOR_TRACE | FOR_REPLAY, opt_strict, "exit with 5 if any data was lost" },
	{ 0, "no-children", NULL, FOR_TRACE, opt_no_children, "do not follow children of traced processes" },
	{ 0, "layers", "LIST", FOR_TRACE, opt_layers, "of api,kernel,nvml,framework: only these" },
	{ 0, "ring-size", "SIZE", FOR_TRACE, opt_ring_size, "ring buffer, a power of two; default 16M" },
	{ 0, "nvml", "PATH|off", FOR_TRACE | FOR_DOCTOR, opt_nvml, "the NVML library to load, or none" },
	{ 0, "libcuda", "PATH", FOR_TRACE | FOR_DOCTOR, opt_libcuda, "probe this library too" },
	{ 0, "driver-root", "DIR", FOR_TRACE | FOR_DOCTOR, opt_driver_root, "the driver's files are there" },
	{ 'q', "quiet", NULL, FOR_TRACE | FOR_REPLAY, opt_quiet, "no messages but errors, no live view" },
	{ 'v', "verbose", NULL, FOR_ALL, opt_verbose, "more messages" },
	{ 0, "live", NULL, FOR_TRACE, opt_live, "the live view also when COMMAND shares the terminal" },
	{ 0, "no-live", NULL, FOR_TRACE, opt_no_live, "no live view, only the report" },
	{ 0, "color", "WHEN", FOR_ALL, opt_color, "auto, always or never" },
	{ 'h', "help", NULL, FOR_ALL, opt_help, "print this" },
	{ 'V', "version", NULL, FOR_ALL, opt_version, "print the version" },
};
#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))
#define LONG_ONLY 0x100   /* + index: what getopt returns for an option without a letter */

static const struct { const char *word, *arguments, *help; } commands[] = {
#define X(name, word, arguments, help) { word, arguments, help },
	CLI_COMMANDS(X)
#undef X
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const char *cli_option_name(size_t index, int *letter)
{
	if (index >= TABLE_COUNT)
		return NULL;
	if (letter)
		*letter = table[index].letter;
	return table[index].name;
}

static void fill_getopt(struct option *longs, char *shorts)
{
	size_t used = 0;

	/* '+': stop at the first word that is no option. ':': tell a missing argument apart. */
	shorts[used++] = '+';
	shorts[used++] = ':';
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		longs[i] = (struct option){
			.name = table[i].name,
			.has_arg = table[i].argument ? required_argument : no_argument,
			.val = table[i].letter ? table[i].letter : LONG_ONLY + (int)i,
		};
		if (!table[i].letter)
			continue;
		shorts[used++] = (char)table[i].letter;
		if (table[i].argument)
			shorts[used++] = ':';
	}
	shorts[used] = '\0';
	longs[TABLE_COUNT] = (struct option){ 0 };
}

static const struct cli_option *option_of(int value)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (value == (table[i].letter ? table[i].letter : LONG_ONLY + (int)i))
			return &table[i];
	return NULL;
}

static int apply_option(struct options *options, int value, char **argv, char **cause)
{
	const struct cli_option *option = option_of(value == ':' || value == '?' ? optopt : value);
	const char *word = commands[options->command < COMMAND_COUNT ? options->command : 0].word;

	/* optopt: 0 for an unknown long name, else a value of the table or an unknown letter. */
	if (value == ':')
		return wrong(cause, "--%s needs a value: --%s %s", option->name, option->name,
			     option->argument);
	if (value == '?' && option)
		return wrong(cause, "--%s takes no value", option->name);
	if (value == '?' && !optopt)
		return wrong(cause, "there is no option %s; gpumemtrace --help lists them", argv[optind - 1]);
	if (value == '?')
		return wrong(cause, "there is no option -%c; gpumemtrace --help lists them", optopt);
	if (options->command < COMMAND_COUNT && !(option->commands & 1u << options->command))
		return wrong(cause, *word ? "--%s has no meaning with '%s'" : "--%s has no meaning here",
			     option->name, word);
	/* A forgotten value would otherwise swallow the "--" before a command. */
	if (option->argument && (!*optarg || !strcmp(optarg, "--")))
		return wrong(cause, "--%s needs a value: --%s %s", option->name, option->name,
			     option->argument);
	return option->apply(options, optarg, cause);
}

static int command_of(const char *word)
{
	for (size_t i = 1; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i].word, word))
			return (int)i;
	return -1;
}

/* A word that is no option: the recording of replay. */
static int take_word(struct options *options, const char *word, char **cause)
{
	if (options->command == CLI_HELP || options->command == CLI_VERSION)
		return 0;
	if (options->command == CLI_REPLAY && !options->input) {
		options->input = word;
		return 0;
	}
	if (options->command == CLI_REPLAY)
		return wrong(cause, "replay takes one recording; '%s' is one too many", word);
	if (options->command != CLI_TRACE)
		return wrong(cause, "'%s' takes no '%s'", commands[options->command].word, word);
	if (command_of(word) > 0)
		return wrong(cause, "'%s' must be the first word: gpumemtrace %s ...", word, word);
	if (strspn(word, "0123456789,") == strlen(word))
		return wrong(cause, "'%s' stands alone; to trace a process: gpumemtrace -p %s", word, word);
	return wrong(cause, "'%s' is neither a command nor an option; to run it: gpumemtrace -- %s", word,
		     word);
}

static int parse_words(struct options *options, int argc, char **argv, char **cause)
{
	struct option longs[TABLE_COUNT + 1];
	char shorts[2 * TABLE_COUNT + 3];
	int value, err = 0;

	fill_getopt(longs, shorts);
	opterr = 0;
	optind = 0;   /* glibc: also forgets where an earlier parse stood */
	while (!err) {
		value = getopt_long(argc, argv, shorts, longs, NULL);
		if (value != -1) {
			err = apply_option(options, value, argv, cause);
			continue;
		}
		if (optind > 1 && !strcmp(argv[optind - 1], "--")) {
			options->child = argv + optind;
			break;
		}
		if (optind >= argc)
			break;
		err = take_word(options, argv[optind], cause);
		/* Options may follow a word: skip it and go on. */
		argv[optind] = argv[0];
		argc -= optind;
		argv += optind;
		optind = 0;
	}
	return err;
}

/* ---- what fits together ---- */

static int check_trace(const struct options *options, char **cause)
{
	bool output_is_stdout = options->output && !strcmp(options->output, "-");

	if (options->child && !options->child[0])
		return wrong(cause, "there is no command after --");
	if (options->child && options->pid_count)
		return wrong(cause, "-p and a command exclude each other; trace one or the other");
	if (options->child && options->all)
		return wrong(cause, "-a and a command exclude each other; trace one or the other");
	if (options->all && options->pid_count)
		return wrong(cause, "-a traces every process, so -p has no meaning with it");
	if (!options->child && !options->all && !options->pid_count)
		return wrong(cause, "what is to be traced? -p PID, -a, or -- COMMAND (see --help)");
	if (output_is_stdout && options->json)
		return wrong(cause, "--json and '-o -' cannot both go to standard output");
	if (output_is_stdout && options->child)
		return wrong(cause, "the command's output and '-o -' cannot both go to standard output");
	return 0;
}

static int check(struct options *options, char **cause)
{
	switch (options->command) {
	case CLI_TRACE:
		return check_trace(options, cause);
	case CLI_REPLAY:
		return options->input ? 0 : wrong(cause, "which recording? gpumemtrace replay FILE.gmt");
	default:
		return 0;
	}
}

int cli_parse(struct options *options, int argc, char **argv, char **cause)
{
	int command = argc > 1 ? command_of(argv[1]) : -1, err;
	bool skip = command > 0;

	*options = (struct options){
		.command = skip ? (enum cli_command)command : CLI_TRACE,
		.interval_ns = (uint64_t)(DEFAULT_INTERVAL_S * NS_PER_S),
		.ring_bytes = DEFAULT_RING_BYTES,
		.stack_mode = GMT_STACKS_FULL,
		.stack_depth = GMT_STACK_DEPTH_DEFAULT,
		.layers = GMT_LAYER_API | GMT_LAYER_KERNEL | GMT_LAYER_NVML | GMT_LAYER_FRAMEWORK,
	};
	*cause = NULL;
	err = parse_words(options, argc - skip, argv + skip, cause);
	if (!err && skip && options->child)
		err = wrong(cause, "'%s' runs no command", commands[command].word);
	return err ? err : check(options, cause);
}

void options_free(struct options *options)
{
	free(options->pids);
	free(options->libcuda);
	*options = (struct options){ 0 };
}

bool cli_use_color(const struct options *options, bool terminal)
{
	const char *no_color = getenv("NO_COLOR");

	if (options->color != CLI_AUTO)
		return options->color == CLI_ALWAYS;
	return terminal && !(no_color && *no_color);
}

/* ---- help ---- */

static void help_option(struct out *out, const struct cli_option *option)
{
	char left[48];
	int n = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", option->letter ? '-' : ' ',
			 option->letter ? option->letter : ' ', option->letter ? ',' : ' ', option->name,
			 option->argument ? " " : "", option->argument ? option->argument : "");

	out_text(out, left);
	out_pad(out, 28 - n);
	out_printf(out, " %s\n", option->help);
}

void cli_help(struct out *out)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		out_printf(out, "%s gpumemtrace %s%s[OPTIONS]%s%s\n",
			   i ? "      " : "usage:", commands[i].word, *commands[i].word ? " " : "",
			   *commands[i].arguments ? " " : "", commands[i].arguments);
	out_text(out, "\nWho is using GPU memory, and why: live and peak memory of CUDA processes, for\n"
		      "each process and GPU, adding up to what nvidia-smi shows. The processes are neither\n"
		      "restarted nor changed.\n\n");
	for (size_t i = 1; i < COMMAND_COUNT; i++)
		out_printf(out, "  %-8s %s\n", commands[i].word, commands[i].help);
	out_text(out, "\nOptions:\n");
	for (size_t i = 0; i < TABLE_COUNT; i++)
		help_option(out, &table[i]);
	out_text(out,
		 "\nTracing needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE. Ctrl-C ends it\n"
		 "with the report. gpumemtrace(1) explains each number, the JSON, and the exit codes:\n");
#define X(name, code, text) out_printf(out, "  %3d  %s\n", code, text);
	GMT_EXITS(X)
#undef X
}

void cli_version(struct out *out)
{
	out_text(out, "gpumemtrace " GMT_VERSION "\n");
}
