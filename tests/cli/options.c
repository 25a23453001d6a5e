/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the commands and the options as JSON, for test_man.py. */
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/js.h"
#include "base/out.h"
#include "cli.h"
#include "cli_options.h"
#include "../unit/sinks.h"

static const struct { const char *name, *text; } manuals[] = {
#define OPTION(letter, name, argument, section, commands, kind, help, manual) { name, manual },
#include "cli_rows.h"
};

static const char *manual_of(const char *name)
{
	for (size_t i = 0; i < COUNT(manuals); i++)
		if (!strcmp(manuals[i].name, name))
			return manuals[i].text;
	return sink_find(name)->manual;
}

static json_t *text_of(const char *text)
{
	return js_word(text ? text : "");
}

static json_t *option_json(const struct cli_option *option)
{
	static const char *const titles[CLI_SECTION_COUNT] = {
#define X(name, title) title,
		CLI_SECTIONS(X)
#undef X
	};
	json_t *words = js_array();

	for (size_t i = 0; option->words && option->words[i]; i++)
		js_append(words, js_word(option->words[i]));
	return JS_OBJECT({ "letter", js_text((const char[]){ (char)option->letter }, 1) }, { "name", text_of(option->name) },
			 { "argument", text_of(option->argument) }, { "section", text_of(titles[option->section]) },
			 { "initial", text_of(option->initial) }, { "suffix", text_of(option->suffix) },
			 { "manual", text_of(manual_of(option->name)) },
			 { "is_output", json_boolean(sink_find(option->name)) }, { "words", words });
}

int main(void)
{
	json_t *json = js_object(), *commands = js_object(), *options = js_array();
	struct cli_table table;
	struct out out;

#define X(name, word, arguments, help) js_set(commands, word, text_of(arguments));
	CLI_COMMANDS(X)
#undef X
	cli_table_fill(&table);
	for (size_t i = 0; i < table.count; i++)
		js_append(options, option_json(&table.rows[i]));
	js_set(json, "commands", commands);
	js_set(json, "options", options);
	out_init_fd(&out, STDOUT_FILENO);
	js_write(&out, json, true);
	return out_close(&out) != 0;
}
