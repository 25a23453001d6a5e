// SPDX-License-Identifier: BSD-2-Clause
#include "cli/cli_commands.h"

#include <string.h>

#include "cli/cli_near.h"

const struct cli_command_info cli_commands[CLI_COMMAND_COUNT] = {
#define X(name, word, arguments, help) { word, arguments, help },
	CLI_COMMANDS(X)
#undef X
};

const struct cli_alias cli_aliases[] = {
	{ "replay", CLI_REPORT, "the same as report" },
	{ "help", CLI_HELP, "list the commands, or the options of a command" },
	{ "version", CLI_VERSION, "print the version" },
	{ 0 },
};

const struct cli_example cli_examples[] = {
	{ CLI_TRACE, "-p 4242", "trace process 4242; Ctrl-C: the report" },
	{ CLI_TRACE, "-- python train.py", "trace a program from its start" },
	{ CLI_TRACE, "-a -d 60 -o run.gmt", "record all CUDA processes for a minute" },
	{ CLI_TOP, "top", "GPU memory now; ? lists the keys" },
	{ CLI_TOP, "top -p train.py", "the same for one program" },
	{ CLI_TOP, "top -i 0.2 -o run.gmt", "five views a second, and a recording" },
	{ CLI_REPORT, "report run.gmt", "what stands out, and what to do" },
	{ CLI_REPORT, "report --full run.gmt", "all tables behind the answer" },
	{ CLI_REPORT, "report rank*.gmt", "which rank of a job differs, and why" },
	{ CLI_REPORT, "report -o run.html run.gmt", "memory over time, for a browser" },
	{ CLI_OOM, "oom gpumemtrace-oom-7.gmt", "why the request of a dump failed" },
	{ CLI_OOM, "oom run.gmt", "all requests of a recording that failed" },
	{ CLI_OOM, "oom -o oom.html dump.gmt", "a page for a browser" },
	{ CLI_OOM, "oom -o oom.pickle run.gmt", "a snapshot for PyTorch's memory viewer" },
	{ CLI_DIFF, "diff before.gmt after.gmt", "the peaks of two runs" },
	{ CLI_DIFF, "diff run.gmt@iteration=3 @end", "what has come since then" },
	{ CLI_DIFF, "diff run.gmt@1m @oom=1", "what filled the GPU" },
	{ CLI_DIFF, "diff -o diff.html before.gmt after.gmt", "tables for a browser" },
	{ CLI_RECORDS, "records run.gmt", "all records" },
	{ CLI_RECORDS, "records --kind call -p 4242 run.gmt", "the calls of one process" },
	{ CLI_RECORDS, "records --json run.gmt | jq .kind", "records for a script" },
	{ CLI_DOCTOR, "doctor", "what this machine lacks, and the remedy" },
	{ CLI_DOCTOR, "doctor --json", "the same for a script: \"works\" is true or false" },
	{ CLI_PS, "ps", "the processes that use CUDA" },
	{ CLI_PS, "ps --json", "the same for a script" },
	{ CLI_LIST, "list", "the functions of libcuda that gpumemtrace probes" },
	{ CLI_LIST, "list --json", "the same for a script" },
	{ 0 },
};

int cli_command_find(const char *word)
{
	for (size_t i = 1; i < CLI_COMMAND_COUNT; i++)
		if (!strcmp(cli_commands[i].word, word))
			return (int)i;
	for (const struct cli_alias *a = cli_aliases; a->word; a++)
		if (!strcmp(a->word, word))
			return (int)a->command;
	return -1;
}

const char *cli_command_near(const char *word)
{
	struct cli_near near = cli_near_begin(word);

	for (size_t i = 1; i < CLI_COMMAND_COUNT; i++)
		cli_near_try(&near, cli_commands[i].word);
	for (const struct cli_alias *a = cli_aliases; a->word; a++)
		cli_near_try(&near, a->word);
	return near.best;
}
