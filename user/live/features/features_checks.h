/* SPDX-License-Identifier: BSD-2-Clause */
/* One function a fact, for the table in features.c; and what they say it with. */
#ifndef GPUMEMTRACE_LIVE_FEATURES_FEATURES_CHECKS_H
#define GPUMEMTRACE_LIVE_FEATURES_FEATURES_CHECKS_H

#include <stddef.h>

#include "live/features/features.h"

void feature_say(struct feature *feature, enum feature_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void feature_advise(struct feature *feature, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A path of /proc or /sys as this system has it. */
struct feature_path {
	char text[512];
};
struct feature_path feature_path(const struct features_where *where, const char *path);

/* A small file's text without its last newline; NULL if the file cannot be read. */
const char *feature_text(const struct features_where *where, const char *path, char *buf, size_t size);
bool feature_exists(const struct features_where *where, const char *path);

enum features_kernel feature_kernel(const struct features_where *where);

void feature_check_privileges(struct feature *feature, const struct features_where *where);
void feature_check_kernel(struct feature *feature, const struct features_where *where);
void feature_check_btf(struct feature *feature, const struct features_where *where);
void feature_check_uprobes(struct feature *feature, const struct features_where *where);
void feature_check_lockdown(struct feature *feature, const struct features_where *where);
void feature_check_bpf(struct feature *feature, const struct features_where *where);
void feature_check_helpers(struct feature *feature, const struct features_where *where);
void feature_check_return_probes(struct feature *feature, const struct features_where *where);
void feature_check_jit(struct feature *feature, const struct features_where *where);
void feature_check_stacks(struct feature *feature, const struct features_where *where);
void feature_check_programs(struct feature *feature, const struct features_where *where);
void feature_check_watch(struct feature *feature, const struct features_where *where);
void feature_check_tracefs(struct feature *feature, const struct features_where *where);
void feature_check_sysctls(struct feature *feature, const struct features_where *where);
void feature_check_memlock(struct feature *feature, const struct features_where *where);
void feature_check_pid_namespace(struct feature *feature, const struct features_where *where);
void feature_check_container(struct feature *feature, const struct features_where *where);
void feature_check_driver(struct feature *feature, const struct features_where *where);
void feature_check_uvm(struct feature *feature, const struct features_where *where);
void feature_check_nvml(struct feature *feature, const struct features_where *where);
void feature_check_libcuda(struct feature *feature, const struct features_where *where);

#endif
