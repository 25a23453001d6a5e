// SPDX-License-Identifier: BSD-2-Clause
/* Processes found in trees of files that this test makes, as Linux, systemd, container runtimes, Slurm and the kubelet
 * make them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/process/find.h"
#include "live/process/find_names.h"

#define ID_A "3f2a9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc"
#define ID_B "3f2b9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc"
#define ID_C "beef9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc"
#define POD_1 "0b1c2d3e-1111-4222-8333-444455556666"
#define POD_1_LOW "0b1c2d3e_1111_4222_8333_444455556666"
#define POD_2 "77777777-1111-4222-8333-444455556666"
#define POD_3 "88888888-1111-4222-8333-444455556666"

static char root[PATH_MAX - 300];

static void make_folders(char *path)
{
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static void write_bytes(const char *name, const char *bytes, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static void write_fact(pid_t pid, const char *file, const char *text, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%d/%s", (int)pid, file);
	write_bytes(name, text, size);
}

/* A process as /proc shows it. Arguments are separated by '|'. */
static void make_child(pid_t pid, pid_t parent, const char *comm, const char *arguments, const char *cgroup)
{
	char text[8192], path[PATH_MAX];
	int size = snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0",
			    (int)pid, comm, (int)parent, 100 * (int)pid);

	write_fact(pid, "stat", text, (size_t)size);
	size = snprintf(text, sizeof(text), "Name:\t%s\nTgid:\t%d\nUid:\t1000\t1000\t1000\t1000\n", comm, (int)pid);
	write_fact(pid, "status", text, (size_t)size);
	size = snprintf(text, sizeof(text), "%s|", arguments);
	for (char *p = text; *p; p++)
		*p = *p == '|' ? '\0' : *p;
	write_fact(pid, "cmdline", text, (size_t)size);
	write_fact(pid, "cgroup", cgroup, strlen(cgroup));
	snprintf(path, sizeof(path), "%s/proc/%d/environ", root, (int)pid);
	unlink(path);
	write_fact(pid, "maps", "", 0);
	snprintf(path, sizeof(path), "%s/proc/%d/exe", root, (int)pid);
	unlink(path);
	snprintf(text, sizeof(text), "/usr/bin/%s", comm);
	assert_int_equal(symlink(text, path), 0);
}

static void make_process(pid_t pid, const char *comm, const char *arguments, const char *cgroup)
{
	make_child(pid, 1, comm, arguments, cgroup);
}

static int clear_root(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'/*", root);
	assert_int_equal(system(command), 0);
	write_text("proc/version", "Linux\n");
	return 0;
}

static struct find_selector select_by(enum find_kind kind, const char *text)
{
	struct find_selector selector;
	char why[256];

	if (find_selector_read(&selector, root, kind, text, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	return selector;
}

/* The pids that are found, separated by blanks; "AMBIGUOUS" if the selector is. */
static void expect_found(enum find_kind kind, const char *text, const char *wanted)
{
	struct find_selector selector = select_by(kind, text);
	struct find_list found;
	char pids[256] = "";

	assert_int_equal(find_processes(root, &selector, 1, &found), 0);
	for (size_t i = 0; i < found.count; i++)
		snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), "%s%d", i ? " " : "", found.list[i].pid);
	free(found.list);
	if (strcmp(selector.is_ambiguous ? "AMBIGUOUS" : pids, wanted))
		fail_msg("%s: found '%s', not '%s'", text, selector.is_ambiguous ? "AMBIGUOUS" : pids, wanted);
}

static void names_and_patterns(void **state)
{
	static const struct { const char *pattern, *wanted; } rows[] = {
		{ "train.py", "11 12" }, { "train*", "11 12 16" }, { "train", "" }, { "python3", "11 12 13 14 15" },
		{ "pt_main_thread", "12" }, { "torch.distributed.run", "13" }, { "trainer", "16" }, { "*", "11 12 13 14 15 16 17 18" },
		{ "/data/me/train.py", "11" }, { "/data/*", "11" }, { "train?py", "11 12" }, { "[t]rain.py", "11 12" },
		{ "job.sh", "17" }, { "python3*", "11 12 13 14 15" }, { "a b", "18" }, { "-c", "" }, { "notes.py", "" },
		{ "TRAIN.PY", "" }, { "exit", "" },
	};

	(void)state;
	make_process(11, "python3", "/usr/bin/python3|-u|-X|faulthandler|/data/me/train.py|--lr|1", "0::/\n");
	make_process(12, "pt_main_thread", "python3|-OO|train.py", "0::/\n");
	make_process(13, "python3", "python3|-m|torch.distributed.run|x.py", "0::/\n");
	make_process(14, "python3", "python3|-c|exit", "0::/\n");
	make_process(15, "python3", "python3", "0::/\n");
	make_process(16, "trainer", "./bin/trainer|notes.py", "0::/\n");
	make_process(17, "job.sh", "/bin/bash|/var/spool/job.sh", "0::/\n");
	make_process(18, "a b", "vim|notes.py", "0::/\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_found(FIND_NAME, rows[i].pattern, rows[i].wanted);
	expect_found(FIND_PID, "12", "12");
	expect_found(FIND_PID, "99", "");
}

static void facts_of_a_process(void **state)
{
	static const char maps[] = "7f00-7f10 r-xp 00000000 08:01 77 /usr/lib/libcuda.so.580.1\n";
	struct find_process process;

	(void)state;
	make_process(21, "a) b", "python3|train.py", "0::/docker/" ID_A "\n");
	write_fact(21, "maps", maps, sizeof(maps) - 1);
	make_process(22, "sh", "sh", "0::/\n");
	assert_true(find_facts(root, 21, &process));
	assert_int_equal(process.pid, 21);
	assert_int_equal(process.start_ticks, 2100);
	assert_int_equal(process.uid, 1000);
	assert_true(process.has_libcuda);
	assert_string_equal(process.comm, "a) b");
	assert_string_equal(process.cmdline, "python3 train.py");
	assert_string_equal(process.cgroup, "/docker/" ID_A);
	assert_true(find_is_same(root, 21, 2100));
	assert_false(find_is_same(root, 21, 2101));
	assert_false(find_is_same(root, 23, 2300));
	expect_found(FIND_CUDA, "", "21");
}

/* Python's multiprocessing starts processes with commands that say nothing of the program. */
static void children_of_multiprocessing(void **state)
{
	static const char spawned[] = "python3|-B|-c|from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle=7)|"
				      "--multiprocessing-fork";
	char whole[sizeof(spawned)];
	struct find_process process;

	(void)state;
	make_process(30, "python3", "python3|train.py|--lr|0.1", "0::/\n");
	make_child(31, 30, "python3", spawned, "0::/\n");
	make_child(32, 31, "python3", "python3|-c|from multiprocessing.forkserver import main; main(3)", "0::/\n");
	assert_true(find_facts(root, 31, &process));
	assert_string_equal(process.cmdline, "python3 train.py --lr 0.1 [multiprocessing]");
	assert_true(find_facts(root, 32, &process));
	assert_string_equal(process.cmdline, "python3 train.py --lr 0.1 [multiprocessing]");
	/* The parent has ended, its pid is a later process's, or it has no command. */
	for (size_t i = 0; i < sizeof(whole); i++)
		whole[i] = (char)(spawned[i] == '|' ? ' ' : spawned[i]);
	make_child(33, 1, "python3", spawned, "0::/\n");
	make_child(34, 29, "python3", spawned, "0::/\n");
	make_process(36, "python3", "python3|other.py", "0::/\n");
	make_child(35, 36, "python3", spawned, "0::/\n");
	make_process(37, "python3", "", "0::/\n");
	make_child(38, 37, "python3", spawned, "0::/\n");
	make_process(20, "systemd", "systemd|--user", "0::/\n"); /* takes in orphans */
	make_child(37, 20, "python3", spawned, "0::/\n");
	for (pid_t pid = 33; pid <= 38; pid += pid == 35 ? 2 : 1) {
		assert_true(find_facts(root, pid, &process));
		assert_string_equal(process.cmdline, whole);
	}
	/* Processes that name each other. */
	make_child(40, 41, "python3", spawned, "0::/\n");
	make_child(41, 40, "python3", spawned, "0::/\n");
	assert_true(find_facts(root, 40, &process));
	assert_string_equal(process.cmdline, whole);
}

/* What a process that ends, a kernel thread and hostile files look like. */
static void broken_processes_are_left_out(void **state)
{
	static const char kernel[] = "31 (kworker) S 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0";
	static const char zombie[] = "32 (train.py) Z 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0";

	(void)state;
	make_process(31, "kworker", "", "0::/\n");
	write_fact(31, "stat", kernel, sizeof(kernel) - 1);
	make_process(32, "train.py", "", "0::/\n");
	write_fact(32, "stat", zombie, sizeof(zombie) - 1);
	write_fact(33, "stat", "rubbish", 7);
	write_text("proc/34/none", "");
	write_text("proc/99999999999999999999/stat", "");
	make_process(35, "train.py", "x", "");
	write_fact(35, "status", "rubbish", 7);
	expect_found(FIND_NAME, "*", "");
	expect_found(FIND_CGROUP, "/x", "");
	expect_found(FIND_SLURM_JOB, "1", "");
}

static void containers_by_id(void **state)
{
	(void)state;
	make_process(41, "a", "a", "0::/system.slice/docker-" ID_A ".scope\n");
	make_process(42, "b", "b", "12:pids:/docker/" ID_A "/inner\n0::/\n");
	make_process(43, "c", "c", "0::/kubepods.slice/kubepods-pod" POD_1_LOW ".slice/cri-containerd-" ID_B ".scope\n");
	make_process(44, "d", "d", "0::/kubepods/pod" POD_2 "/crio-" ID_C "\n");
	make_process(45, "e", "e", "3:memory:/machine.slice/libpod-conmon-" ID_C ".scope\n0::/\n");
	make_process(46, "f", "f", "0::/user.slice\n");
	expect_found(FIND_CONTAINER, ID_A, "41 42");
	expect_found(FIND_CONTAINER, "3f2a", "41 42");
	expect_found(FIND_CONTAINER, "3F2A9C", "41 42");
	expect_found(FIND_CONTAINER, "3f2b9c1b77d0", "43");
	expect_found(FIND_CONTAINER, "beef", "44");
	expect_found(FIND_CONTAINER, "bee", "");
	expect_found(FIND_CONTAINER, "9c1b", "");
	make_process(47, "g", "g", "0::/docker/3f2a0000000000000000000000000000\n");
	expect_found(FIND_CONTAINER, "3f2a", "AMBIGUOUS");
}

static void containers_by_name(void **state)
{
	(void)state;
	make_process(41, "a", "a", "0::/system.slice/docker-" ID_A ".scope\n");
	make_process(42, "b", "b", "0::/machine.slice/libpod-" ID_B ".scope/container\n");
	make_process(43, "c", "c", "0::/lxc/box\n");
	make_process(44, "d", "d", "0::/system.slice/docker-" ID_C ".scope\n");
	write_text("var/lib/docker/containers/" ID_A "/config.v2.json", "{\"ID\":\"" ID_A "\",\"Name\":\"/web\"}");
	write_text("var/lib/docker/containers/" ID_C "/config.v2.json", "{\"Name\":[1]}");
	write_text("var/lib/docker/containers/broken/config.v2.json", "{\"Name\":");
	write_text("var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"id\":\"" ID_B "\",\"names\":[\"db\",\"data\",\"3f2a\"]},{\"names\":[\"web\"]},7,{\"id\":\"x\",\"names\":9}]");
	expect_found(FIND_CONTAINER, "web", "41");
	expect_found(FIND_CONTAINER, "data", "42");
	expect_found(FIND_CONTAINER, "3f2a", "42"); /* a name comes before the beginning of an id */
	expect_found(FIND_CONTAINER, "box", "43");
	expect_found(FIND_CONTAINER, "bo", "");
	expect_found(FIND_CONTAINER, "nginx", "");
}

/* v2, v1, and both beside each other. */
static void cgroups_by_path(void **state)
{
	struct find_selector selector;
	char why[256];

	(void)state;
	make_process(51, "a", "a", "0::/a/b\n");
	make_process(52, "b", "b", "0::/a\n");
	make_process(53, "c", "c", "0::/ab\n");
	make_process(54, "d", "d", "4:memory:/a/c\n1:name=systemd:/x\n0::/\n");
	expect_found(FIND_CGROUP, "/a", "51 52 54");
	expect_found(FIND_CGROUP, "a/", "51 52 54");
	expect_found(FIND_CGROUP, "/a/b", "51");
	expect_found(FIND_CGROUP, "/sys/fs/cgroup/memory/a", "51 52 54");
	expect_found(FIND_CGROUP, "/sys/fs/cgroup/systemd/x", "54");
	write_text("sys/fs/cgroup/cgroup.controllers", "memory\n");
	expect_found(FIND_CGROUP, "/sys/fs/cgroup/a", "51 52 54");
	expect_found(FIND_CGROUP, "/sys/fs/cgroup/memory/a", "");
	assert_int_equal(find_selector_read(&selector, root, FIND_CGROUP, "/", why, sizeof(why)), -EINVAL);
	assert_int_equal(find_selector_read(&selector, root, FIND_CGROUP, "/sys/fs/cgroup/", why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "the path of a cgroup below the root");
}

static void units(void **state)
{
	(void)state;
	make_process(61, "a", "a", "0::/system.slice/train.service\n");
	make_process(62, "b", "b", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/train.service/child\n");
	make_process(63, "c", "c", "5:pids:/\n1:name=systemd:/system.slice/other.service\n0::/\n");
	make_process(64, "d", "d", "0::/user.slice/user-1000.slice/session-3.scope\n");
	expect_found(FIND_UNIT, "train", "61 62");
	expect_found(FIND_UNIT, "train.service", "61 62");
	expect_found(FIND_UNIT, "other.service", "63");
	expect_found(FIND_UNIT, "session-3.scope", "64");
	expect_found(FIND_UNIT, "user-1000.slice", "62 64");
	expect_found(FIND_UNIT, "user@1000.service", "62");
	expect_found(FIND_UNIT, "rain", "");
}

static void slurm_jobs(void **state)
{
	static const char job[] = "A=1\0SLURM_JOB_ID=77\0SLURM_STEP_ID=4294967291\0";
	static const char foreign[] = "SLURM_JOB_ID=77\0";

	(void)state;
	make_process(71, "a", "a", "4:memory:/slurm/uid_1000/job_77/step_0/task_1\n0::/\n");
	make_process(72, "b", "b", "0::/system.slice/slurmstepd.scope/job_77/step_batch/user/task_0\n");
	make_process(73, "c", "c", "0::/system.slice/slurmstepd.scope/job_778/step_0\n");
	make_process(74, "d", "d", "0::/user.slice\n");
	write_fact(74, "environ", job, sizeof(job) - 1);
	/* a user can set the variable, so the job of the cgroup counts */
	make_process(75, "e", "e", "0::/system.slice/slurmstepd.scope/job_9/step_0\n");
	write_fact(75, "environ", foreign, sizeof(foreign) - 1);
	expect_found(FIND_SLURM_JOB, "77", "71 72 74");
	expect_found(FIND_SLURM_JOB, "77.0", "71");
	expect_found(FIND_SLURM_JOB, "77.batch", "72 74");
	expect_found(FIND_SLURM_JOB, "7", "");
	expect_found(FIND_SLURM_JOB, "9", "75");
}

/* Each task of an array is a job with an id of its own; the environment says of which array. */
static void slurm_arrays(void **state)
{
	static const char fifth[] = "SLURM_JOB_ID=81\0SLURM_ARRAY_JOB_ID=80\0SLURM_ARRAY_TASK_ID=5\0SLURM_STEP_ID=0\0";
	static const char last[] = "SLURM_JOB_ID=80\0SLURM_ARRAY_JOB_ID=80\0SLURM_ARRAY_TASK_ID=50\0";
	static const char none[] = "SLURM_ARRAY_JOB_ID=80\0SLURM_ARRAY_TASK_ID=5\0";

	(void)state;
	make_process(81, "a", "a", "0::/system.slice/slurmstepd.scope/job_81/step_batch/user/task_0\n");
	write_fact(81, "environ", fifth, sizeof(fifth) - 1);
	make_process(82, "b", "b", "0::/user.slice\n");
	write_fact(82, "environ", fifth, sizeof(fifth) - 1);
	make_process(83, "c", "c", "0::/system.slice/slurmstepd.scope/job_80/step_0\n");
	write_fact(83, "environ", last, sizeof(last) - 1);
	/* a user can set the variables: the cgroup is another job's */
	make_process(84, "d", "d", "0::/system.slice/slurmstepd.scope/job_99/step_0\n");
	write_fact(84, "environ", fifth, sizeof(fifth) - 1);
	make_process(85, "e", "e", "0::/user.slice\n");
	write_fact(85, "environ", none, sizeof(none) - 1);
	expect_found(FIND_SLURM_JOB, "80_5", "81 82");
	expect_found(FIND_SLURM_JOB, "80_50", "83");
	expect_found(FIND_SLURM_JOB, "80_5.batch", "81");
	expect_found(FIND_SLURM_JOB, "80_5.0", "82");
	expect_found(FIND_SLURM_JOB, "80_6", "");
	expect_found(FIND_SLURM_JOB, "81_5", "");
	expect_found(FIND_SLURM_JOB, "81", "81 82");
}

static void pods(void **state)
{
	char name[256];

	(void)state;
	make_process(81, "a", "a", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_1_LOW
			 ".slice/cri-containerd-" ID_A ".scope\n");
	make_process(82, "b", "b", "11:memory:/kubepods/besteffort/pod" POD_2 "/" ID_B "\n0::/\n");
	make_process(83, "c", "c", "0::/kubepods/pod" POD_3 "/crio-" ID_C "\n");
	write_text("var/log/pods/default_train-0_" POD_1 "/x/0.log", "");
	write_text("var/log/pods/default_train-0_00000000-0000-0000-0000-000000000000/x/0.log", "");
	write_text("var/log/pods/team_eval_" POD_2 "/x/0.log", "");
	write_text("var/log/pods/team_train-1_" POD_2 "/x/0.log", "");
	write_text("var/log/pods/default_eval_" POD_3 "/x/0.log", "");
	write_text("var/log/pods/_/x", "");
	write_text("var/log/pods/a__/x", "");
	expect_found(FIND_POD, POD_1, "81");
	expect_found(FIND_POD, "train-0", "81");
	expect_found(FIND_POD, "default/train-0", "81");
	expect_found(FIND_POD, "team/train-0", "");
	expect_found(FIND_POD, "team/eval", "82");
	expect_found(FIND_POD, "default/eval", "83");
	expect_found(FIND_POD, "eval", "AMBIGUOUS");
	expect_found(FIND_POD, "train", "");
	find_pod_name(root, POD_1, name, sizeof(name));
	assert_string_equal(name, "default/train-0");
	find_pod_name(root, "x", name, sizeof(name));
	assert_string_equal(name, "");
}

static void too_many_pods(void **state)
{
	struct find_selector selector = select_by(FIND_POD, "train-0");
	char name[128];

	(void)state;
	for (int over = 0; over < 2; over++) {
		for (int i = 0; i < FIND_IDS + over; i++) {
			snprintf(name, sizeof(name), "var/log/pods/default_train-0_%08d-0000-0000-0000-000000000000/0.log", i);
			write_text(name, "");
		}
		selector.id_count = 0;
		find_pod_ids(root, &selector);
		assert_int_equal(selector.has_more_ids, over);
		assert_false(selector.is_cut);
	}
	for (int i = 0; i < 65536; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/var/log/pods/%d", root, i);
		assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
	}
	find_pod_ids(root, &selector);
	assert_true(selector.is_cut);
}

/* A script behind options of 5000 bytes; and a name that is too long for a path. */
static void long_command_lines(void **state)
{
	static char arguments[2][6000];

	(void)state;
	memset(arguments[0], 'x', 5000);
	memcpy(arguments[0], "python3|-X|", 11);
	memcpy(arguments[0] + 5000, "|late.py", 9);
	memset(arguments[1], 'x', 5000);
	make_process(91, "python3", arguments[0], "0::/\n");
	make_process(92, "y", arguments[1], "0::/\n");
	expect_found(FIND_NAME, "late.py", "91");
	expect_found(FIND_NAME, "xx*", "");
}

static void several_selectors(void **state)
{
	struct find_selector selectors[2];
	struct find_list found;

	(void)state;
	make_process(91, "a", "a", "0::/system.slice/a.service\n");
	make_process(92, "b", "b", "0::/system.slice/b.service\n");
	make_process(93, "c", "c", "0::/system.slice/c.service\n");
	selectors[0] = select_by(FIND_UNIT, "a");
	selectors[1] = select_by(FIND_UNIT, "c");
	assert_int_equal(find_processes(root, selectors, 2, &found), 0);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.list[0].pid, 91);
	assert_int_equal(found.list[1].pid, 93);
	free(found.list);
	assert_true(find_selects(root, selectors, 2, 93));
	assert_false(find_selects(root, selectors, 2, 92));
	assert_false(find_selects(root, selectors, 2, 94));
}

static void wrong_texts(void **state)
{
	static const struct { enum find_kind kind; const char *text; } rows[] = {
		{ FIND_PID, "0" }, { FIND_PID, "1x" }, { FIND_PID, "2147483648" }, { FIND_PID, "" }, { FIND_NAME, "" },
		{ FIND_CONTAINER, "" }, { FIND_CGROUP, "//" }, { FIND_UNIT, "a/b" }, { FIND_SLURM_JOB, "x" },
		{ FIND_SLURM_JOB, "12_" },
		{ FIND_SLURM_JOB, "12_[1-3]" }, { FIND_SLURM_JOB, "0_1" }, { FIND_SLURM_JOB, "12." }, { FIND_SLURM_JOB, "4294967296" },
		{ FIND_SLURM_JOB, "1.aaaaaaaaaaaaaaaaaaaaaaaaaaaa" }, { FIND_POD, "a/b/c" }, { FIND_POD, "/a" },
		{ FIND_POD, "a/" }, { FIND_POD, "a_b" },
	};
	struct find_selector selector;
	char why[256], text[FIND_WANTED + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		why[0] = '\0';
		if (find_selector_read(&selector, root, rows[i].kind, rows[i].text, why, sizeof(why)) != -EINVAL)
			fail_msg("'%s' was taken", rows[i].text);
		assert_true(why[0]);
	}
	memset(text, 'a', FIND_WANTED);
	text[FIND_WANTED] = '\0';
	for (int kind = FIND_PID; kind <= FIND_POD; kind++)
		assert_int_equal(find_selector_read(&selector, root, kind, text, why, sizeof(why)), -EINVAL);
}

static void users(void **state)
{
	char name[64];

	(void)state;
	find_user_name(root, 7, name, sizeof(name));
	assert_string_equal(name, "7");
	write_text("etc/passwd", "root:x:0:0::/root:/bin/sh\nbroken\n:x:5:5\nme:x:7:7:Me:/data/me:/bin/sh\nlast:x:8");
	find_user_name(root, 7, name, sizeof(name));
	assert_string_equal(name, "me");
	find_user_name(root, 5, name, sizeof(name));
	assert_string_equal(name, "5");
	find_user_name(root, 8, name, sizeof(name));
	assert_string_equal(name, "last");
}

static void tracers_are_known_by_their_file(void **state)
{
	struct find_process process;
	char path[PATH_MAX];

	(void)state;
	make_process(11, "gpumemtrace", "gpumemtrace|-a", "0::/\n");
	assert_true(find_facts(root, 11, &process));
	assert_false(process.is_tracer);
	snprintf(path, sizeof(path), "%s/proc/11/exe", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/exe", path), 0);
	assert_true(find_facts(root, 11, &process));
	assert_true(process.is_tracer);
	assert_int_equal(unlink(path), 0);
	write_text("proc/11/exe", "another program with the same name");
	assert_true(find_facts(root, 11, &process));
	assert_false(process.is_tracer);
}

static void no_proc(void **state)
{
	struct find_selector selector = select_by(FIND_NAME, "*");
	struct find_list found;

	(void)state;
	assert_int_equal(find_processes("/nonexistent", &selector, 1, &found), -ENOENT);
	assert_int_equal(found.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_and_patterns, clear_root),
		cmocka_unit_test_setup(facts_of_a_process, clear_root),
		cmocka_unit_test_setup(children_of_multiprocessing, clear_root),
		cmocka_unit_test_setup(broken_processes_are_left_out, clear_root),
		cmocka_unit_test_setup(containers_by_id, clear_root),
		cmocka_unit_test_setup(containers_by_name, clear_root),
		cmocka_unit_test_setup(cgroups_by_path, clear_root),
		cmocka_unit_test_setup(units, clear_root),
		cmocka_unit_test_setup(slurm_jobs, clear_root),
		cmocka_unit_test_setup(slurm_arrays, clear_root),
		cmocka_unit_test_setup(pods, clear_root),
		cmocka_unit_test_setup(too_many_pods, clear_root),
		cmocka_unit_test_setup(long_command_lines, clear_root),
		cmocka_unit_test_setup(several_selectors, clear_root),
		cmocka_unit_test_setup(wrong_texts, clear_root),
		cmocka_unit_test_setup(users, clear_root),
		cmocka_unit_test_setup(tracers_are_known_by_their_file, clear_root),
		cmocka_unit_test_setup(no_proc, clear_root),
	};
	char command[PATH_MAX];
	int failed;

	snprintf(root, sizeof(root), "/tmp/gmt-find-XXXXXX");
	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command) || failed;
}
