// SPDX-License-Identifier: BSD-2-Clause
/* What `gpumemtrace ps` prints of a list. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/js.h"
#include "base/out.h"
#include "core/terms/cuda_process.h"
#include "sink/formats/processes.h"
#include "sink/sink.h"

static struct cuda_process list[] = {
	{ .pid = 12, .uid = 1000, .age_ns = 61000000000, .user = "me", .comm = "python3", .cmdline = "python3 train.py",
	  .cgroup = "/system.slice/slurmstepd.scope/job_77/step_0" },
	{ .pid = 13, .uid = 7, .age_ns = 1000000000, .user = "7", .comm = "e\033[2Jvil",
	  .cgroup = "/a\n/\377.service" },
	{ .pid = 14, .uid = 7, .user = "7", .comm = "x", .cmdline = "a\nb", .cgroup = "/", .pod = "default/train-0" },
};
static struct cuda_use uses[] = {
	{ .pid = 12, .gpu = { .index = 0 }, .used_bytes = 3ull << 30 },
	{ .pid = 12, .gpu = { .index = 1, .parent_index = 2, .flags = GMT_GPU_MIG }, .used_bytes = UINT64_MAX },
};

static char *print_list(const struct cuda_processes *all)
{
	struct sink_opts opts = { 0 };
	struct out out;

	out_init_mem(&out);
	processes_print(&out, all, &opts);
	return out_take(&out);
}

static void test_text(void **state)
{
	struct cuda_processes all = {
		.count = 3, .list = list, .use_count = 2, .uses = uses, .has_uses = true, .beyond = 2,
		.hidden = 1, .hidden_list = { { 12, "evi\nl" } },
	};
	char *text = print_list(&all);

	(void)state;
	assert_string_equal(text, "     PID  USER    RUNNING  GPU               IN                   COMMAND\n"
				  "      12  me       1m 01s  0: 3 GiB, 2:1: ?  Slurm job 77 step 0  python3 train.py\n"
				  "      13  7         1.0 s  -                 ?.service            e?[2Jvil\n"
				  "      14  7          0 ms  -                 pod default/train-0  a?b\n"
				  "2 more processes have no room in the list\n"
				  "1 process could not be inspected: the mappings of pid 12 (evi?l) may not be read without"
				  " CAP_SYS_PTRACE: run gpumemtrace ps as root\n");
	free(text);
}

static void test_nothing(void **state)
{
	struct cuda_processes all = { .why_no_uses = "switched off" };
	char *text = print_list(&all);

	(void)state;
	assert_string_equal(text, "no process uses CUDA\nno memory of GPUs is shown: switched off\n");
	free(text);
	all.count = 1;
	all.list = list;
	text = print_list(&all);
	assert_non_null(strstr(text, "1m 01s  ?    Slurm job"));
	free(text);
}

/* A few are named. The remedy of a privileged caller is another one. */
static void test_hidden(void **state)
{
	struct cuda_processes all = { .has_uses = true, .hidden = 9, .is_privileged = true };
	char *text;

	(void)state;
	for (uint32_t i = 0; i < CUDA_HIDDEN_MOST; i++)
		all.hidden_list[i] = (struct cuda_hidden){ 20 + i, "x" };
	text = print_list(&all);
	assert_non_null(strstr(text, "9 processes could not be inspected: the mappings of pid 20 (x), 21 (x), 22 (x),"
				     " 23 (x), 24 (x) and 4 more may not be read, also with CAP_SYS_PTRACE: run"
				     " gpumemtrace ps on the host"));
	free(text);
}

static void test_json(void **state)
{
	struct cuda_processes all = {
		.count = 3, .list = list, .use_count = 2, .uses = uses, .has_uses = true, .hidden = 1,
		.hidden_list = { { 12, "x" } },
	};
	struct sink_opts opts = { .made_ns = 1700000000123456000 };
	json_t *value, *first, *use;
	struct out out;
	char *text;

	(void)state;
	out_init_mem(&out);
	processes_print_json(&out, &all, &opts);
	text = out_take(&out);
	value = json_loads(text, 0, NULL);
	assert_non_null(value);
	assert_int_equal(json_array_size(json_object_get(value, "processes")), 3);
	assert_string_equal(json_string_value(json_object_get(value, "made_at")), "2023-11-14T22:13:20.123456Z");
	first = json_array_get(json_object_get(value, "hidden_processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(first, "pid")), 12);
	first = json_array_get(json_object_get(value, "processes"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "slurm_job")), "77");
	assert_string_equal(json_string_value(json_object_get(first, "unit")), "slurmstepd.scope");
	assert_true(json_is_null(json_object_get(first, "pod")));
	use = json_array_get(json_object_get(first, "gpus"), 1);
	assert_int_equal(json_integer_value(json_object_get(use, "parent_index")), 2);
	assert_true(json_is_null(json_object_get(use, "used_bytes")));
	assert_true(json_is_null(json_object_get(value, "why_no_gpus")));
	json_decref(value);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
