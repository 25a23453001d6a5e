/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: what it means, what is refused and in which words; and that help and
 * manual page know every option and exit code. */
#include "golden.h"

#include <ctype.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "cli/cli.h"
#include "cli/cli_commands.h"

#define WORDS_MAX 40
/* What -o takes beside recordings. */
#define FILES "FILE.folded, FILE.pb.gz, FILE.pickle, FILE.html, FILE.perfetto-trace or FILE.sqlite"

struct parsed {
	struct options options;
	char *cause;
	char line[512];
	char *argv[WORDS_MAX];
	int code;
};

/* Parses a line of words that are separated by single spaces; '_' stands for an empty word. */
static struct parsed *parse(const char *line)
{
	struct parsed *p = calloc(1, sizeof(*p));
	int argc = 0;

	assert_non_null(p);
	snprintf(p->line, sizeof(p->line), "gpumemtrace %s", line);
	for (char *word = strtok(p->line, " "); word; word = strtok(NULL, " "))
		p->argv[argc++] = strcmp(word, "_") ? word : "";
	p->code = cli_parse(&p->options, argc, p->argv, &p->cause);
	return p;
}

static void drop(struct parsed *p)
{
	options_free(&p->options);
	free(p->cause);
	free(p);
}

static const char *file_of(const struct parsed *p, const char *output)
{
	for (size_t i = 0; sinks[i]; i++)
		if (!strcmp(sinks[i]->name, output))
			return p->options.files[i];
	return NULL;
}

static struct parsed *parse_ok(const char *line)
{
	struct parsed *p = parse(line);

	if (p->code)
		fail_msg("%s: %s", line, p->cause);
	assert_null(p->cause);
	return p;
}

static void test_defaults(void **state)
{
	struct parsed *p = parse_ok("-p 42");

	(void)state;
	assert_int_equal(p->options.command, CLI_TRACE);
	assert_int_equal(p->options.pids.count, 1);
	assert_int_equal(p->options.pids.list[0], 42);
	assert_int_equal(p->options.interval_ns, 1000000000);
	assert_int_equal(p->options.duration_ns, 0);
	assert_int_equal(p->options.ring_bytes, 16 << 20);
	assert_int_equal(p->options.layers,
			 GMT_LAYER_API | GMT_LAYER_KERNEL | GMT_LAYER_NVML | GMT_LAYER_FRAMEWORK);
	assert_int_equal(p->options.live, CLI_AUTO);
	assert_null(p->options.output);
	assert_null(p->options.child);
	drop(p);
}

static void test_stack_options(void **state)
{
	struct parsed *p = parse_ok("replay --top 3 --older-than 5m --full-stacks --owners a --owners b "
				    "--folded x --folded-by growth r.gmt");

	(void)state;
	assert_int_equal(p->options.top, 3);
	assert_true(p->options.older_than_ns == 300000000000);
	assert_true(p->options.full_stacks);
	assert_int_equal(p->options.owners.count, 2);
	assert_string_equal(p->options.owners.texts[1], "b");
	assert_string_equal(file_of(p, "folded"), "x");
	assert_int_equal(p->options.folded_by, VIEW_BY_GROWN);
	drop(p);
	p = parse_ok("-p 1 -o run.gmt -o x/run.pickle --window 1000");
	assert_string_equal(p->options.output, "run.gmt");
	assert_string_equal(file_of(p, "snapshot"), "x/run.pickle");
	assert_int_equal(p->options.window.events, 1000);
	drop(p);
	p = parse_ok("replay -o run.pickle r.gmt");
	assert_null(p->options.output);
	assert_string_equal(file_of(p, "snapshot"), "run.pickle");
	assert_int_equal(p->options.window.events, 200000);
	drop(p);
	p = parse_ok("-p 1 --output=a.b/run -o x.folded");
	assert_string_equal(p->options.output, "a.b/run");
	assert_string_equal(file_of(p, "folded"), "x.folded");
	drop(p);
	p = parse_ok("-p 1 -o a.b/run.pb.gz");
	assert_string_equal(file_of(p, "pprof"), "a.b/run.pb.gz");
	drop(p);
	p = parse_ok("report x -o run.pprof -o run.pftrace");
	assert_string_equal(file_of(p, "pprof"), "run.pprof");
	assert_string_equal(file_of(p, "perfetto"), "run.pftrace");
	drop(p);
	p = parse_ok("-p 1 -o .pprof");
	assert_null(file_of(p, "pprof"));
	drop(p);
	p = parse_ok("-p 1 -o /dev/fd/3.x");
	assert_string_equal(p->options.output, "/dev/fd/3.x");
	drop(p);
	p = parse_ok("-p 1 -o .pickle --snapshot a");
	assert_string_equal(p->options.output, ".pickle");
	assert_string_equal(file_of(p, "snapshot"), "a");
	drop(p);
	p = parse_ok("-p 1 --stacks native --stack-depth 64 --stack-sample 2M");
	assert_int_equal(p->options.stack_mode, GMT_STACKS_NATIVE);
	assert_int_equal(p->options.stack_depth, 64);
	assert_int_equal(p->options.stack_sample_bytes, 2 << 20);
	drop(p);
	p = parse_ok("-p 1");
	assert_int_equal(p->options.stack_mode, GMT_STACKS_DEFAULT);
	assert_int_equal(p->options.stack_depth, GMT_STACK_DEPTH_DEFAULT);
	assert_int_equal(p->options.stack_sample_bytes, 0);
	assert_int_equal(p->options.top, 10);
	assert_true(p->options.older_than_ns == 60000000000);
	assert_int_equal(p->options.folded_by, VIEW_BY_LIVE);
	assert_null(file_of(p, "folded"));
	drop(p);
}

static void test_all_options(void **state)
{
	struct parsed *p =
		parse_ok("--container 3f --cgroup /a --unit u --slurm-job 7 --slurm-job 8 --pod a/b -p train.py "
			 "-p 1,2 --pid=3 -p2 -d 1.5 -i 250 -o a.gmt --json --strict --no-children "
			 "--ring-size 5M --layers api,nvml,framework --nvml /l/nvml.so --libcuda /a --libcuda /b");

	(void)state;
	assert_int_equal(p->options.pids.count, 3);
	assert_int_equal(p->options.pids.list[2], 3);
	assert_int_equal(p->options.pids.name_count, 1);
	assert_string_equal(p->options.pids.names[0], "train.py");
	assert_int_equal(p->options.containers.count + p->options.cgroups.count + p->options.units.count, 3);
	assert_string_equal(p->options.slurm_jobs.texts[1], "8");
	assert_string_equal(p->options.pods.texts[0], "a/b");
	assert_int_equal(p->options.duration_ns, 1500000000);
	assert_int_equal(p->options.interval_ns, 250000000000);
	assert_string_equal(p->options.output, "a.gmt");
	assert_true(p->options.format && p->options.strict && p->options.no_children);
	assert_int_equal(p->options.ring_bytes, 8 << 20);
	assert_int_equal(p->options.layers, GMT_LAYER_API | GMT_LAYER_NVML | GMT_LAYER_FRAMEWORK);
	assert_string_equal(p->options.nvml.path, "/l/nvml.so");
	assert_int_equal(p->options.libcuda.count, 2);
	assert_string_equal(p->options.libcuda.texts[1], "/b");
	drop(p);
	p = parse_ok("-aqvv --nvml off --no-live --color never --driver-root /r -d 2m -i 0.1s --ring-size 1");
	assert_true(p->options.all && p->options.quiet == 1);
	assert_int_equal(p->options.verbose, 2);
	assert_true(p->options.nvml.is_off);
	assert_int_equal(p->options.live, CLI_NEVER);
	assert_int_equal(p->options.color, CLI_NEVER);
	assert_string_equal(p->options.driver_root, "/r");
	assert_int_equal(p->options.duration_ns, 120000000000);
	assert_int_equal(p->options.ring_bytes, 64 << 10);
	drop(p);
}

/* What comes after -- is the command's, whatever it looks like. */
static void test_command(void **state)
{
	struct parsed *p = parse_ok("-d 5 -- python -p 7 --json -- x");

	(void)state;
	assert_string_equal(p->options.child[0], "python");
	assert_string_equal(p->options.child[3], "--json");
	assert_string_equal(p->options.child[5], "x");
	assert_null(p->options.child[6]);
	assert_int_equal(p->options.pids.count, 0);
	assert_false(p->options.format);
	drop(p);
	p = parse_ok("--json=a -o - -a");
	assert_string_equal(p->options.format_path, "a");
	assert_false(cli_has_data_on_stdout(&p->options));
	drop(p);
	p = parse_ok("-- replay");
	assert_int_equal(p->options.command, CLI_TRACE);
	assert_string_equal(p->options.child[0], "replay");
	drop(p);
}

/* Without targets it is -a, in one word. */
static void test_top(void **state)
{
	struct parsed *p = parse_ok("top -i 2 -o run.gmt");

	(void)state;
	assert_int_equal(p->options.command, CLI_TRACE);
	assert_true(p->options.all);
	assert_true(p->options.interval_ns == 2000000000);
	assert_string_equal(p->options.output, "run.gmt");
	drop(p);
	p = parse_ok("top -p 42 --pod web");
	assert_int_equal(p->options.command, CLI_TRACE);
	assert_false(p->options.all);
	assert_int_equal(p->options.pids.list[0], 42);
	drop(p);
	p = parse_ok("top -a");
	assert_true(p->options.all);
	drop(p);
}

static void test_commands(void **state)
{
	static const struct { const char *line; enum cli_command command; } words[] = {
		{ "report a.gmt", CLI_REPORT }, { "help", CLI_HELP }, { "version", CLI_VERSION },
		{ "doctor --json", CLI_DOCTOR }, { "list", CLI_LIST }, { "--help", CLI_HELP }, { "replay -h", CLI_HELP },
		{ "-V", CLI_VERSION },
	};
	struct parsed *p = parse_ok("replay a.gmt --json --strict");

	(void)state;
	assert_int_equal(p->options.command, CLI_REPORT);
	assert_string_equal(p->options.input, "a.gmt");
	assert_true(p->options.format && p->options.strict);
	drop(p);
	p = parse_ok("report -p 5 --pid 6 --gpu GPU-ad a.gmt");
	assert_int_equal(p->options.pids.count, 2);
	assert_string_equal(p->options.gpu, "GPU-ad");
	drop(p);
	p = parse_ok("report a.gmt b.gmt c.gmt");
	assert_int_equal(p->options.more.count, 2);
	assert_string_equal(p->options.more.texts[1], "c.gmt");
	drop(p);
	p = parse_ok("diff a.gmt --full b.gmt@peak --top 3");
	assert_int_equal(p->options.command, CLI_DIFF);
	assert_string_equal(p->options.input, "a.gmt");
	assert_string_equal(p->options.more.texts[0], "b.gmt@peak");
	drop(p);
	p = parse_ok("replay --json -");
	assert_string_equal(p->options.input, "-");
	drop(p);
	p = parse_ok("records a.gmt --kind call,FW_mem --kind oom --thread 7 -p 5 --from 0 --to 1.5");
	assert_int_equal(p->options.command, CLI_RECORDS);
	assert_int_equal(p->options.kinds, cli_kind_bit(GMT_KIND_CALL) | cli_kind_bit(GMT_KIND_FW_MEM) |
					   cli_kind_bit(GMT_KIND_OOM));
	assert_int_equal(p->options.thread, 7);
	assert_int_equal(p->options.from.ns, 0);
	assert_true(p->options.from.is_given);
	assert_int_equal(p->options.to.ns, 1500000000);
	drop(p);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		p = parse_ok(words[i].line);
		assert_int_equal(p->options.command, words[i].command);
		drop(p);
	}
}

struct refused {
	const char *line, *cause;
};

/* Each cause is one sentence that says what is wrong and, where there is one, the way out. */
static void check_refused(const struct refused *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct parsed *p = parse(cases[i].line);

		if (!p->code)
			fail_msg("accepted: %s", cases[i].line);
		assert_int_equal(p->code, GMT_EXIT_USAGE);
		assert_string_equal(p->cause, cases[i].cause);
		drop(p);
	}
}

static void test_refused_targets(void **state)
{
	static const struct refused cases[] = {
		{ "-p 1 -- x", "-p and a command cannot be combined: trace one or the other" },
		{ "-a -- x",
		 "-a and a command cannot be combined: trace one or the other" },
		{ "-a -p 1", "-a and -p cannot be combined: -a traces every process" },
		{ "-p", "--pid needs a value: --pid PID|NAME" },
		{ "-p -- x", "--pid needs a value: --pid PID|NAME" },
		{ "-p train.py -- x", "-p and a command cannot be combined: trace one or the other" },
		{ "--pod a -- x", "--pod and a command cannot be combined: trace one or the other" },
		{ "-a --unit x", "-a and --unit cannot be combined: -a traces every process" },
		{ "--container _", "--container needs a value: --container ID|NAME" },
	};

	(void)state;
	check_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_refused(void **state)
{
	static const struct refused cases[] = {
		{ "", "nothing to trace: give -p PID, -p NAME, -a or -- COMMAND (see --help)" },
		{ "--", "there is no command after --" },
		{ "records a -p train.py", "'train.py' is not a process id: records have no names to look for" },
		{ "report a --cgroup x", "--cgroup cannot be used with 'report'" },
		{ "-o _ -p 1", "--output needs a value: --output FILE" },
		{ "-p 1,,2", "'1,,2' is not a process id or a comma-separated list of them" },
		{ "-p 0", "'0' is not a process id or a comma-separated list of them" },
		{ "-p -5", "'-5' is not a process id or a comma-separated list of them" },
		{ "-p 1,", "'1,' is not a process id or a comma-separated list of them" },
		{ "-p 99999999999", "'99999999999' is not a process id or a comma-separated list of them" },
		{ "-a -d -1", "--duration must be at least 0.001 seconds, not '-1'" },
		{ "-a -d nan", "--duration takes a time in seconds, not 'nan'" },
		{ "-a -d x", "--duration takes a time in seconds, not 'x'" },
		{ "-a -d 1x", "--duration takes a time in seconds (or 5m, 2h), not '1x'" },
		{ "-a -d 1e300", "--duration must be at most a year, not '1e300'" },
		{ "-a -i 0", "--interval must be at least 0.1 seconds, not '0'" },
		{ "-a --ring-size 0", "--ring-size takes a size like 16M, not '0'" },
		{ "-a --ring-size -1", "--ring-size takes a size like 16M, not '-1'" },
		{ "-a --ring-size 5x", "--ring-size takes a size like 16M, not '5x'" },
		{ "-a --ring-size 2G", "--ring-size must be at most 1G, not '2G'" },
		{ "-a --ring-size 99999999999999T", "--ring-size must be at most 1G, not '99999999999999T'" },
		{ "-a --layers cuda", "--layers takes api, kernel, nvml and framework, not 'cuda'" },
		{ "-a --layers ,", "--layers takes api, kernel, nvml and framework, not ','" },
		{ "-a --color red", "--color takes auto, always or never, not 'red'" },
		{ "-a --frobnicate", "there is no option --frobnicate; gpumemtrace --help lists the options" },
		{ "--json -xq", "there is no option -x; gpumemtrace --help lists the options" },
		{ "--full=1 -a", "--full takes no value" },
		{ "--json= -a", "--json needs a value: --json=FILE" },
		{ "1234", "'1234' is not an option; to trace this process: gpumemtrace -p 1234" },
		{ "python x.py",
		 "'python' is neither a command nor an option; to run it: gpumemtrace -- python" },
		{ "-a report x", "'report' must be the first word: gpumemtrace report ..." },
		{ "report", "the recording or dump is missing: gpumemtrace report FILE.gmt" },
		{ "records", "the recording or dump is missing: gpumemtrace records FILE.gmt" },
		{ "records a --kind calls",
		  "there is no record kind 'calls': include/gpumemtrace/wire.h lists the kinds" },
		{ "records a --kind call,", "there is no record kind '': include/gpumemtrace/wire.h lists the kinds" },
		{ "records a --thread 0", "--thread takes a number from 1 to 4294967295, not '0'" },
		{ "records a --from -1", "--from must be at least 0 seconds, not '-1'" },
		{ "report a --kind call", "--kind cannot be used with 'report'" },
		{ "diff a b c", "'diff' takes two recordings: 'c' is one too many" },
		{ "diff a", "two recordings or moments are to be compared: gpumemtrace diff A.gmt B.gmt, or"
			    " run.gmt@iteration=3 run.gmt@peak" },
		{ "records a b", "'records' takes one recording: 'b' is one too many" },
		{ "report a -- b", "'report' runs no command" },
		{ "list -p 1", "--pid cannot be used with 'list'" },
		{ "-a --gpu 1", "--gpu cannot be used for tracing" },
		{ "doctor x", "'doctor' takes no argument: remove 'x'" },
		{ "list --strict", "--strict cannot be used with 'list'" },
	};

	(void)state;
	check_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

/* What is nearest to what was probably meant. */
static void test_refused_words(void **state)
{
	static const struct refused cases[] = {
		{ "report a --frobnicate=x", "there is no option --frobnicate=x; gpumemtrace report --help lists the options" },
		{ "report a -x", "there is no option -x; gpumemtrace report --help lists the options" },
		{ "report a --foldde=x", "there is no option --foldde; did you mean --folded?" },
		{ "list --kidn", "there is no option --kidn; gpumemtrace list --help lists the options" },
		{ "records a --kidn", "there is no option --kidn; did you mean --kind?" },
		{ "report a --fol x", "--fol is short for --folded and --folded-by: give the whole name" },
		{ "-a --help=me", "--help takes the value all, not 'me'" },
		{ "reprot x", "there is no command 'reprot'; did you mean 'report'?" },
		{ "repaly x", "there is no command 'repaly'; did you mean 'replay'?" },
		{ "run.gmt", "'run.gmt' is not an option; to print its report: gpumemtrace report run.gmt" },
		{ "report a --html b --redact --source",
		  "--redact leaves out what files say, and --source shows it: remove one of the two options" },
		{ "help docter", "there is no command 'docter'; did you mean 'doctor'?" },
		{ "help train.py", "there is no command 'train.py'; gpumemtrace help lists the commands" },
	};

	(void)state;
	check_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_refused_top(void **state)
{
	static const struct refused cases[] = {
		{ "top -p 1 -a", "-a and -p cannot be combined: -a traces every process" },
		{ "top --live", "--live cannot be used with 'top'" },
		{ "top 42", "'42' is not an option; to see this process: gpumemtrace top -p 42" },
		{ "top -- cmd", "'top' runs no command" },
	};

	(void)state;
	check_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_refused_outputs(void **state)
{
	static const struct refused cases[] = {
		{ "-a -o - --json", "--json and '-o -' cannot both go to standard output" },
		{ "-a --folded - --json", "--json and '--folded -' cannot both go to standard output" },
		{ "report a --folded - --json", "--json and '--folded -' cannot both go to standard output" },
		{ "-a -o - --json=-", "--json and '-o -' cannot both go to standard output" },
		{ "--json=a -o - -- x", "the command's output and '-o -' cannot both go to standard output" },
		{ "-a --folded - -o -", "'-o -' and '--folded -' cannot both go to standard output" },
		{ "--folded - -- x", "the command's output and '--folded -' cannot both go to standard output" },
		{ "--snapshot - -o - -a", "'-o -' and '--snapshot -' cannot both go to standard output" },
		{ "report a --snapshot - --json", "--json and '--snapshot -' cannot both go to standard output" },
		{ "report a -o b.gmt", "'report' writes no recording: give -o a " FILES ", not 'b.gmt'" },
		{ "report a -o b", "'report' writes no recording: give -o a " FILES ", not 'b'" },
		{ "-a -o x.txt",
		  "-o does not know the suffix '.txt' of 'x.txt': give -o a FILE.gmt, " FILES },
		{ "-a --output=a/x.gmt.gz",
		  "-o does not know the suffix '.gz' of 'a/x.gmt.gz': give -o a FILE.gmt, " FILES },
		{ "oom a -o b.gmt", "'oom' writes no recording: give -o a FILE.pickle or FILE.html, not 'b.gmt'" },
		{ "-a --window 5minutes", "--window takes a number of events (200k), a time (60s, 5min), an amount of memory"
		  " (16MiB), a list of these, or off, not '5minutes'" },
		{ "-a --window 60s,", "--window takes a number of events (200k), a time (60s, 5min), an amount of memory (16MiB),"
		  " a list of these, or off, not '60s,'" },
		{ "-a --window off -o a.pickle",
		 "--window off keeps no events, and a snapshot needs them: remove one of the two options" },
		{ "-a --folded-by size", "--folded-by takes live, peak, growth, old or allocated, not 'size'" },
		{ "-a --top -1", "--top takes a number, not '-1'" },
		{ "-a --top 1x", "--top takes a number, not '1x'" },
		{ "-a --top 100001", "--top takes a number from 0 to 100000, not '100001'" },
		{ "-a --older-than x", "--older-than takes a time in seconds, not 'x'" },
		{ "list --top 3", "--top cannot be used with 'list'" },
		{ "-o - -- x",
		 "the command's output and '-o -' cannot both go to standard output" },
	};

	(void)state;
	check_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_color(void **state)
{
	struct options options = { 0 };

	(void)state;
	unsetenv("NO_COLOR");
	assert_true(cli_use_color(&options, true));
	assert_false(cli_use_color(&options, false));
	setenv("NO_COLOR", "1", 1);
	assert_false(cli_use_color(&options, true));
	options.color = CLI_ALWAYS;
	assert_true(cli_use_color(&options, false));
}

static char *help_text(const char *line)
{
	struct parsed *p = parse_ok(line);
	struct out out;

	assert_int_equal(p->options.command, CLI_HELP);
	out_init_mem(&out);
	cli_help(&out, &p->options);
	drop(p);
	return out_take(&out);
}

static void test_help(void **state)
{
	(void)state;
	golden_check(help_text("--help"), "help.txt");
	golden_check(help_text("help all"), "help-all.txt");
	golden_check(help_text("report --help"), "help-report.txt");
	golden_check(help_text("help records"), "help-records.txt");
}

static void check_same_help(const char *line, const char *other)
{
	char *text = help_text(line), *others = help_text(other);

	assert_string_equal(text, others);
	free(text);
	free(others);
}

static void test_help_can_be_asked_for_in_many_ways(void **state)
{
	(void)state;
	check_same_help("help", "-h");
	check_same_help("help", "-h -o x.unknown");
	check_same_help("help report", "replay -h");
	check_same_help("help doctor --all", "doctor --help=all");
	check_same_help("help --all", "-p 1 --help=all");
	check_same_help("help help", "help");
	check_same_help("help --help", "help");
}

static bool takes_option(const struct cli_table *table, const char *name, size_t command)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->rows[i].name, name) && table->rows[i].commands & 1u << command)
			return true;
	return false;
}

/* Each command has an example or more, and its help has the options that the command takes and no others. */
static void test_help_of_each_command(void **state)
{
	struct cli_table table;

	(void)state;
	cli_table_fill(&table);
	for (size_t c = 1; c < CLI_COMMAND_COUNT; c++) {
		char line[64], *text;

		snprintf(line, sizeof(line), "help %s --all", cli_commands[c].word);
		text = help_text(line);
		assert_int_equal(strncmp(text, "usage: gpumemtrace ", 19), 0);
		if (!strstr(text, "\nExamples:\n  "))
			fail_msg("'%s' has no examples", cli_commands[c].word);
		for (size_t i = 0; i < table.count; i++) {
			char name[64];

			snprintf(name, sizeof(name), " --%s%s", table.rows[i].name,
				 table.rows[i].is_optional ? "[=" : " ");
			if (!strstr(text, name) == takes_option(&table, table.rows[i].name, c))
				fail_msg("help of '%s': --%s", cli_commands[c].word, table.rows[i].name);
		}
		free(text);
	}
}

static void test_near(void **state)
{
	static const struct { const char *word, *near; } cases[] = {
		{ "reprt", "report" }, { "recrods", "records" }, { "doktor", "doctor" }, { "lits", "list" }, { "oon", "oom" },
		{ "test", NULL }, { "python", NULL }, { "o", NULL }, { "", NULL },
		{ "a-word-that-is-much-longer-than-the-name-of-any-command", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *near = cli_command_near(cases[i].word);

		if (!near != !cases[i].near || (near && strcmp(near, cases[i].near) != 0))
			fail_msg("%s: %s", cases[i].word, near ? near : "nothing");
	}
}

/* Lines that fit a terminal. */
static void test_help_is_narrow(void **state)
{
	(void)state;
	for (size_t c = 0; c < CLI_COMMAND_COUNT; c++) {
		char line[64], *text;

		snprintf(line, sizeof(line), "help %s --all", cli_commands[c].word);
		text = help_text(line);
		for (char *of = strtok(text, "\n"); of; of = strtok(NULL, "\n"))
			if (strlen(of) > 80)
				fail_msg("%s: too long: %s", line, of);
		free(text);
	}
}

static void test_help_lists_all_commands(void **state)
{
	char *text = help_text("help");

	(void)state;
	assert_non_null(strstr(text, "\n  oom      explain "));
	assert_non_null(strstr(text, "\n  replay   the same as report\n"));
	assert_non_null(strstr(text, "\n  help     list "));
	assert_non_null(strstr(text, "\n  version  print the version\n"));
	free(text);
}

/* An option's text is about the command. */
static void test_help_of_a_shared_option(void **state)
{
	static const char *const foreign[] = { "live view", "report", ".gmt r", ".folded", "dumps and snap", "data was" };
	char *text = help_text("help oom --all");

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strstr(text, foreign[i]))
			fail_msg("the help of oom is about '%s': %s", foreign[i], text);
	assert_non_null(strstr(text, "--full                 print all tables behind the answer\n"));
	free(text);
	text = help_text("help records --all");
	assert_null(strstr(text, "-qq"));
	free(text);
	text = help_text("help report --all");
	assert_null(strstr(text, "live view"));
	assert_non_null(strstr(text, "-qq: no report"));
	free(text);
}

static void test_manual_lists_exit_codes(void **state)
{
	static const struct { int code; const char *text; } codes[] = {
#define X(name, code, text) { code, text },
		GMT_EXITS(X)
#undef X
	};
	char *manual = golden_read("user/doc/gpumemtrace.1");

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		char wanted[256], *to = wanted + snprintf(wanted, sizeof(wanted), ".B %d\n", codes[i].code);

		*to++ = (char)toupper((unsigned char)codes[i].text[0]);
		for (const char *c = codes[i].text + 1; *c; c++) {
			if (*c == '-')
				*to++ = '\\';
			*to++ = *c;
		}
		snprintf(to, 3, ".\n");
		if (!strstr(manual, wanted))
			fail_msg("the manual page lacks: %s", wanted);
	}
	free(manual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_options),
		cmocka_unit_test(test_stack_options),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_refused_top),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_targets),
		cmocka_unit_test(test_refused_words),
		cmocka_unit_test(test_refused_outputs),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_help_can_be_asked_for_in_many_ways),
		cmocka_unit_test(test_help_of_each_command),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_help_is_narrow),
		cmocka_unit_test(test_help_lists_all_commands),
		cmocka_unit_test(test_help_of_a_shared_option),
		cmocka_unit_test(test_manual_lists_exit_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
