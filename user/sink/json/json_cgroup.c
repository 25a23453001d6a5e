/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/json/json_cgroup.h"

#include <string.h>

#include "core/terms/cgroup_parts.h"

/* The path is foreign text. */
static json_t *part_if_known(const char *text)
{
	return text[0] ? js_text(text, strlen(text)) : json_null();
}

json_t *json_add_cgroup(json_t *process, const char *cgroup)
{
	struct cgroup_parts parts;
	json_t *container = json_null();

	cgroup_parts_read(cgroup, strlen(cgroup), &parts);
	if (parts.container[0])
		container = JS_OBJECT({ "id", part_if_known(parts.container) },
				      { "runtime", js_word_if(parts.runtime != CGROUP_UNKNOWN,
							      cgroup_runtime_name(parts.runtime)) });
	return JS_ADD(process, { "cgroup", js_text(cgroup, strlen(cgroup)) }, { "container", container },
		      { "pod_uid", part_if_known(parts.pod) }, { "unit", part_if_known(parts.unit) },
		      { "slurm_job", part_if_known(parts.job) }, { "slurm_step", part_if_known(parts.step) });
}
