// SPDX-License-Identifier: BSD-2-Clause
/* See cli_options.h. */
#include "cli_options.h"

#include <string.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "cli.h"
#include "cli_values.h"

/* Which commands take an option. */
#define FOR_TRACE (1u << CLI_TRACE)
#define FOR_REPLAY (1u << CLI_REPLAY)
#define FOR_DOCTOR (1u << CLI_DOCTOR)
#define FOR_LIST (1u << CLI_LIST)
#define FOR_OOM (1u << CLI_OOM)
#define FOR_ALL (FOR_TRACE | FOR_REPLAY | FOR_OOM | FOR_DOCTOR | FOR_LIST)
#define FOR_REPORT (FOR_TRACE | FOR_REPLAY)
#define FOR_STACKS (FOR_REPORT | FOR_OOM)

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

/* ---- -o: a recording; or by its suffix a snapshot, which is what replay can write ---- */

static int take_output(const struct cli_option *option, struct options *options, const char *argument, char **cause)
{
	const char suffix[] = ".pickle";
	size_t size = strlen(argument), end = sizeof(suffix) - 1;

	(void)option;
	if (size > end && !strcmp(argument + size - end, suffix))
		options->snapshot = argument;
	else if (options->command != CLI_TRACE)
		return cli_wrong(cause, "'%s' writes no recording: give -o a FILE.pickle, not '%s'",
				 options->command == CLI_REPLAY ? "replay" : "oom", argument);
	else
		options->output = argument;
	return 0;
}

/* ---- the table ---- */

#define ROW_OUTPUT(field) .take = take_output
const struct cli_option cli_options[] = {
#define OPTION(letter_, name_, argument_, section_, commands_, kind, help_, manual)                  \
	{ .letter = letter_, .name = name_, .argument = argument_, .section = CLI_##section_,        \
	  .commands = commands_, .help = help_, ROW_##kind },
#include "cli_rows.h"
};

const size_t cli_option_count = sizeof(cli_options) / sizeof(cli_options[0]);
_Static_assert(sizeof(cli_options) / sizeof(cli_options[0]) <= CLI_OPTIONS_MAX, "room for all");

void cli_option_text(struct out *out, const struct cli_option *option, const char *text)
{
	for (; *text; text++) {
		if (*text == '@' && option->initial)
			out_text(out, option->initial);
		else
			out_char(out, *text);
	}
}
