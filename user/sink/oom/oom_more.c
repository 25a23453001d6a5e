// SPDX-License-Identifier: BSD-2-Clause
/* Writes the sentences about a failed request that stand below its verdict: the outcome, and what changed before. */
#include <sys/wait.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/text/text.h"

/* ---- the outcome ---- */

static void say_tries(struct out *out, const struct gmt_oom *rec)
{
	if (rec->failures > 1)
		out_printf(out, ", after %s failed tries", human_count(rec->failures).s);
	if (rec->freed_bytes)
		out_printf(out, rec->failures > 1 ? ", with %s freed in between" : ", after %s was freed",
			   human_bytes(rec->freed_bytes).s);
}

void oom_say_retry(struct out *out, const struct oom_view *v)
{
	const struct gmt_oom *rec = &v->rec;

	out_printf(out, "a retry%s succeeded", rec->sign == GMT_OOM_BY_GIVEN ? "" : " for less memory");
	if (rec->given_bytes)
		out_printf(out, " (%s)", human_bytes(rec->given_bytes).s);
	say_tries(out, rec);
	out_printf(out, ", %s after the first failure; the step was slow, and there was no error",
		   human_duration(rec->decided_ns - rec->first_ns).s);
}

void oom_say_outcome(struct out *out, const struct oom_view *v)
{
	const struct gmt_oom *rec = &v->rec;
	bool is_killed = rec->exit_code != GMT_EXIT_CODE_UNKNOWN && WIFSIGNALED(rec->exit_code);
	const char *sign = rec->sign < GMT_OOM_SIGN_COUNT ? gmt_oom_sign_text(rec->sign) : "";

	switch (rec->outcome) {
	case GMT_OOM_RAISED:
		out_text(out, *sign ? sign : "The program received the error");
		say_tries(out, rec);
		out_char(out, '.');
		break;
	case GMT_OOM_FATAL:
		out_printf(out, "The process %s%s, %s after the ", is_killed ? "was " : "", text_exit(rec->exit_code).s,
			   human_duration(rec->exit_ns - rec->last_ns).s);
		if (rec->failures > 1)
			out_printf(out, "last of %s failures", human_count(rec->failures).s);
		else
			out_text(out, "failure");
		if (rec->freed_bytes)
			out_printf(out, ", with %s freed in between", human_bytes(rec->freed_bytes).s);
		out_char(out, '.');
		break;
	case GMT_OOM_OPEN:
		out_text(out, "The outcome is not known: nothing more was recorded.");
		break;
	default:
		out_text(out, "This version of gpumemtrace does not know this outcome: use a newer version.");
	}
}

/* ---- what changed before ---- */

static void say_change(struct out *out, const struct history_change *c, const char *where)
{
	out_printf(out, " allocated %s %s (%s %s)", human_bytes(c->alloc_bytes).s, where, human_count(c->allocs).s,
		   human_plural(c->allocs, "allocation", "allocations"));
	out_printf(out, " and freed %s (%s %s)", human_bytes(c->freed_bytes).s, human_count(c->frees).s,
		   human_plural(c->frees, "free", "frees"));
}

/* PyTorch's blocks come first, because its driver allocations follow from the blocks. */
void oom_say_changes(struct out *out, const struct oom_view *v)
{
	const struct history_changes *c = &v->changes;
	bool has_blocks = c->blocks.allocs | c->blocks.frees, has_segments = c->segments.allocs | c->segments.frees;

	if (!has_blocks && !has_segments)
		return;
	out_printf(out, "In the %s before %s, ", human_duration(c->until_ns - c->since_ns).s,
		   v->rec.outcome == GMT_OOM_NONE ? "this picture" : "the failure");
	if (v->proc == OOM_VIEW_NONE)
		out_text(out, "all processes");
	else
		out_printf(out, "process %u", v->view.procs[v->proc].tgid);
	if (has_blocks)
		say_change(out, &c->blocks, "for tensors");
	if (has_blocks && has_segments)
		out_text(out, ", and");
	if (has_segments)
		say_change(out, &c->segments, "from the driver");
	out_char(out, '.');
}
