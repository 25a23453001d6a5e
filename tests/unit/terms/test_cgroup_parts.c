// SPDX-License-Identifier: BSD-2-Clause
/* What paths of cgroups say, for each runtime and both versions of cgroups. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "core/terms/cgroup_parts.h"

#define ID "3f2a9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc"
#define UID "0b1c2d3e-1111-4222-8333-444455556666"
#define UID_LOW "0b1c2d3e_1111_4222_8333_444455556666"
#define HASH "0123456789abcdef0123456789abcdef"

struct row {
	const char *path;
	enum cgroup_runtime runtime;
	const char *container, *pod, *job, *step, *unit;
};

static void check_row(const struct row *row)
{
	struct cgroup_parts parts;

	cgroup_parts_read(row->path, strlen(row->path), &parts);
	if (parts.runtime != row->runtime)
		fail_msg("%s: runtime %s", row->path, cgroup_runtime_name(parts.runtime));
	assert_string_equal(parts.container, row->container);
	assert_string_equal(parts.pod, row->pod);
	assert_string_equal(parts.job, row->job);
	assert_string_equal(parts.step, row->step);
	assert_string_equal(parts.unit, row->unit);
}

static void each_path(void **state)
{
	static const struct row rows[] = {
		{ "/docker/" ID, CGROUP_DOCKER, ID, "", "", "", "" },
		{ "/system.slice/docker-" ID ".scope", CGROUP_DOCKER, ID, "", "", "", "docker-" ID ".scope" },
		{ "/system.slice/docker-" ID ".scope/init", CGROUP_DOCKER, ID, "", "", "", "docker-" ID ".scope" },
		{ "/machine.slice/libpod-" ID ".scope/container", CGROUP_PODMAN, ID, "", "", "", "libpod-" ID ".scope" },
		{ "/libpod_parent/libpod-" ID, CGROUP_PODMAN, ID, "", "", "", "" },
		{ "/machine.slice/libpod-conmon-" ID ".scope", CGROUP_NONE, "", "", "", "",
		  "libpod-conmon-" ID ".scope" },
		{ "/kubepods/burstable/pod" UID "/" ID, CGROUP_UNKNOWN, ID, UID, "", "", "" },
		{ "/kubepods/pod" UID "/crio-" ID, CGROUP_CRIO, ID, UID, "", "", "" },
		{ "/kubepods/pod" UID "/crio-conmon-" ID, CGROUP_NONE, "", UID, "", "", "" },
		{ "/kubepods/besteffort/pod" HASH, CGROUP_NONE, "", HASH, "", "", "" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_LOW ".slice/cri-containerd-" ID
		  ".scope", CGROUP_CONTAINERD, ID, UID, "", "", "cri-containerd-" ID ".scope" },
		{ "/kubepods.slice/kubepods-pod" UID_LOW ".slice/crio-" ID ".scope/container", CGROUP_CRIO, ID, UID, "",
		  "", "crio-" ID ".scope" },
		{ "/kubepods.slice/kubepods-pod" UID_LOW ".slice", CGROUP_NONE, "", UID, "", "",
		  "kubepods-pod" UID_LOW ".slice" },
		{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_LOW ".slice:cri-containerd:" ID,
		  CGROUP_CONTAINERD, ID, UID, "", "", "containerd.service" },
		{ "/docker/" ID "/kubepods/pod" UID "/" HASH HASH, CGROUP_UNKNOWN, HASH HASH, UID, "", "", "" },
		{ "/lxc/web", CGROUP_LXC, "web", "", "", "", "" },
		{ "/lxc.payload.web/system.slice/ssh.service", CGROUP_LXC, "web", "", "", "", "ssh.service" },
		{ "/weird/" ID, CGROUP_UNKNOWN, ID, "", "", "", "" },
		{ "/slurm/uid_1000/job_77/step_0/task_3", CGROUP_NONE, "", "", "77", "0", "" },
		{ "/slurm_node7/uid_1000/job_77/step_batch", CGROUP_NONE, "", "", "77", "batch", "" },
		{ "/system.slice/slurmstepd.scope/job_77/step_extern/user/task_0", CGROUP_NONE, "", "", "77", "extern",
		  "slurmstepd.scope" },
		{ "/system.slice/node7_slurmstepd.scope/job_77", CGROUP_NONE, "", "", "77", "", "node7_slurmstepd.scope" },
		{ "/user.slice/user-1000.slice/session-3.scope", CGROUP_NONE, "", "", "", "", "session-3.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service", CGROUP_NONE, "", "", "", "",
		  "jupyter.service" },
		{ "/user.slice/user-1000.slice", CGROUP_NONE, "", "", "", "", "user-1000.slice" },
		/* names that only look like it */
		{ "/job_77/step_0", CGROUP_NONE, "", "", "", "", "" },
		{ "/slurmish/job_77", CGROUP_NONE, "", "", "", "", "" },
		{ "/slurm/job_x/step_0", CGROUP_NONE, "", "", "", "", "" },
		{ "/slurm/job_4294967296", CGROUP_NONE, "", "", "", "", "" },
		{ "/podcast/pod" UID, CGROUP_NONE, "", "", "", "", "" },
		{ "/kubepods/pod" UID UID, CGROUP_NONE, "", "", "", "", "" },
		{ "/docker/3f2a9c1b", CGROUP_NONE, "", "", "", "", "" },
		{ "/docker/" ID "0", CGROUP_NONE, "", "", "", "", "" },
		{ "/.slice/.scope", CGROUP_NONE, "", "", "", "", "" },
		{ "/", CGROUP_NONE, "", "", "", "", "" },
		{ "", CGROUP_NONE, "", "", "", "", "" },
		{ "::/:/", CGROUP_NONE, "", "", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

static bool join_names(const char *name, size_t size, void *arg)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%.*s ", (int)size, name);
	return false;
}

static void all_containers_and_units(void **state)
{
	static const char path[] = "/a.slice/docker-" ID ".scope/b.service/crio-" HASH;
	char containers[256] = "", units[256] = "";

	(void)state;
	assert_false(cgroup_any_container(path, strlen(path), join_names, containers));
	assert_string_equal(containers, ID " " HASH " ");
	assert_false(cgroup_any_unit(path, strlen(path), join_names, units));
	assert_string_equal(units, "a.slice docker-" ID ".scope b.service ");
}

static void each_line(void **state)
{
	static const char text[] = "12:pids:/docker/1\nbroken\n1:name=systemd:/a:b\n:\n0::/";
	struct scan all = { text, text + strlen(text) }, path;
	char got[256] = "";

	(void)state;
	while (cgroup_next_path(&all, &path))
		join_names(path.at, (size_t)(path.end - path.at), got);
	assert_string_equal(got, "/docker/1 /a:b / ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path),
		cmocka_unit_test(all_containers_and_units),
		cmocka_unit_test(each_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
