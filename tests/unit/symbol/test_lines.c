// SPDX-License-Identifier: BSD-2-Clause
/* Lines of small libraries compiled here in every version of DWARF; test_symbols.py compares with addr2line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>

#include "compile.h"
#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"
#include "symbol/elf/lines.h"

#if defined(__SANITIZE_ADDRESS__)
/* dwarf_getscopes() of elfutils 0.188 leaks what it has gathered when the tree turns out to be damaged */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:pc_record";
}
#endif

/* the lines are counted below */
#define SOURCE                                                      \
	"int sink;\n"                                               \
	"static inline __attribute__((always_inline)) void deep(int x)\n" \
	"{\n"                                                       \
	"	__asm__ volatile(\"nop; nop\" : : \"r\"(x));\n"      \
	"}\n"                                                       \
	"void outer(int x)\n"                                       \
	"{\n"                                                       \
	"	deep(x + 1);\n"                                     \
	"}\n"                                                       \
	"__attribute__((section(\"elsewhere\"))) void far(int x)\n"  \
	"{\n"                                                       \
	"	sink = x;\n"                                        \
	"}\n"

struct found {
	bool inlined_deep;   /* deep at line 4, called from line 8 */
	bool far;            /* far at line 12 */
	size_t with_lines, outside;
};

/* Asks for every byte of code. */
static void walk(const char *path, struct found *found)
{
	struct image image;
	struct elfsym symbols;
	struct lines *lines;

	*found = (struct found){ 0 };
	assert_int_equal(image_open(&image, open(path, O_RDONLY | O_CLOEXEC)), 0);
	elfsym_read(&symbols, &image, NULL);
	lines = lines_open(&image);
	for (uint64_t vaddr = 0; lines && vaddr < 0x4000; vaddr++) {
		struct lines_place places[LINES_DEPTH];
		size_t count = lines_find(lines, vaddr, places, LINES_DEPTH);
		char name[ELFSYM_NAME_BYTES];
		bool has_name = elfsym_find(&symbols, &image, vaddr, name);

		if (!count)
			continue;
		found->with_lines++;
		if (!has_name || (strcmp(name, "outer") && strcmp(name, "far"))) {
			found->outside++;
			continue;
		}
		assert_null(places[count - 1].function);
		assert_non_null(places[0].file);
		assert_string_equal(places[0].file + strlen(places[0].file) - 9, "/source.c");
		if (!strcmp(name, "far"))
			found->far |= count == 1 && places[0].line == 12;
		else if (count == 2)
			found->inlined_deep |= !strcmp(places[0].function, "deep") && places[0].line == 4 &&
					       places[1].line == 8;
	}
	lines_close(lines);
	elfsym_fini(&symbols);
	image_close(&image);
}

static void every_version_of_dwarf(void **state)
{
	static const char *const flags[] = { "-gdwarf-2 -gno-strict-dwarf", "-gdwarf-3 -gno-strict-dwarf", "-gdwarf-4",
					     "-gdwarf-5", "-g -gz=zlib", "-g -Wl,--build-id" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct found found;
		char path[128];

		compile_library(*state, "a.so", SOURCE, flags[i], path, sizeof(path));
		walk(path, &found);
		if (!found.inlined_deep || !found.far || found.outside)
			fail_msg("%s: deep %d, far %d, %zu lines outside of functions", flags[i], found.inlined_deep,
				 found.far, found.outside);
	}
}

/* clang writes no .debug_aranges: the units' own ranges must do. */
static void without_aranges(void **state)
{
	const struct workdir *dir = *state;
	struct found found;
	char path[128], command[512];

	compile_library(dir, "a.so", SOURCE, "-g", path, sizeof(path));
	snprintf(command, sizeof(command), "objcopy --remove-section .debug_aranges %s", path);
	assert_int_equal(run_shell(command), 0);
	walk(path, &found);
	assert_true(found.inlined_deep && found.far);
}

static void no_dwarf_no_lines(void **state)
{
	struct image image;
	char path[128];

	compile_library(*state, "a.so", SOURCE, "-g0", path, sizeof(path));
	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	assert_null(lines_open(&image));
	assert_int_equal(lines_bytes(NULL), 0);
	lines_close(NULL);
	image_close(&image);
}

/* Enough of it that packing makes it smaller. */
#define SOURCE_MORE                                                                                                      \
	"struct some_long_name_of_a_structure { int first_member, second_member, third_member, fourth_member; };\n" \
	"int other_function(struct some_long_name_of_a_structure *s) { return s->first_member + s->third_member; }\n" \
	"int third_function(struct some_long_name_of_a_structure *s) { return s->second_member + s->fourth_member; }\n"

/* The place in the file of the header of a packed section. */
static uint64_t packed_header(const char *path)
{
	const Elf64_Shdr *section;
	uint64_t offset;
	struct image image;

	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	section = image_section(&image, ".debug_info", 0);
	assert_true(section && section->sh_flags & SHF_COMPRESSED);
	offset = section->sh_offset;
	image_close(&image);
	return offset;
}

/* 0: the file has no lines. */
static size_t bytes_of_lines(const char *path)
{
	struct image image;
	struct lines *lines;
	size_t bytes;

	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	lines = lines_open(&image);
	bytes = lines_bytes(lines);
	lines_close(lines);
	image_close(&image);
	return bytes;
}

/* What counts is the size that libdw would unpack, and the older kind of packing does not say it. */
static void packed_dwarf_is_bounded(void **state)
{
	uint64_t much = LINES_DEBUG_MAX + 1;
	char path[128], command[512];
	size_t plain;
	int fd;

	compile_library(*state, "a.so", SOURCE SOURCE_MORE, "-g", path, sizeof(path));
	plain = bytes_of_lines(path);
	assert_true(plain > 100);
	snprintf(command, sizeof(command), "objcopy --compress-debug-sections=zlib-gnu %s %s.z && "
		 "objcopy --compress-debug-sections=zlib %s", path, path, path);
	assert_int_equal(run_shell(command), 0);
	assert_int_equal(bytes_of_lines(path), plain);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, &much, sizeof(much), (off_t)(packed_header(path) + offsetof(Elf64_Chdr, ch_size))),
			 sizeof(much));
	close(fd);
	assert_int_equal(bytes_of_lines(path), 0);
	strcat(path, ".z");
	assert_int_equal(bytes_of_lines(path), 0);
}

static void lines_outlive_the_image(void **state)
{
	struct lines_place places[4];
	struct image image;
	struct lines *lines;
	size_t found = 0;
	char path[128];

	compile_library(*state, "a.so", SOURCE, "-g", path, sizeof(path));
	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	lines = lines_open(&image);
	image_close(&image);
	assert_non_null(lines);
	assert_true(lines_bytes(lines) > 100);
	for (uint64_t vaddr = 0; vaddr < 0x4000; vaddr++)
		found += lines_find(lines, vaddr, places, 4) > 0;
	assert_true(found > 10);
	assert_int_equal(lines_find(lines, UINT64_MAX, places, 4), 0);
	assert_int_equal(lines_find(lines, 0x1000, places, 0), 0);
	lines_close(lines);
}

/* Writes f0(), and functions around it that are inlined into each other, the last one into outer(). Each has a line. */
static void write_nested(char *source, size_t size, unsigned int inlined)
{
	int used = 0;

	for (unsigned int i = 0; i <= inlined; i++) {
		const char *head = i < inlined ? "static inline __attribute__((always_inline)) void f%u(int x)" : "void outer(int x)";

		used += snprintf(source + used, size - (size_t)used, head, i);
		used += i ? snprintf(source + used, size - (size_t)used, " { f%u(x + 1); }\n", i - 1) :
			    snprintf(source + used, size - (size_t)used, " { __asm__ volatile(\"nop\" : : \"r\"(x)); }\n");
	}
}

/* The places of the nop in f0(). */
static size_t find_nested(const struct workdir *dir, unsigned int inlined, struct lines_place places[LINES_DEPTH],
			  struct lines **lines)
{
	static char source[8192];
	struct image image;
	size_t count = 0;
	char path[128];

	write_nested(source, sizeof(source), inlined);
	compile_library(dir, "nested.so", source, "-g -O1", path, sizeof(path));
	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	*lines = lines_open(&image);
	image_close(&image);
	assert_non_null(*lines);
	for (uint64_t vaddr = 0; vaddr < 0x4000; vaddr++) {
		count = lines_find(*lines, vaddr, places, LINES_DEPTH);
		if (count && places[0].function && !strcmp(places[0].function, "f0"))
			return count;
	}
	return 0;
}

/* The innermost functions and the outermost one are there; a place between them says that there were more. */
static void functions_that_are_nested_too_deep(void **state)
{
	for (unsigned int inlined = LINES_DEPTH - 2; inlined < LINES_DEPTH + 6; inlined++) {
		bool has_all = inlined < LINES_DEPTH;
		struct lines_place places[LINES_DEPTH];
		struct lines *lines;
		size_t count = find_nested(*state, inlined, places, &lines);

		assert_int_equal(count, has_all ? inlined + 1 : LINES_DEPTH);
		for (size_t i = 0; i + 1 < count; i++) {
			char name[24];

			snprintf(name, sizeof(name), "f%zu", i);
			assert_string_equal(places[i].function, !has_all && i == count - 2 ? LINES_MORE : name);
		}
		assert_null(places[count - 1].function);
		assert_int_equal(places[count - 1].line, inlined + 1);
		if (!has_all) {
			assert_null(places[count - 2].file);
			assert_int_equal(places[count - 2].line, 0);
		}
		lines_close(lines);
	}
}

/* Bytes of the debug sections changed, one at a time, all of the file's code asked for: no crash (SAN=1), no hang. */
static void damaged_dwarf_does_no_harm(void **state)
{
	unsigned char *bytes = malloc(1 << 20), *copy = malloc(1 << 20);
	const Elf64_Shdr *first;
	struct image image;
	struct lines_place places[LINES_DEPTH];
	size_t size, tried = 0;
	char path[128];
	FILE *file;

	compile_library(*state, "a.so", SOURCE, "-g", path, sizeof(path));
	file = fopen(path, "r");
	size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	assert_int_equal(image_open_bytes(&image, bytes, size, NULL), 0);
	first = image_section(&image, ".debug_aranges", 0);
	assert_non_null(first);
	for (size_t at = first->sh_offset; at < size && tried < 600; at += 3, tried++) {
		struct image damaged;
		struct lines *lines;

		memcpy(copy, bytes, size);
		copy[at] ^= (unsigned char)(1 << (tried % 8));
		if (image_open_bytes(&damaged, copy, size, NULL))
			continue;
		lines = lines_open(&damaged);
		for (uint64_t vaddr = 0x1000; lines && vaddr < 0x1200; vaddr += 3)
			lines_find(lines, vaddr, places, LINES_DEPTH);
		lines_close(lines);
		image_close(&damaged);
	}
	assert_true(tried > 300);
	image_close(&image);
	free(bytes);
	free(copy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_version_of_dwarf), TEST(without_aranges),	      TEST(no_dwarf_no_lines),
		TEST(packed_dwarf_is_bounded), TEST(lines_outlive_the_image), TEST(damaged_dwarf_does_no_harm),
		TEST(functions_that_are_nested_too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
