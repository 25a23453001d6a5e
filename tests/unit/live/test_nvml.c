// SPDX-License-Identifier: BSD-2-Clause
/* NVML against libraries compiled here that answer as its documentation says, and as some drivers do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "compile.h"
#include "live/nvidia/nvml.h"

/*
 * Three GPUs, the third in MIG mode with two instances in slots 0 and 2. GPU 0 has PROCESSES compute
 * processes (pid 1000 + i, (i + 1) MiB), and pid 1000 also as a graphics one with a larger number.
 * Entries are STRIDE bytes apart; macros change one thing each.
 */
static const char fake[] =
	"#include <string.h>\n#include <stdio.h>\n"
	"#ifndef STRIDE\n#define STRIDE 24\n#endif\n#ifndef PROCESSES\n#define PROCESSES 2\n#endif\n"
	"#ifndef INIT\n#define INIT 0\n#endif\n"
	"typedef unsigned int u; typedef unsigned long long ull; static char dev[8]; static int inits;\n"
	"int nvmlInit_v2(void) { inits++; return INIT; }\n"
	"int nvmlShutdown(void) { return --inits ? 1 : 0; }\n"
	"const char *nvmlErrorString(int r) { return \"a reason\"; }\n"
	"#ifndef NO_COUNT\nint nvmlDeviceGetCount_v2(u *n) { *n = 3; return 0; }\n#endif\n"
	"int nvmlDeviceGetHandleByIndex_v2(u i, void **d) {\n"
	"	if (i > 2 || i == LOST) return 15;\n"
	"	*d = dev + i; return 0; }\n"
	"static int n_of(void *d) { return (int)((char *)d - dev); }\n"
	"int nvmlDeviceGetUUID(void *d, char *t, u n) {\n"
	"	snprintf(t, n, \"%s-00000000-0000-0000-0000-0000000000%02x\",\n"
	"		 n_of(d) > 2 ? \"MIG\" : \"GPU\", 0xa0 + n_of(d));\n"
	"	return 0; }\n"
	"int nvmlDeviceGetName(void *d, char *t, u n) { snprintf(t, n, \"Fake %d\", n_of(d)); return 0; }\n"
	"struct pci { char old[16]; u domain, bus, device, id, sub; char text[32]; };\n"
	"int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p) {\n"
	"	snprintf(p->text, 32, \"00000000:%02X:00.0\", 10 + n_of(d)); return 0; }\n"
	"int nvmlDeviceGetMinorNumber(void *d, u *m) { *m = 2 - n_of(d); return 0; }\n"
	"int nvmlDeviceGetMemoryInfo(void *d, ull *m) { m[0] = (n_of(d) + 1) * 1000ull; m[1] = m[2] = 0; "
	"return 0; }\n"
	"int nvmlDeviceGetMigMode(void *d, u *c, u *p) { *c = *p = n_of(d) == 2; return n_of(d) == 1 ? 3 : "
	"0; }\n"
	"int nvmlDeviceGetMaxMigDeviceCount(void *d, u *n) { *n = 3; return 0; }\n"
	"int nvmlDeviceGetMigDeviceHandleByIndex(void *d, u i, void **m) {\n"
	"	if (i == 1) return 6;\n"
	"	*m = dev + 3 + i; return 0; }\n"
	"int nvmlDeviceGetGpuInstanceId(void *d, u *i) { *i = n_of(d) * 10; return 0; }\n"
	"int nvmlDeviceGetComputeInstanceId(void *d, u *i) { *i = n_of(d); return 0; }\n"
	"static int put(u *n, char *out, u count, u pid, ull used) {\n"
	"	u room = *n; *n = count; if (room < count) return 7;\n"
	"	for (u i = 0; i < count; i++) {\n"
	"		char *e = out + i * STRIDE; u p = pid + i, id = -1;\n"
	"		ull b = used == -1ull ? used : used * (i + 1), z = 0;\n"
	"		memcpy(e, &p, 4); memcpy(e + 8, &b, 8);\n"
	"		if (STRIDE > 16) { memcpy(e + 16, &id, 4); memcpy(e + 20, &id, 4); }\n"
	"		if (STRIDE > 24) memcpy(e + 24, &z, 8);\n"
	"	} return 0; }\n"
	"#ifndef COMPUTE\n#define COMPUTE nvmlDeviceGetComputeRunningProcesses_v3\n#endif\n"
	"int COMPUTE(void *d, u *n, void *o) {\n"
	"	switch (n_of(d)) {\n"
	"	case 0: return put(n, o, PROCESSES, 1000, 1 << 20);\n"
	"	case 1: return put(n, o, 1, 4000, -1ull);\n"
	"	case 2: return put(n, o, 1, 6666, 5);\n" /* in MIG mode: its instances are asked instead */
	"	case 3: return put(n, o, 1, 5000, 7);\n"
	"	default: return put(n, o, 0, 0, 0); } }\n"
	"#ifndef NO_GRAPHICS\nint nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, u *n, void *o) {\n"
	"	return n_of(d) == 1 ? FAIL : put(n, o, n_of(d) == 0, 1000, 3 << 20); }\n#endif\n";

static struct nvml *open_fake(const struct workdir *dir, const char *flags)
{
	char path[128], all[256], why[128];
	struct nvml *nvml;

	snprintf(all, sizeof(all), "-DLOST=9 -DFAIL=3 %s", flags);
	compile_library(dir, "libnvidia-ml.so.1", fake, all, path, sizeof(path));
	if (nvml_open(path, "", &nvml, why, sizeof(why)))
		fail_msg("%s", why);
	assert_string_equal(why, "");
	assert_string_equal(nvml_path(nvml), path);
	return nvml;
}

struct told {
	size_t count;
	struct nvml_usage usages[512];
};

static void note(const struct nvml_usage *usage, void *arg)
{
	struct told *told = arg;

	assert_true(told->count < 512);
	told->usages[told->count++] = *usage;
}

static uint64_t used(const struct told *told, uint32_t pid)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < told->count; i++)
		sum += told->usages[i].pid == pid ? told->usages[i].used_bytes : 0;
	return sum;
}

static void gpus_and_instances(void **state)
{
	struct nvml *nvml = open_fake(*state, "");
	const struct gmt_gpu *gpus;
	size_t count;

	gpus = nvml_gpus(nvml, &count);
	assert_int_equal(count, 5);
	assert_int_equal(gpus[0].index, 0);
	assert_int_equal(gpus[0].flags, 0);
	assert_int_equal(gpus[0].minor, 2);
	assert_int_equal(gpus[0].uuid[15], 0xa0);
	assert_string_equal((char *)gpus[0].pci, "00000000:0A:00.0");
	assert_string_equal((char *)gpus[0].name, "Fake 0");
	assert_true(gpus[0].total_bytes == 1000);
	assert_int_equal(gpus[2].flags, GMT_GPU_MIG_PARENT);
	assert_int_equal(gpus[2].index, 2);
	assert_int_equal(gpus[3].flags, GMT_GPU_MIG);
	assert_int_equal(gpus[3].parent_index, 2);
	assert_int_equal(gpus[3].index, 0);
	assert_int_equal(gpus[3].gpu_instance, 30);
	assert_int_equal(gpus[4].index, 2); /* slot 1 is empty */
	assert_int_equal(gpus[4].compute_instance, 5);
	assert_string_equal((char *)gpus[4].pci, "00000000:0C:00.0");
	assert_int_equal(gpus[4].minor, 0);
	assert_int_equal(gpus[4].uuid[15], 0xa5);
	nvml_close(nvml);
}

static void a_lost_gpu_keeps_the_others_numbers(void **state)
{
	struct nvml *nvml = open_fake(*state, "-ULOST -DLOST=0");
	const struct gmt_gpu *gpus;
	size_t count;

	gpus = nvml_gpus(nvml, &count);
	assert_int_equal(count, 4);
	assert_int_equal(gpus[0].index, 1);
	nvml_close(nvml);
}

static void processes_are_told_once(void **state)
{
	struct nvml *nvml = open_fake(*state, "");
	struct told told = { 0 };

	assert_int_equal(nvml_processes(nvml, note, &told), 0);
	assert_int_equal(told.count, 4);
	assert_true(used(&told, 1000) == 3 << 20); /* compute and graphics: the larger, once */
	assert_true(used(&told, 1001) == 2 << 20);
	assert_true(used(&told, 4000) == NVML_USED_UNKNOWN);
	assert_true(used(&told, 5000) == 7);
	assert_true(used(&told, 6666) == 0);
	for (size_t i = 0; i < told.count; i++) {
		if (told.usages[i].pid == 5000)
			assert_int_equal(told.usages[i].gpu->uuid[15], 0xa3);
	}
	nvml_close(nvml);
}

static void many_processes(struct workdir *dir, const char *flags)
{
	struct nvml *nvml = open_fake(dir, flags);
	struct told told = { 0 };

	assert_int_equal(nvml_processes(nvml, note, &told), 0);
	assert_int_equal(told.count, 302);
	for (uint32_t i = 1; i < 300; i++)
		assert_true(used(&told, 1000 + i) == (i + 1ull) << 20);
	told.count = 0;
	assert_int_equal(nvml_processes(nvml, note, &told), 0); /* the same again */
	assert_int_equal(told.count, 302);
	nvml_close(nvml);
}

static void more_processes_than_expected(void **state)
{
	many_processes(*state, "-DPROCESSES=300");
}

/* 535.43 to 535.86: 8 bytes more under the same name */
static void longer_entries_under_the_same_name(void **state)
{
	many_processes(*state, "-DPROCESSES=300 -DSTRIDE=32");
}

static void older_entry_points(void **state)
{
	many_processes(*state, "-DPROCESSES=300 -DCOMPUTE=nvmlDeviceGetComputeRunningProcesses_v2");
}

static void oldest_entry_points(void **state)
{
	many_processes(*state, "-DPROCESSES=300 -DSTRIDE=16 -DCOMPUTE=nvmlDeviceGetComputeRunningProcesses "
			       "-DNO_GRAPHICS");
}

static void a_gpu_that_does_not_answer(void **state)
{
	struct nvml *nvml = open_fake(*state, "-UFAIL -DFAIL=15");
	struct told told = { 0 };

	assert_int_equal(nvml_processes(nvml, note, &told), -EIO);
	assert_true(used(&told, 1001) == 2 << 20); /* the others do */
	assert_true(used(&told, 5000) == 7);
	nvml_close(nvml);
}

static void refuse(struct workdir *dir, const char *flags, int wanted, const char *reason)
{
	char path[128], why[128];
	struct nvml *nvml;

	compile_library(dir, "libnvidia-ml.so.1", fake, flags, path, sizeof(path));
	assert_int_equal(nvml_open(path, "", &nvml, why, sizeof(why)), wanted);
	assert_null(nvml);
	if (!strstr(why, reason))
		fail_msg("\"%s\" does not say \"%s\"", why, reason);
}

static void what_is_wrong_is_said(void **state)
{
	struct workdir *dir = *state;
	struct nvml *nvml;
	char why[128];

	refuse(dir, "-DLOST=9 -DFAIL=3 -DINIT=9", -ENODEV, "not loaded");
	refuse(dir, "-DLOST=9 -DFAIL=3 -DINIT=18", -EIO, "different versions");
	refuse(dir, "-DLOST=9 -DFAIL=3 -DINIT=999", -EIO, "a reason (999)");
	refuse(dir, "-DLOST=9 -DFAIL=3 -DNO_COUNT", -ENOENT, "nvmlDeviceGetCount_v2");
	assert_int_equal(nvml_open("/nowhere/libnvidia-ml.so.1", "", &nvml, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "/nowhere"));
	assert_null(nvml);
	nvml_close(NULL);
}

static void the_library_of_a_driver_root(void **state)
{
	struct workdir *dir = *state;
	char path[128], why[128], command[128];
	struct nvml *nvml;

	snprintf(command, sizeof(command), "mkdir %s/lib", dir->path);
	assert_int_equal(run_shell(command), 0);
	compile_library(dir, "lib/libnvidia-ml.so.1", fake, "-DLOST=9 -DFAIL=3", path, sizeof(path));
	assert_int_equal(nvml_open(NULL, dir->path, &nvml, why, sizeof(why)), 0);
	assert_string_equal(nvml_path(nvml), path);
	nvml_close(nvml);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gpus_and_instances),
		TEST(a_lost_gpu_keeps_the_others_numbers),
		TEST(processes_are_told_once),
		TEST(more_processes_than_expected),
		TEST(longer_entries_under_the_same_name),
		TEST(older_entry_points),
		TEST(oldest_entry_points),
		TEST(a_gpu_that_does_not_answer),
		TEST(what_is_wrong_is_said),
		TEST(the_library_of_a_driver_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
