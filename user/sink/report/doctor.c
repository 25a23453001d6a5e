/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints `gpumemtrace doctor`: a line for each feature with its remedy, and a verdict. */
#include <stdio.h>
#include <string.h>

#include "base/js.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

static const struct { const char *word; enum text_style style; } states[] = {
	[FEATURE_OK] = { "ok", TEXT_GREEN },
	[FEATURE_WARN] = { "warn", TEXT_YELLOW },
	[FEATURE_MISSING] = { "MISSING", TEXT_RED },
};

static const char *const json_states[] = {
#define X(name, json) json,
	FEATURE_STATES(X)
#undef X
};

static unsigned count_state(const struct feature *features, size_t count, enum feature_state state)
{
	unsigned n = 0;

	for (size_t i = 0; i < count; i++)
		n += features[i].state == state;
	return n;
}

static void print_feature(struct out *out, const struct feature *f, int name_width, const struct sink_opts *opts)
{
	char word[16];

	snprintf(word, sizeof(word), "%-8s", states[f->state].word);
	text_styled(out, opts, states[f->state].style, word);
	out_printf(out, "%-*s  ", name_width, f->name);
	human_print(out, sizeof(f->detail), f->detail, sizeof(f->detail));
	if (f->remedy[0]) {
		out_printf(out, "\n%*s-> ", name_width + 10, "");
		human_print(out, sizeof(f->remedy), f->remedy, sizeof(f->remedy));
	}
	out_char(out, '\n');
}

void doctor_print(struct out *out, const struct feature *features, size_t count, const struct sink_opts *opts)
{
	unsigned missing = count_state(features, count, FEATURE_MISSING);
	unsigned warnings = count_state(features, count, FEATURE_WARN);
	int name_width = 0;

	for (size_t i = 0; i < count; i++)
		if ((int)strlen(features[i].name) > name_width)
			name_width = (int)strlen(features[i].name);
	for (size_t i = 0; i < count; i++)
		print_feature(out, &features[i], name_width, opts);
	if (missing)
		out_printf(out, "\nTracing does not work here: %u %s missing.\n", missing,
			   human_plural(missing, "requirement is", "requirements are"));
	else if (warnings)
		out_printf(out, "\nTracing works, but with limits: %u %s.\n", warnings,
			   human_plural(warnings, "warning", "warnings"));
	else
		out_text(out, "\nTracing works, with all layers.\n");
}

void doctor_print_json(struct out *out, const struct feature *features, size_t count, const struct sink_opts *opts)
{
	json_t *list = js_array();

	for (size_t i = 0; i < count; i++)
		js_append(list, JS_OBJECT({ "name", js_word(features[i].name) },
					  { "state", js_word(json_states[features[i].state]) },
					  { "detail", JS_TEXT(features[i].detail) },
					  { "remedy", JS_TEXT(features[i].remedy) }));
	js_write(out, JS_OBJECT({ "schema", js_word("gpumemtrace/1") }, { "type", js_word("doctor") },
				{ "made_at", js_utc(opts->made_ns) },
				{ "works", json_boolean(!count_state(features, count, FEATURE_MISSING)) },
				{ "features", list }), true);
}
