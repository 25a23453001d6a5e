/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the commands and the options as JSON, for test_man.py. */
#include <string.h>
#include <unistd.h>

#include "base/js.h"
#include "base/out.h"
#include "cli.h"
#include "cli_options.h"

static const struct { const char *name, *text; } manuals[] = {
#define OPTION(letter, name, argument, section, commands, kind, help, manual) { name, manual },
#include "cli_rows.h"
};

static const char *manual_of(const char *name)
{
	for (size_t i = 0; i < sizeof(manuals) / sizeof(manuals[0]); i++)
		if (!strcmp(manuals[i].name, name))
			return manuals[i].text;
	return sink_find(name)->manual;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	js_set_text(object, key, text ? text : "", text ? strlen(text) : 0);
}

static json_t *option_json(const struct cli_option *option)
{
	static const char *const titles[CLI_SECTION_COUNT] = {
#define X(name, title) title,
		CLI_SECTIONS(X)
#undef X
	};
	json_t *json = js_object(), *words = js_array();

	js_set_text(json, "letter", (const char[]){ (char)option->letter }, 1);
	set_text(json, "name", option->name);
	set_text(json, "argument", option->argument);
	set_text(json, "section", titles[option->section]);
	set_text(json, "initial", option->initial);
	set_text(json, "suffix", option->suffix);
	set_text(json, "manual", manual_of(option->name));
	js_set_bool(json, "is_output", sink_find(option->name));
	for (size_t i = 0; option->words && option->words[i]; i++)
		js_append(words, js_text(option->words[i], strlen(option->words[i])));
	js_set(json, "words", words);
	return json;
}

int main(void)
{
	json_t *json = js_object(), *commands = js_object(), *options = js_array();
	struct cli_table table;
	struct out out;

#define X(name, word, arguments, help) set_text(commands, word, arguments);
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
