/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON of what a cgroup's path says of a process. */
#ifndef GPUMEMTRACE_SINK_JSON_JSON_CGROUP_H
#define GPUMEMTRACE_SINK_JSON_JSON_CGROUP_H

#include "base/js.h"

/* Adds the path and its parts (core/terms/cgroup_parts.h) to a process, and returns the process. */
json_t *json_add_cgroup(json_t *process, const char *cgroup);

#endif
