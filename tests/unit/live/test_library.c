// SPDX-License-Identifier: BSD-2-Clause
/*
 * Probe offsets of libcuda files: small ones compiled here, whose functions carry a number in their
 * first instructions, damaged copies of them, and the machine's own libcuda if it has one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "compile.h"
#include "live/framework/library_kinds.h"
#include "live/probe/library.h"
#include "live/probe/target.h"

/* LOAD: puts the number into a register, so that the test sees which function an offset leads to: mov $number, %eax is
 * b8 and the number; movz w0, #number has it in bits 5 to 20. Only x86-64's entries are shifted behind an ENDBR. */
#if defined(__x86_64__)
#define LOAD(number) "mov $" number ", %eax"
#define LOAD_BYTES 5
#define ENDBR "endbr64\\n"
#define SHIFTS true
#else
#define LOAD(number) "movz w0, #" number
#define LOAD_BYTES 4
#define ENDBR ""
#define SHIFTS false
#endif
#define FUNCTION(name, prefix, number)                                                                          \
	"__asm__(\".globl " name "\\n.type " name ", @function\\n" name ":\\n" prefix LOAD(number) "\\nret\\n" \
	".size " name ", .-" name "\");\n"

static const struct library_probe *find(const struct library *lib, enum gmt_api api)
{
	for (uint32_t i = 0; i < lib->probe_count; i++) {
		if (lib->probes[i].id == api)
			return &lib->probes[i];
	}
	return NULL;
}

static void assert_leads_to(const char *path, const struct library *lib, enum gmt_api api, uint32_t number,
			    bool shifted)
{
	const struct library_probe *probe = find(lib, api);
	uint64_t wanted = SHIFTS ? 0xb8 | (uint64_t)number << 8 : 0x52800000 | number << 5, bytes = 0;
	int fd = open(path, O_RDONLY);

	assert_non_null(probe);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &bytes, LOAD_BYTES, (off_t)probe->offset), LOAD_BYTES);
	close(fd);
	assert_int_equal(bytes, wanted);
	assert_int_equal(probe->shifted, shifted);
}

static uint32_t table_rows(void)
{
#define X(...) +1
	return 0 GMT_APIS(X);
#undef X
}

static void entries_with_and_without_endbr64(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	struct stat st;
	char path[128];

	compile_library(dir, "a.so",
			FUNCTION("cuMemAlloc_v2", ENDBR, "0x101") FUNCTION("cuMemFree_v2", "", "0x102")
				FUNCTION("cuInit", ENDBR, "0x103") FUNCTION("cuNothing", "", "0x104"),
			"", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_true(lib.is_one);
	assert_int_equal(lib.probe_count, 3);
	assert_int_equal(lib.shifted, SHIFTS ? 2 : 0);
	assert_int_equal(lib.aliased, 0);
	assert_int_equal(lib.absent, table_rows() - 3);
	assert_leads_to(path, &lib, GMT_API_cuMemAlloc_v2, 0x101, SHIFTS);
	assert_leads_to(path, &lib, GMT_API_cuMemFree_v2, 0x102, false);
	assert_leads_to(path, &lib, GMT_API_cuInit, 0x103, SHIFTS);
	assert_int_equal(stat(path, &st), 0);
	assert_true(lib.dev == st.st_dev && lib.ino == st.st_ino);
}

static void nothing_behind_the_endbr64(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	/* As long as this by its own account: what follows belongs to another function. */
	compile_library(dir, "a.so",
			"__asm__(\".globl cuInit\\n.type cuInit, @function\\ncuInit: " ENDBR "\\n"
			".size cuInit, .-cuInit\\nret\");\n" FUNCTION("cuMemAlloc_v2", "", "1"),
			"", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_int_equal(lib.shifted, 0);
	assert_false(find(&lib, GMT_API_cuInit)->shifted);
}

static void code_away_from_its_address(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	compile_library(dir, "a.so", FUNCTION("cuMemAlloc_v2", "", "0x201"),
			"-Wl,--section-start=.text=0x40000000", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_true(find(&lib, GMT_API_cuMemAlloc_v2)->offset < 0x100000);
	assert_leads_to(path, &lib, GMT_API_cuMemAlloc_v2, 0x201, false);
}

static void names_of_one_address_get_one_probe(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	compile_library(dir, "a.so",
			"__asm__(\".globl cuMemAlloc\\n.type cuMemAlloc, @function\\ncuMemAlloc:\\n"
			".globl cuMemAllocAsync_ptsz\\n.type cuMemAllocAsync_ptsz, @function\\n"
			"cuMemAllocAsync_ptsz:\\n\");\n" FUNCTION("cuMemAlloc_v2", "", "0x301"),
			"-fno-toplevel-reorder", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_int_equal(lib.probe_count, 1);
	assert_int_equal(lib.aliased, 2);
	assert_int_equal(lib.absent, table_rows() - 3);
	assert_leads_to(path, &lib, GMT_API_cuMemAlloc_v2, 0x301,
			false); /* not v1, whose values have 32 bits */
}

static void only_defined_functions_count(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	compile_library(
		dir, "a.so",
		"extern int cuMemFree_v2(void); int caller(void) { return cuMemFree_v2(); }\n"
		"int cuMemHostAlloc = 5;\n"
		"static int impl(void) { return 1; } static void *pick(void) { return impl; }\n"
		"int cuMemCreate(void) __attribute__((ifunc(\"pick\")));\n"
		"static int cuMemMap(void) { return 7; }\n"
		"int other(void) { return cuMemMap() + (long)&cuMemMap; }\n"
		"__attribute__((visibility(\"hidden\"))) int cuMemUnmap(void) { return 8; }\n" FUNCTION(
			"cuMemAlloc_v2", "", "0x401"),
		"", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_int_equal(lib.probe_count, 1);
	assert_non_null(find(&lib, GMT_API_cuMemAlloc_v2));
}

/* A plugin exports one function, and has the rest under the names of the source. */
static void local_functions_of_a_framework(void **state)
{
	static const struct library_hook hooks[] = {
		{ .pattern = "report", .program = FRAMEWORK_BLOCKS },
		{ .pattern = "refuse*", .program = "fw_oom" }, /* a part of a function may have such a name */
	};
	static const struct library_kind kind = {
		.stem = "plugin.so", .framework = &framework_pytorch, .hook_count = 2, .hooks = hooks,
	};
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	compile_library(dir, "plugin.so",
			"#define LOCAL static __attribute__((noinline, used)) int\n"
			"LOCAL report(void) { return 7; } LOCAL refuse_cold(void) { return 8; }\n"
			"int exported(void) { return report() + refuse_cold(); }\n", "", path, sizeof(path));
	assert_int_equal(library_open(path, &kind, &lib), 0);
	assert_int_equal(lib.probe_count, 1);
	assert_int_equal(lib.probes[0].id, 1);
	assert_int_equal(lib.absent, 1);
}

static void stripped_libraries(void **state)
{
	struct workdir *dir = *state;
	struct library whole, stripped;
	char path[128], command[256];

	compile_library(dir, "a.so", FUNCTION("cuInit", "", "0x501") FUNCTION("cuMemCreate", "", "0x502"),
			"-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &whole), 0);
	snprintf(command, sizeof(command), "strip %s", path);
	assert_int_equal(run_shell(command), 0);
	assert_int_equal(library_open(path, &library_cuda, &stripped), 0);
	assert_true(stripped.is_one);
	assert_int_equal(stripped.probe_count, 2);
	assert_leads_to(path, &stripped, GMT_API_cuMemCreate, 0x502, false);
	assert_string_equal(whole.build_id, "0123456789abcdef0123456789abcdef01234567");
	assert_string_equal(stripped.build_id, whole.build_id);
}

#define HOOKS 2
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPv"

static void the_report_functions_of_each_release(void **state)
{
	static const struct { const char *code; unsigned int hook; } releases[] = {
		{ FUNCTION(REPORT "lllNS_6DeviceE", ENDBR, "0x601"), 1 },  /* 1.13.1 */
		{ FUNCTION(REPORT "lmmNS_6DeviceE", ENDBR, "0x601"), 1 },  /* 2.x */
		{ FUNCTION(REPORT "xyyNS_6DeviceE", ENDBR, "0x601"), 1 },
		{ FUNCTION(REPORT "lNS_6DeviceE", ENDBR, "0x601"), 0 },    /* 1.9: no totals */
		{ FUNCTION(REPORT "lmmmNS_6DeviceE", ENDBR, "0x601"), 0 },
		{ FUNCTION("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE", ENDBR, "0x601"), 2 },
		{ FUNCTION("_ZN3c1027reportOutOfMemoryToProfilerElmNS_6DeviceE", ENDBR, "0x601"), 0 },
	};
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		compile_library(dir, "libc10.so", releases[i].code, "", path, sizeof(path));
		assert_int_equal(library_open(path, library_kind_of("libc10.so", 9), &lib), 0);
		assert_int_equal(lib.is_one, releases[i].hook != 0);
		assert_int_equal(lib.probe_count, releases[i].hook != 0);
		assert_int_equal(lib.absent, HOOKS - lib.probe_count);
		if (releases[i].hook)
			assert_leads_to(path, &lib, (int)releases[i].hook, 0x601, SHIFTS);
		assert_int_equal(library_open(path, &library_cuda, &lib), 0);
		assert_int_equal(lib.probe_count, 0);
	}
}

static void libraries_of_another_kind(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128];

	compile_library(dir, "a.so", FUNCTION("cuInit", "", "1") "int cudaMalloc(void) { return 0; }", "",
			path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_false(lib.is_one); /* cuInit alone is not enough */
	compile_library(dir, "b.so", "int f(void) { return 0; }", "-Wl,--build-id=none", path, sizeof(path));
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_false(lib.is_one);
	assert_int_equal(lib.probe_count, 0);
	assert_string_equal(lib.build_id, "");
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	struct stat st;
	char *bytes;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

#define PLAIN                                                                \
	"int cuInit(void) { return 1; } int cuMemCreate(void) { return 2; }" \
	"int cuMemAlloc_v2(void) { return 3; }"

static void what_is_no_library_is_refused(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128], *bytes;
	size_t size;

	compile_library(dir, "a.so", PLAIN, "", path, sizeof(path));
	bytes = read_file(path, &size);
	bytes[EI_CLASS] = ELFCLASS32;
	write_file(path, bytes, size);
	assert_int_equal(library_open(path, &library_cuda, &lib), -ENOEXEC);
	assert_non_null(strstr(lib.why, "32-bit"));
	bytes[EI_CLASS] = ELFCLASS64;
	((Elf64_Ehdr *)bytes)->e_machine = EM_S390;
	write_file(path, bytes, size);
	assert_int_equal(library_open(path, &library_cuda, &lib), -ENOEXEC);
	assert_non_null(strstr(lib.why, "machine"));
	free(bytes);
	write_file(path, "#!/bin/sh\n", 10);
	assert_int_equal(library_open(path, &library_cuda, &lib), -ENOEXEC);
	write_file(path, "", 0);
	assert_int_equal(library_open(path, &library_cuda, &lib), -ENOEXEC);
	assert_int_equal(library_open(dir->path, &library_cuda, &lib), -ENOEXEC);
	assert_int_equal(library_open("/dev/zero", &library_cuda, &lib), -ENOEXEC);
	assert_int_equal(library_open("/nowhere/libcuda.so.1", &library_cuda, &lib), -ENOENT);
	assert_string_not_equal(lib.why, "");
}

static void cut_off_libraries_are_refused(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128], *bytes;
	size_t size;

	compile_library(dir, "a.so", PLAIN, "", path, sizeof(path));
	bytes = read_file(path, &size);
	/* the section headers are at the very end: without them nothing is found */
	for (size_t len = 0; len < size; len += len < 1024 ? 13 : 331) {
		write_file(path, bytes, len);
		assert_int_equal(library_open(path, &library_cuda, &lib), -ENOEXEC);
		assert_string_not_equal(lib.why, "");
		assert_int_equal(lib.probe_count, 0);
	}
	write_file(path, bytes, size);
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_int_equal(lib.probe_count, 3);
	free(bytes);
}

static void damaged_libraries_do_no_harm(void **state)
{
	struct workdir *dir = *state;
	struct library lib;
	char path[128], *bytes, *copy;
	uint64_t rng = 88172645463325252u;
	size_t size;

	compile_library(dir, "a.so", PLAIN, "-s", path, sizeof(path));
	bytes = read_file(path, &size);
	copy = malloc(size);
	for (int round = 0; round < 1500; round++) {
		memcpy(copy, bytes, size);
		for (int i = 0; i < 8; i++) {
			size_t at;

			rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
			/* headers and tables: the first 2 KiB and the section headers */
			at = rng % 3 ? rng / 3 % 2048 : size - 1 - rng / 3 % 2048;
			copy[at] = (char)(rng >> 40);
		}
		write_file(path, copy, size);
		library_open(path, &library_cuda, &lib);
		for (uint32_t i = 0; i < lib.probe_count; i++)
			assert_true(lib.probes[i].offset < size);
	}
	free(copy);
	free(bytes);
}

static void copies_and_links(void **state)
{
	struct workdir *dir = *state;
	struct library original, hard_link, copy;
	char path[128], other[128], command[512];

	compile_library(dir, "a.so", PLAIN, "", path, sizeof(path));
	snprintf(other, sizeof(other), "%s/b.so", dir->path);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(library_open(path, &library_cuda, &original), 0);
	assert_int_equal(library_open(other, &library_cuda, &hard_link), 0);
	assert_true(library_same(&original, &hard_link));
	snprintf(command, sizeof(command), "cp %s %s/c.so", path, dir->path);
	assert_int_equal(run_shell(command), 0);
	snprintf(other, sizeof(other), "%s/c.so", dir->path);
	assert_int_equal(library_open(other, &library_cuda, &copy), 0);
	assert_string_equal(copy.build_id, original.build_id);
	assert_false(library_same(&original, &copy));
	/* one inode number on two file systems is two files, except through overlayfs */
	copy = original;
	copy.dev++;
	assert_false(library_same(&original, &copy));
	copy.overlay = true;
	assert_true(library_same(&original, &copy));
	copy.build_id[0] ^= 1;
	assert_false(library_same(&original, &copy));
}

/* In a mount namespace of its own. 0: as wanted; 77: cannot mount here. */
static int overlay_child(const char *dir)
{
	struct library lower, merged;
	char options[512], path[256];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	snprintf(path, sizeof(path), "%s/merged", dir);
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir, dir,
		 dir);
	if (mount("overlay", path, "overlay", 0, options))
		return 77;
	snprintf(path, sizeof(path), "%s/merged/a.so", dir);
	if (library_open(path, &library_cuda, &merged))
		return 1;
	snprintf(path, sizeof(path), "%s/lower/a.so", dir);
	if (library_open(path, &library_cuda, &lower))
		return 2;
	if (!merged.overlay || lower.overlay)
		return 3;
	return library_same(&lower, &merged) ? 0 : 4;
}

static void a_file_through_overlayfs(void **state)
{
	static const char *const names[] = { "lower", "upper", "work", "merged" };
	struct workdir *dir = *state;
	char path[128];
	int status;
	pid_t child;

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir->path, names[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	compile_library(dir, "lower/a.so", PLAIN, "", path, sizeof(path));
	child = fork();
	if (!child)
		_exit(overlay_child(dir->path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_machines_own_libcuda(void **state)
{
	struct library lib;
	char path[4096];

	(void)state;
	if (target_default_library(path, sizeof(path)))
		skip();
	assert_int_equal(library_open(path, &library_cuda, &lib), 0);
	assert_true(lib.is_one);
	assert_true(lib.probe_count > 80);
	assert_int_equal(lib.probe_count + lib.absent + lib.aliased, table_rows());
	assert_non_null(find(&lib, GMT_API_cuMemCreate));
	assert_string_not_equal(lib.build_id, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_with_and_without_endbr64),
		TEST(nothing_behind_the_endbr64),
		TEST(code_away_from_its_address),
		TEST(names_of_one_address_get_one_probe),
		TEST(only_defined_functions_count),
		TEST(local_functions_of_a_framework),
		TEST(stripped_libraries),
		TEST(the_report_functions_of_each_release),
		TEST(libraries_of_another_kind),
		TEST(what_is_no_library_is_refused),
		TEST(cut_off_libraries_are_refused),
		TEST(damaged_libraries_do_no_harm),
		TEST(copies_and_links),
		TEST(a_file_through_overlayfs),
		cmocka_unit_test(the_machines_own_libcuda),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
