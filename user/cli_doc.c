// SPDX-License-Identifier: BSD-2-Clause
/* See cli_doc.h. */
#include "cli_doc.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "cli.h"
#include "cli_options.h"

#define LINE_COLUMNS 80

/* ---- the manual page ---- */

static const struct { const char *name, *text; } manuals[] = {
#define OPTION(letter, name, argument, section, commands, kind, help, manual) { name, manual },
#include "cli_rows.h"
};

static const char *manual_of(const struct cli_option *option)
{
	for (size_t i = 0; i < sizeof(manuals) / sizeof(manuals[0]); i++)
		if (!strcmp(manuals[i].name, option->name))
			return manuals[i].text;
	return sink_find(option->name)->manual;
}

/* `bold` and *italic* words. */
static void roff_text(struct out *out, const char *text, size_t size)
{
	char inside = '\0';

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '`' || text[i] == '*') {
			inside = inside ? '\0' : text[i];
			out_text(out, !inside ? "\\fR" : inside == '`' ? "\\fB" : "\\fI");
		} else if (text[i] == '-') {
			out_text(out, "\\-");
		} else {
			out_char(out, text[i]);
		}
	}
}

/* A sentence begins a line, and a line is not long: changes are easy to see. */
static void roff_lines(struct out *out, const char *text, size_t size)
{
	struct out marked;
	size_t column = 0;
	char *roff, *rest;

	out_init_mem(&marked);
	roff_text(&marked, text, size);
	roff = out_take(&marked);
	for (char *word = strtok_r(roff, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		size_t width = strlen(word);

		if (column && column + 1 + width > LINE_COLUMNS) {
			out_char(out, '\n');
			column = 0;
		}
		if (column)
			out_char(out, ' ');
		out_text(out, word);
		column = word[width - 1] == '.' ? 0 : column + (column != 0) + width;
		if (!column)
			out_char(out, '\n');
	}
	if (column)
		out_char(out, '\n');
	free(roff);
}

/* "- `word` what it means" */
static void roff_item(struct out *out, const char *text, size_t size)
{
	const char *end = memchr(text + 3, '`', size - 3);
	size_t word = end ? (size_t)(end + 1 - text) : size;

	out_text(out, ".TP\n");
	roff_text(out, text + 2, word - 2);
	out_char(out, '\n');
	roff_lines(out, text + word, size - word);
}

static void roff_paragraphs(struct out *out, const char *text)
{
	bool is_first = true, in_list = false;

	for (;;) {
		const char *end = strstr(text, "\n\n");
		size_t size = end ? (size_t)(end - text) : strlen(text);
		bool is_item = !strncmp(text, "- `", 3);

		if (is_item != in_list)
			out_text(out, is_item ? ".RS\n" : ".RE\n");
		in_list = is_item;
		if (is_item) {
			roff_item(out, text, size);
		} else {
			out_text(out, is_first ? "" : ".IP\n");
			roff_lines(out, text, size);
		}
		is_first = false;
		if (!end)
			break;
		text = end + 2;
	}
	if (in_list)
		out_text(out, ".RE\n");
}

/* "PID[,PID...]": what stands for something is in italics. */
static void roff_argument(struct out *out, const char *argument)
{
	bool italic = false;

	for (; *argument; argument++) {
		if ((isupper((unsigned char)*argument) != 0) != italic) {
			italic = !italic;
			out_text(out, italic ? "\\fI" : "\\fR");
		}
		out_char(out, *argument);
	}
	out_text(out, italic ? "\\fR" : "");
}

static void roff_option(struct out *out, const struct cli_option *option)
{
	struct out text;
	char *manual;

	out_text(out, ".TP\n");
	if (option->letter)
		out_printf(out, "\\fB\\-%c\\fR, ", option->letter);
	out_text(out, "\\fB\\-\\-");
	roff_text(out, option->name, strlen(option->name));
	out_text(out, "\\fR");
	if (option->argument) {
		out_char(out, ' ');
		roff_argument(out, option->argument);
	}
	out_char(out, '\n');
	out_init_mem(&text);
	cli_option_text(&text, option, manual_of(option));
	manual = out_take(&text);
	roff_paragraphs(out, manual);
	free(manual);
}

void cli_doc_manual(struct out *out)
{
	static const char *const titles[CLI_SECTION_COUNT] = {
#define X(name, title) title,
		CLI_SECTIONS(X)
#undef X
	};
	struct cli_table table;

	cli_table_fill(&table);
	for (size_t i = 0; i < table.count; i++) {
		if (!i || table.rows[i].section != table.rows[i - 1].section)
			out_printf(out, ".SS %s\n", titles[table.rows[i].section]);
		roff_option(out, &table.rows[i]);
	}
}

/* ---- the completion ---- */

static bool argument_has(const struct cli_option *option, const char *what)
{
	return option->argument && strstr(option->argument, what);
}

/* Of the files that an option names; -o (.gmt) takes the others' too. */
static void complete_suffix(struct out *out, const struct cli_option *option)
{
	bool is_any = option->suffix && !sink_find(option->name);

	if (!option->suffix)
		return;
	out_printf(out, " '@(%s", option->suffix + 1);
	for (size_t i = 0; is_any && sinks[i]; i++)
		if (sinks[i]->suffix)
			out_printf(out, "|%s", sinks[i]->suffix + 1);
	out_text(out, ")'");
}

/* What completes the value of an option, to be freed; "": it takes none; ":": nothing does. */
static char *completion_of(const struct cli_option *option)
{
	struct out out;

	out_init_mem(&out);
	if (option->words) {
		out_text(&out, "COMPREPLY=($(compgen -W '");
		for (size_t i = 0; option->words[i]; i++) {
			out_text(&out, i ? " " : "");
			/* In wire.h kinds of records have capitals; `records` prints none. */
			for (const char *p = option->words[i]; *p; p++)
				out_char(&out, (char)tolower((unsigned char)*p));
		}
		/* Of a list the last one. */
		out_text(&out, argument_has(option, "LIST") ? "' -P \"${cur%\"${cur##*,}\"}\" -- \"${cur##*,}\"))"
							    : "' -- \"$cur\"))");
	} else if (argument_has(option, "PID")) {
		out_text(&out, "_pids");
	} else if (argument_has(option, "DIR")) {
		out_text(&out, "_filedir -d");
	} else if (argument_has(option, "FILE") || argument_has(option, "PATH")) {
		out_text(&out, "_filedir");
		complete_suffix(&out, option);
	} else if (option->argument) {
		out_text(&out, ":");
	}
	if (argument_has(option, "|off"))
		out_text(&out, "\n\t\tCOMPREPLY+=($(compgen -W 'off' -- \"$cur\"))");
	return out_take(&out);
}

static void option_pattern(struct out *out, const struct cli_option *option)
{
	if (option->letter)
		out_printf(out, "-%c | ", option->letter);
	out_printf(out, "--%s", option->name);
}

/* One case for all options whose values are completed alike, of which this is the first. */
static void completion_case(struct out *out, const struct cli_table *table, char **bodies, size_t first)
{
	for (size_t i = 0; i < first; i++)
		if (!strcmp(bodies[i], bodies[first]))
			return;
	if (!*bodies[first])
		return;
	out_text(out, "\t");
	for (size_t i = first; i < table->count; i++) {
		if (strcmp(bodies[i], bodies[first]))
			continue;
		out_text(out, i > first ? " | \\\n\t\t" : "");
		option_pattern(out, &table->rows[i]);
	}
	out_printf(out, ")\n\t\t%s\n\t\t;;\n", bodies[first]);
}

void cli_doc_completion(struct out *out)
{
	static const struct { const char *word, *arguments; } commands[] = {
#define X(name, word, arguments, help) { word, arguments },
		CLI_COMMANDS(X)
#undef X
	};
	char *bodies[CLI_OPTIONS_MAX];
	struct cli_table table;

	for (int readers = 0; readers < 2; readers++) {
		out_text(out, readers ? "'\n_gpumemtrace_readers='" : "_gpumemtrace_commands='");
		for (size_t i = 1; i < sizeof(commands) / sizeof(commands[0]); i++)
			if (!readers || *commands[i].arguments)
				out_printf(out, "%s%s", i > 1 ? " " : "", commands[i].word);
	}
	out_text(out, "'\n\n# The value of the option $prev; false: that takes none.\n"
		      "_gpumemtrace_value()\n{\n\tcase $prev in\n");
	cli_table_fill(&table);
	for (size_t i = 0; i < table.count; i++)
		bodies[i] = completion_of(&table.rows[i]);
	for (size_t i = 0; i < table.count; i++)
		completion_case(out, &table, bodies, i);
	for (size_t i = 0; i < table.count; i++)
		free(bodies[i]);
	out_text(out, "\t*)\n\t\treturn 1\n\t\t;;\n\tesac\n\treturn 0\n}\n");
}
