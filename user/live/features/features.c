// SPDX-License-Identifier: BSD-2-Clause
/* See features.h. The table at the end is the order the facts are shown in. */
#include "live/features/features.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/features/features_checks.h"
#include "live/process/procfs.h"

void feature_say(struct feature *feature, enum feature_state state, const char *format, ...)
{
	va_list args;

	feature->state = state;
	va_start(args, format);
	vsnprintf(feature->detail, sizeof(feature->detail), format, args);
	va_end(args);
}

void feature_advise(struct feature *feature, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(feature->remedy, sizeof(feature->remedy), format, args);
	va_end(args);
}

struct feature_path feature_path(const struct features_where *where, const char *path)
{
	struct feature_path full;

	snprintf(full.text, sizeof(full.text), "%s%s", where->system, path);
	return full;
}

const char *feature_text(const struct features_where *where, const char *path, char *buf, size_t size)
{
	ssize_t len = procfs_read(feature_path(where, path).text, buf, size);

	if (len < 0)
		return NULL;
	if (len && buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	return buf;
}

bool feature_exists(const struct features_where *where, const char *path)
{
	return !access(feature_path(where, path).text, F_OK);
}

static const struct check {
	const char *name;
	void (*run)(struct feature *feature, const struct features_where *where);
	bool can_block; /* FEATURE_MISSING is among its answers */
} checks[] = {
	{ "kernel", feature_check_kernel, true },
	{ "privileges", feature_check_privileges, true },
	{ "BTF", feature_check_btf, true },
	{ "uprobes", feature_check_uprobes, true },
	{ "lockdown", feature_check_lockdown, true },
	{ "BPF", feature_check_bpf, true },
	{ "BPF JIT", feature_check_jit, true },
	{ "BPF helpers", feature_check_helpers, true },
	{ "return probes", feature_check_return_probes, false },
	{ "stacks", feature_check_stacks, false },
	{ "BPF programs", feature_check_programs, false }, /* asked when they could not be loaded: it cannot say why */
	{ "mapping events", feature_check_watch, false },
	{ "tracefs", feature_check_tracefs, false },
	{ "sysctls", feature_check_sysctls, false },
	{ "memlock", feature_check_memlock, false },
	{ "pid namespace", feature_check_pid_namespace, false },
	{ "container", feature_check_container, false },
	{ "NVIDIA driver", feature_check_driver, false },
	{ "nvidia-uvm", feature_check_uvm, false },
	{ "NVML", feature_check_nvml, false },
	{ "libcuda", feature_check_libcuda, false },
};
#define CHECKS (sizeof(checks) / sizeof(checks[0]))
_Static_assert(CHECKS <= FEATURES_MAX, "callers' arrays hold every check");

static void run_check(const struct check *check, const struct features_where *where, struct feature *feature)
{
	memset(feature, 0, sizeof(*feature));
	feature->name = check->name;
	check->run(feature, where);
}

size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX])
{
	for (size_t i = 0; i < CHECKS; i++)
		run_check(&checks[i], where, &out[i]);
	return CHECKS;
}

bool features_blocker(const struct features_where *where, struct feature *out)
{
	for (size_t i = 0; i < CHECKS; i++) {
		if (!checks[i].can_block)
			continue;
		run_check(&checks[i], where, out);
		if (out->state == FEATURE_MISSING)
			return true;
	}
	return false;
}
