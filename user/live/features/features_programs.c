// SPDX-License-Identifier: BSD-2-Clause
/* Checks whether the kernel accepts the real BPF programs: loads all of them, and places no probe. */
#include <stdio.h>

#include "live/probe/attach.h"
#include "live/features/features_checks.h"
#include "live/bpf/plan.h"

static void tell_limits(struct feature *feature, const struct plan_limits *limits)
{
	char text[sizeof(feature->detail)] = "";
	size_t len = 0;

	for (size_t i = 0; i < limits->count && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "; " : "", limits->list[i].what);
	feature_say(feature, FEATURE_WARN, "%s", text);
	feature_advise(feature, "%.90s. %.90s", limits->list[0].why, limits->list[0].remedy);
}

void feature_check_programs(struct feature *feature, const struct features_where *where)
{
	struct attach_options options = {
		.programs.config = { .stack_mode = GMT_STACKS_FULL, .block_stacks = 1 },
		.programs.btf = where->btf,
		.programs.refused = where->refused,
		.no_uprobe_multi = where->no_uprobe_multi,
	};
	char cause[sizeof(feature->detail)];
	struct attach *attach;

	if (attach_open(&attach, &options, cause, sizeof(cause))) {
		feature_say(feature, FEATURE_MISSING, "%s", cause);
		feature_advise(feature, "See the lines above; gpumemtrace -v -a -d 1 shows the kernel's own messages");
		return;
	}
	if (attach_limits(attach)->count)
		tell_limits(feature, attach_limits(attach));
	else
		feature_say(feature, FEATURE_OK, "all were loaded, and none has a private stack");
	attach_close(attach);
}
