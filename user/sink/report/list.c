/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints `gpumemtrace list`: the compiled-in table of probe points (api.h). */
#include <string.h>

#include "base/count.h"
#include "base/js.h"
#include "base/out.h"
#include "core/terms/probes.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

static const struct { unsigned flag; const char *name; } flags[] = {
	{ GMT_API_RELEASE, "release" }, { GMT_API_SCOPE, "scope" }, { GMT_API_CHANGE, "change" },
	{ GMT_API_QUIET_ERROR, "quiet_error" }, { GMT_API_NO_RETURN, "no_return" },
};

void list_print(struct out *out, const struct sink_opts *opts)
{
	unsigned count = 0;

	text_format(out, opts, TEXT_BOLD, NULL, "%-38s %-20s %-8s %s", "FUNCTION", "OPERATION", "PURPOSE", "VALUES");
	for (unsigned id = 0; id < GMT_API_MAX; id++) {
		const struct gmt_probe *p = &gmt_probes[id];
		const struct gmt_op_info *op = &gmt_ops[p->op];

		if (!p->symbol)
			continue;
		count++;
		out_printf(out, "%-38s %-20s %-8s %s\n", p->symbol, op->name, gmt_purpose_name(op->purpose),
			   op->count ? op->fields : "-");
	}
	out_printf(out, "%u functions; gpumemtrace skips functions that a libcuda does not export.\n", count);
}

static json_t *probe_to_json(unsigned id, const struct gmt_probe *p)
{
	const struct gmt_op_info *op = &gmt_ops[p->op];
	json_t *names = js_array(), *fields = js_array();
	const char *f = op->fields;

	for (size_t i = 0; i < COUNT(flags); i++)
		if (p->flags & flags[i].flag)
			js_append(names, js_word(flags[i].name));
	while (*f) {
		size_t n = strcspn(f, ",");

		js_append(fields, js_text(f, n));
		f += n + (f[n] == ',');
	}
	return JS_OBJECT({ "id", js_u64(id) }, { "symbol", js_word(p->symbol) }, { "operation", js_word(op->name) },
			 { "purpose", js_word(gmt_purpose_name(op->purpose)) }, { "flags", names },
			 { "values", fields });
}

void list_print_json(struct out *out, const struct sink_opts *opts)
{
	json_t *list = js_array();

	for (unsigned id = 0; id < GMT_API_MAX; id++)
		if (gmt_probes[id].symbol)
			js_append(list, probe_to_json(id, &gmt_probes[id]));
	js_write(out, JS_OBJECT({ "schema", js_word("gpumemtrace/1") }, { "type", js_word("probes") },
				{ "made_at", js_utc(opts->made_ns) },
				{ "probes", list }), true);
}
