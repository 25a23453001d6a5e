/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the commands and the options as JSON, for test_man.py. */
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/js.h"
#include "base/out.h"
#include "cli/cli.h"
#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "../unit/sinks.h"

static const struct { const char *name, *help, *text; } manuals[] = {
#define OPTION(letter, name, argument, section, commands, kind, help, manual) { name, help, manual },
#include "cli/cli_rows.h"
};

/* Two commands may have an option of one name that means something else for each: then the help is not the same. */
static const char *manual_of(const struct cli_option *option)
{
	for (size_t i = 0; i < COUNT(manuals); i++)
		if (!strcmp(manuals[i].name, option->name) && !strcmp(manuals[i].help, option->help))
			return manuals[i].text;
	return sink_find(option->name)->manual;
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
	json_t *words = js_array(), *commands = js_array(), *helps = js_object();

	for (size_t c = 0; c < CLI_COMMAND_COUNT; c++)
		if (option->commands & 1u << c) {
			js_append(commands, js_word(cli_commands[c].word));
			js_set(helps, cli_commands[c].word, text_of(cli_option_help(option, (enum cli_command)c)));
		}
	for (size_t i = 0; option->words && option->words[i]; i++)
		js_append(words, js_word(option->words[i]));
	return JS_OBJECT({ "letter", js_text((const char[]){ (char)option->letter }, 1) }, { "name", text_of(option->name) },
			 { "argument", text_of(option->argument) }, { "is_optional", json_boolean(option->is_optional) },
			 { "commands", commands }, { "helps", helps }, { "section", text_of(titles[option->section]) },
			 { "initial", text_of(option->initial) }, { "suffix", text_of(option->suffix) },
			 { "manual", text_of(manual_of(option)) },
			 { "is_output", json_boolean(sink_find(option->name)) }, { "words", words });
}

int main(void)
{
	json_t *json = js_object(), *commands = js_array(), *options = js_array();
	struct cli_table table;
	struct out out;

	for (size_t c = 0; c < CLI_COMMAND_COUNT; c++)
		js_append(commands, JS_OBJECT({ "word", text_of(cli_commands[c].word) },
					      { "arguments", text_of(cli_commands[c].arguments) },
					      { "help", text_of(cli_commands[c].help) }));
	cli_table_fill(&table);
	for (size_t i = 0; i < table.count; i++)
		js_append(options, option_json(&table.rows[i]));
	js_set(json, "commands", commands);
	js_set(json, "options", options);
	out_init_fd(&out, STDOUT_FILENO);
	js_write(&out, json, true);
	return out_close(&out) != 0;
}
