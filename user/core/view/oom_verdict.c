/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/view/oom_verdict.h"

const char *oom_cause_name(enum oom_cause_kind kind)
{
	static const char *const names[] = {
#define X(name, json) [OOM_CAUSE_##name] = json,
		OOM_CAUSES(X)
#undef X
	};

	return names[kind];
}

enum oom_cause_kind oom_reason_cause(enum oom_reason_kind kind)
{
	static const enum oom_cause_kind causes[] = {
#define X(name, cause) [OOM_REASON_##name] = OOM_CAUSE_##cause,
		OOM_REASONS(X)
#undef X
	};

	return causes[kind];
}

const char *oom_remedy_name(enum oom_remedy remedy)
{
	static const char *const names[] = {
#define X(name, json) [OOM_DO_##name] = json,
		OOM_REMEDIES(X)
#undef X
	};

	return names[remedy];
}
