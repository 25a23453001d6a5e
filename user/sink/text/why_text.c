// SPDX-License-Identifier: BSD-2-Clause
/* Says in a few words why a request failed. The verdict (sink/oom) says more. */
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "core/terms/probes.h"
#include "core/view/oom_verdict.h"
#include "core/view/view.h"
#include "sink/text/finding_text.h"
#include "sink/text/neighbour_text.h"
#include "sink/text/stack_text.h"

#define PLACE_COLUMNS 30

/* "NAME (train.py:21 LINE 53 MiB)". Without a line of the program, or where a line is no answer: "NAME (53 MiB REST)";
 * where `rest` is NULL, only the name. */
static const struct {
	const char *name;
	const char *line;
	const char *rest;
} causes[OOM_CAUSE_COUNT] = {
	[OOM_CAUSE_LEAK] = { "a leak", "keeps", " kept" },
	[OOM_CAUSE_GROWTH] = { "growth", "has grown by", " more" },
	[OOM_CAUSE_STATE] = { "optimizer state", "keeps", " kept" },
	[OOM_CAUSE_FRAGMENTED] = { "fragmentation", NULL, " cached in pieces" },
	[OOM_CAUSE_NEIGHBOUR] = { "another process", NULL, "" },
	[OOM_CAUSE_UNTRACED] = { "processes that are not traced", NULL, ", with the driver" },
	[OOM_CAUSE_CACHE] = { "PyTorch's cache", NULL, "" },
	[OOM_CAUSE_CONTEXT] = { "a large CUDA context", NULL, "" },
	[OOM_CAUSE_LAUNCHES] = { "kernels, streams and graphs", NULL, ", more than usual" },
	[OOM_CAUSE_POOL] = { "CUDA's memory pools", NULL, " that no allocation uses" },
	[OOM_CAUSE_REQUEST] = { "a large request", NULL, NULL },
	[OOM_CAUSE_ACTIVATIONS] = { "one iteration needs too much", "takes", " of activations" },
	[OOM_CAUSE_LIMIT] = { "PyTorch's own limit", NULL, " were held" },
	[OOM_CAUSE_OTHER_LIMIT] = { "a limit other than the GPU's memory", NULL, " were free" },
	[OOM_CAUSE_UNEXPLAINED] = { "not known why", NULL, " held by the traced processes" },
	[OOM_CAUSE_HOST] = { "too little host memory", NULL, " held by the traced processes" },
	[OOM_CAUSE_FULL] = { "the GPU had too little left", "holds", " held by the traced processes" },
	[OOM_CAUSE_UNKNOWN] = { "not known why", NULL, NULL },
};

static bool is_place(const struct oom_place *place)
{
	return place->file[0] || place->function[0];
}

static void print_short_place(struct out *out, const struct oom_place *place)
{
	const struct view_symbol symbol = { .function = "", .module = "", .file = place->file, .line = place->line };

	if (place->file[0])
		stack_text_short(out, &symbol);
	else
		human_print(out, PLACE_COLUMNS, place->function, strlen(place->function));
}

static void print_request(struct out *out, const struct oom_why *why)
{
	static const char *const things[GMT_PURPOSE_COUNT] = {
		[GMT_PURPOSE_CONTEXT] = "context", [GMT_PURPOSE_MODULE] = "module", [GMT_PURPOSE_GRAPH] = "graph",
		[GMT_PURPOSE_STREAM] = "stream",
	};
	const char *thing = things[gmt_purpose_of_api(why->api)];

	if (why->asked)
		out_text(out, human_bytes(why->asked).s);
	else
		out_printf(out, "a request%s%s", thing ? " for a " : "", thing ? thing : "");
	if (is_place(&why->asked_at)) {
		out_text(out, " at ");
		print_short_place(out, &why->asked_at);
	}
}

const struct oom_place *finding_text_why_place(const struct oom_why *why)
{
	return causes[why->cause].line && is_place(&why->at) ? &why->at : &why->asked_at;
}

static void print_cause(struct out *out, const struct oom_why *why)
{
	const char *line = causes[why->cause].line, *rest = causes[why->cause].rest;

	out_printf(out, "%s%s", why->is_guess ? "perhaps " : "", causes[why->cause].name);
	if (why->other && (why->cause == OOM_CAUSE_NEIGHBOUR || why->cause == OOM_CAUSE_UNTRACED)) {
		struct view_neighbour other = { .tgid = why->other };

		memcpy(other.comm, why->other_comm, sizeof(other.comm));
		out_text(out, ": ");
		neighbour_text_name(out, &other);
		out_printf(out, " holds %s", human_bytes(why->other_bytes).s);
	} else if (why->cause == OOM_CAUSE_REQUEST && why->whole) {
		out_printf(out, " (the GPU has %s)", human_bytes(why->whole).s);
	} else if (line && is_place(&why->at)) {
		out_text(out, " (");
		print_short_place(out, &why->at);
		out_printf(out, " %s %s)", line, human_bytes(why->at_bytes).s);
	} else if (rest && why->bytes) {
		out_printf(out, " (%s%s)", human_bytes(why->bytes).s, rest);
	}
}

void finding_text_why(struct out *out, const struct oom_why *why, uint64_t requests)
{
	if (requests > 1)
		out_printf(out, "%s requests failed, such as ", human_count(requests).s);
	print_request(out, why);
	out_text(out, requests > 1 ? ": " : " failed: ");
	print_cause(out, why);
}
