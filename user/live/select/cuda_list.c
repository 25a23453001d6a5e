// SPDX-License-Identifier: BSD-2-Clause
#include "live/select/cuda_list.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "core/terms/cgroup_parts.h"
#include "core/terms/cuda_process.h"
#include "live/nvidia/nvml.h"
#include "live/process/find.h"
#include "live/process/find_names.h"
#include "live/process/procfs.h"

static void take_process(struct cuda_process *process, const struct find_process *found)
{
	struct cgroup_parts parts;

	*process = (struct cuda_process){
		.pid = (uint32_t)found->pid, .uid = found->uid, .start_ns = found->start_ns,
		.age_ns = find_age_ns(found),
	};
	memcpy(process->comm, found->comm, sizeof(process->comm));
	memcpy(process->cmdline, found->cmdline, sizeof(process->cmdline));
	memcpy(process->cgroup, found->cgroup, sizeof(process->cgroup));
	find_user_name("", found->uid, process->user, sizeof(process->user));
	cgroup_parts_read(found->cgroup, strlen(found->cgroup), &parts);
	find_pod_name("", parts.pod, process->pod, sizeof(process->pod));
}

static void note_hidden(struct cuda_processes *processes, const struct find_process *found)
{
	size_t at = processes->hidden++;

	if (at >= CUDA_HIDDEN_MOST)
		return;
	processes->hidden_list[at].pid = (uint32_t)found->pid;
	memcpy(processes->hidden_list[at].comm, found->comm, sizeof(found->comm));
}

static bool may_read_mappings(void)
{
	struct procfs_status status;

	return !procfs_status(getpid(), &status) && status.cap_effective & 1ull << CAP_SYS_PTRACE;
}

/* NVML also lists processes that are not of the list, such as those that only draw. */
static void take_usage(const struct nvml_usage *usage, void *arg)
{
	struct cuda_processes *processes = arg;
	bool is_listed = false;

	for (size_t i = 0; i < processes->count; i++)
		is_listed |= processes->list[i].pid == usage->pid;
	if (!is_listed)
		return;
	processes->uses = xgrow(processes->uses, processes->use_count, sizeof(*processes->uses));
	processes->uses[processes->use_count++] = (struct cuda_use){
		.pid = usage->pid, .gpu = *usage->gpu,
		.used_bytes = usage->used_bytes == NVML_USED_UNKNOWN ? UINT64_MAX : usage->used_bytes,
	};
}

static void read_uses(struct cuda_processes *processes, const char *path, const char *root)
{
	struct nvml *nvml;

	if (nvml_open(path, root, &nvml, processes->why_no_uses, sizeof(processes->why_no_uses)))
		return;
	processes->has_uses = !nvml_processes(nvml, take_usage, processes);
	if (!processes->has_uses)
		snprintf(processes->why_no_uses, sizeof(processes->why_no_uses), "a GPU did not answer NVML");
	nvml_close(nvml);
}

static bool has_use(const struct cuda_processes *processes, uint32_t pid)
{
	for (size_t i = 0; i < processes->use_count; i++)
		if (processes->uses[i].pid == pid)
			return true;
	return false;
}

/* A tracer with memory on a GPU stays: what was preloaded into the tracer uses CUDA. */
static void leave_out_tracers(struct cuda_processes *processes, const struct find_list *found)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct cuda_process *process = &processes->list[at];

		if (!found->list[i].has_libcuda)
			continue;
		at++;
		if (!found->list[i].is_tracer || has_use(processes, process->pid))
			processes->list[kept++] = *process;
	}
	processes->count = kept;
}

int cuda_list_open(struct cuda_processes *processes, const char *nvml_path, const char *driver_root, bool no_nvml)
{
	struct find_selector all = { .kind = FIND_CUDA, .text = "" };
	struct find_list found;
	int err = find_processes("", &all, 1, &found);

	*processes = (struct cuda_processes){ .beyond = found.beyond, .why_no_uses = "switched off" };
	if (err)
		return err;
	processes->is_privileged = may_read_mappings();
	processes->list = xcalloc(found.count + 1, sizeof(*processes->list));
	for (size_t i = 0; i < found.count; i++) {
		if (found.list[i].has_libcuda)
			take_process(&processes->list[processes->count++], &found.list[i]);
		else
			note_hidden(processes, &found.list[i]);
	}
	if (!no_nvml)
		read_uses(processes, nvml_path, driver_root);
	leave_out_tracers(processes, &found);
	free(found.list);
	return 0;
}

void cuda_list_close(struct cuda_processes *processes)
{
	free(processes->list);
	free(processes->uses);
	*processes = (struct cuda_processes){ 0 };
}
