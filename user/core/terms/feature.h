/* SPDX-License-Identifier: BSD-2-Clause */
/* What `gpumemtrace doctor` found out about one thing that tracing needs. */
#ifndef GPUMEMTRACE_CORE_TERMS_FEATURE_H
#define GPUMEMTRACE_CORE_TERMS_FEATURE_H

/* X(NAME, json name) */
#define FEATURE_STATES(X)                                                         \
	X(OK, "ok")                                                               \
	X(WARN, "warn")       /* tracing works with less: see the detail */       \
	X(MISSING, "missing") /* tracing cannot work without the thing */
enum feature_state {
#define X(name, json) FEATURE_##name,
	FEATURE_STATES(X)
#undef X
};

struct feature {
	const char *name;     /* "BTF", "capabilities": stable, scripts look for it */
	enum feature_state state;
	char detail[320];     /* what was found */
	char remedy[256];     /* what to do about it; "" if nothing is to be done */
};

#endif
