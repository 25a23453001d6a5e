// SPDX-License-Identifier: BSD-2-Clause
/* Function names by address: of small libraries made here, and of damaged copies of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/mman.h>

#include "compile.h"
#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"

#define MINI_MOST (64u << 20)    /* bytes of .gnu_debugdata, unpacked */
#define PAD(bytes) ".fill " #bytes ", 1, 0x90\\n"
#define SIZED(name, bind, bytes)                                                                       \
	"__asm__(\"" bind " " name "\\n.type " name ", @function\\n" name ":\\n" PAD(bytes) ".size " name \
	", .-" name "\");\n"
/* a function of assembly code that nobody gave a size */
#define SIZELESS(name, before, after)                                                             \
	"__asm__(\".globl " name "\\n" name ":\\n" before "\\n" PAD(32) after "\");\n"
#define CFI(name) SIZELESS(name, ".cfi_startproc", ".cfi_endproc")

struct loaded {
	struct image image;
	struct elfsym symbols;
};

static void load(const char *path, struct loaded *l)
{
	assert_int_equal(image_open(&l->image, open(path, O_RDONLY | O_CLOEXEC)), 0);
	elfsym_read(&l->symbols, &l->image, NULL);
}

static void unload(struct loaded *l)
{
	elfsym_fini(&l->symbols);
	image_close(&l->image);
}

/* The address of a symbol, as `nm` says. */
static uint64_t address_of(const char *path, const char *name)
{
	unsigned long long value = 0;
	char command[256];
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s | sed -n 's/^\\([0-9a-f]*\\) [a-zA-Z] %s$/\\1/p'", path, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%llx", &value), 1);
	pclose(pipe);
	return value;
}

static void assert_name(const struct loaded *l, uint64_t address, const char *wanted)
{
	char name[ELFSYM_NAME_BYTES];

	assert_int_equal(elfsym_find(&l->symbols, &l->image, address, name), wanted != NULL);
	if (wanted)
		assert_string_equal(name, wanted);
}

static void a_name_needs_a_symbol_that_covers(void **state)
{
	struct loaded l;
	uint64_t first, last;
	char path[128];

	compile_library(*state, "a.so",
			"__asm__(\"" PAD(16) "\");\n" SIZED("first", ".globl", 16) "__asm__(\"" PAD(32) "\");\n"
			SIZED("last", ".globl", 8) "__asm__(\"" PAD(64) "\");\n",
			"-fno-toplevel-reorder", path, sizeof(path));
	load(path, &l);
	first = address_of(path, "first");
	last = address_of(path, "last");
	assert_int_equal(last - first, 48);
	assert_name(&l, first - 1, NULL);
	assert_name(&l, first, "first");
	assert_name(&l, first + 15, "first");
	assert_name(&l, first + 16, NULL); /* never the nearest */
	assert_name(&l, last - 1, NULL);
	assert_name(&l, last + 7, "last");
	assert_name(&l, last + 8, NULL);
	unload(&l);
}

static void the_innermost_function_has_the_bytes(void **state)
{
	struct loaded l;
	uint64_t outer;
	char path[128];

	compile_library(*state, "a.so",
			"__asm__(\".globl outer\\n.type outer, @function\\nouter:\\n" PAD(16)
			".globl inner\\n.type inner, @function\\ninner:\\n" PAD(16) ".size inner, .-inner\\n" PAD(16)
			".size outer, .-outer\");\n",
			"", path, sizeof(path));
	load(path, &l);
	outer = address_of(path, "outer");
	assert_name(&l, outer + 15, "outer");
	assert_name(&l, outer + 16, "inner");
	assert_name(&l, outer + 31, "inner");
	assert_name(&l, outer + 32, "outer");
	assert_name(&l, outer + 47, "outer");
	assert_name(&l, outer + 48, NULL);
	unload(&l);
}

static void the_most_public_alias_is_kept(void **state)
{
	struct loaded l;
	char path[128];

	compile_library(*state, "a.so",
			"__asm__(\".globl __libc_take\\n.globl __take\\n.weak take\\n"
			".type __libc_take, @function\\n.type __take, @function\\n.type take, @function\\n"
			".type tk, @function\\n__libc_take: __take: take: tk:\\n" PAD(16)
			".size __libc_take, 16\\n.size __take, 16\\n.size take, 16\\n.size tk, 16\");\n",
			"", path, sizeof(path));
	load(path, &l);
	assert_name(&l, address_of(path, "take") + 3, "take");
	unload(&l);
}

#if defined(__x86_64__)
static void without_a_size_the_fde_decides(void **state)
{
	struct loaded l;
	uint64_t with, without;
	char path[128];

	compile_library(*state, "a.so", CFI("with_fde") SIZELESS("without_fde", "", "") SIZED("end", ".globl", 4),
			"-fno-toplevel-reorder", path, sizeof(path));
	load(path, &l);
	with = address_of(path, "with_fde");
	without = address_of(path, "without_fde");
	assert_name(&l, with, "with_fde");
	assert_name(&l, with + 31, "with_fde");
	assert_name(&l, without, NULL);
	assert_name(&l, without + 8, NULL);
	unload(&l);
}

/* The function in front has no size, but its FDE has: it does not reach over the nameless one behind it. */
static void a_nameless_function_stays_nameless(void **state)
{
	struct loaded l;
	uint64_t named;
	char path[128];

	compile_library(*state, "a.so",
			"__asm__(\".globl named\\nnamed:\\n.cfi_startproc\\n" PAD(32) ".cfi_endproc\\n"
			".cfi_startproc\\n" PAD(32) ".cfi_endproc\");\n",
			"", path, sizeof(path));
	load(path, &l);
	named = address_of(path, "named");
	assert_name(&l, named + 31, "named");
	assert_name(&l, named + 32, NULL);
	assert_name(&l, named + 63, NULL);
	unload(&l);
}

static void a_label_inside_of_a_function_is_no_name(void **state)
{
	struct loaded l;
	uint64_t label;
	char path[128], dynamic[160];

	compile_library(*state, "a.so",
			"__asm__(\".type hidden, @function\\nhidden:\\n.cfi_startproc\\n" PAD(16)
			".globl label\\nlabel:\\n" PAD(16) ".cfi_endproc\\n\");\n",
			"-s", path, sizeof(path));
	snprintf(dynamic, sizeof(dynamic), "-D %s", path);
	label = address_of(dynamic, "label");
	load(path, &l); /* stripped: only the label is left, in .dynsym */
	assert_int_equal(l.symbols.point_count, 1);
	assert_true(l.symbols.points[0].start == label);
	assert_name(&l, label, NULL);
	assert_name(&l, label + 4, NULL);
	unload(&l);
}
#endif

/* _start of Debian 11's programs for arm64: 14 instructions, with two calls at the end, and others behind them. */
static void code_of_an_entry_has_its_name(void **state)
{
	struct loaded l;
	uint64_t start;
	char path[128];

	compile_library(*state, "a.so",
			"__asm__(\".globl _start\\n.type _start, @function\\n.balign 4\\n_start:\\n"
			".long 0xd280001d, 0xd280001e, 0xaa0003e5, 0xf94003e1, 0x910023e2, 0x910003e6, 0x90000000\\n"
			".long 0x9114e000, 0xb0000883, 0x912b4063, 0xb0000884, 0x912d4084, 0x97fa5c20, 0x97fa5ebb\\n"
			".rept 16\\n.long 0x14000036\\n.endr\");\n",
			"-Wl,-e,_start", path, sizeof(path));
	load(path, &l);
	start = address_of(path, "_start");
	l.image.machine = EM_X86_64;
	assert_name(&l, start, NULL);
	l.image.machine = EM_AARCH64;
	assert_name(&l, start - 1, NULL);
	assert_name(&l, start, "_start");
	assert_name(&l, start + 14 * 4 - 1, "_start");
	assert_name(&l, start + 14 * 4, NULL);
	unload(&l);
}

/* A hostile file's names overlap, and each is as long as the whole table. */
static void an_endless_name_is_no_name(void **state)
{
	char path[128], source[10240], name[9001], found[ELFSYM_NAME_BYTES];
	struct loaded l;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(source, sizeof(source), "int %s(int x) { return x + 1; }\nint shorter(int x) { return x + 2; }\n", name);
	compile_library(*state, "a.so", source, "-O0", path, sizeof(path));
	load(path, &l);
	assert_true(l.symbols.count > 0);
	assert_name(&l, address_of(path, "shorter"), "shorter");
	for (size_t i = 0; i < l.symbols.count; i++) {
		assert_true(elfsym_find(&l.symbols, &l.image, l.symbols.ranges[i].start, found));
		assert_true(found[0] != 'a');
	}
	unload(&l);
}

/* More functions than are read at once, with more bytes of names: none is left out where the pieces meet. */
static void large_tables_are_read_in_pieces(void **state)
{
	enum { FUNCTIONS = 20000 };
	char path[128], wanted[128];
	struct loaded l;
	uint64_t first;

	compile_library(*state, "a.so",
			"__asm__(\".altmacro\\n.macro one n\\n"
			".type a_function_with_quite_a_long_name_\\\\n, @function\\n"
			"a_function_with_quite_a_long_name_\\\\n:\\n" PAD(16)
			".size a_function_with_quite_a_long_name_\\\\n, 16\\n.endm\\n"
			".set i, 0\\n.rept 20000\\none %i\\n.set i, i + 1\\n.endr\");\n",
			"", path, sizeof(path));
	load(path, &l);
	assert_true(l.symbols.count >= FUNCTIONS);
	assert_true(elfsym_bytes(&l.symbols) < FUNCTIONS * 24); /* the names stay in the file */
	first = address_of(path, "a_function_with_quite_a_long_name_0");
	for (int i = 0; i < FUNCTIONS; i++) {
		snprintf(wanted, sizeof(wanted), "a_function_with_quite_a_long_name_%d", i);
		assert_name(&l, first + 16 * (uint64_t)i, wanted);
	}
	unload(&l);
}

/* Names are read when they are asked for. What has become of the file by then is told as no name, or as another one. */
static void a_file_may_change_after_it_was_read(void **state)
{
	char path[128], name[ELFSYM_NAME_BYTES];
	struct loaded l;
	uint64_t shown;
	int fd;

	compile_library(*state, "a.so", SIZED("shown", ".globl", 16), "", path, sizeof(path));
	shown = address_of(path, "shown");
	load(path, &l);
	assert_name(&l, shown, "shown");
	fd = open(path, O_WRONLY);
	for (uint32_t i = 0; i < l.symbols.strings_size; i++)
		assert_int_equal(pwrite(fd, "A", 1, (off_t)(l.symbols.strings + i)), 1);
	assert_true(elfsym_find(&l.symbols, &l.image, shown, name));
	assert_true(strlen(name) < l.symbols.strings_size && name[0] == 'A'); /* it ends with the strings */
	assert_int_equal(ftruncate(fd, (off_t)l.symbols.strings + 1), 0);
	assert_false(elfsym_find(&l.symbols, &l.image, shown, name));
	close(fd);
	unload(&l);
}

static void a_stripped_file_has_what_it_exports(void **state)
{
	const struct workdir *dir = *state;
	char path[128], stripped[128], command[512];
	struct loaded l;
	uint64_t hidden, shown;

	compile_library(dir, "a.so", SIZED("hidden", ".local", 16) SIZED("shown", ".globl", 16), "", path,
			sizeof(path));
	hidden = address_of(path, "hidden");
	shown = address_of(path, "shown");
	load(path, &l);
	assert_name(&l, hidden, "hidden");
	unload(&l);
	snprintf(stripped, sizeof(stripped), "%s/s.so", dir->path);
	snprintf(command, sizeof(command), "strip -o %s %s", stripped, path);
	assert_int_equal(run_shell(command), 0);
	load(stripped, &l);
	assert_name(&l, hidden, NULL);
	assert_name(&l, shown, "shown");
	unload(&l);
}

static void a_debug_file_adds_names(void **state)
{
	const struct workdir *dir = *state;
	char path[128], command[512];
	struct image image, debug;
	struct elfsym symbols;
	char name[ELFSYM_NAME_BYTES];
	uint64_t hidden;

	compile_library(dir, "a.so", SIZED("hidden", ".local", 16), "-Wl,--build-id=0xabcdef0123", path,
			sizeof(path));
	hidden = address_of(path, "hidden");
	snprintf(command, sizeof(command), "cd %s && objcopy --only-keep-debug a.so a.debug && strip a.so", dir->path);
	assert_int_equal(run_shell(command), 0);
	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	snprintf(path, sizeof(path), "%s/a.debug", dir->path);
	assert_int_equal(image_open(&debug, open(path, O_RDONLY)), 0);
	assert_string_equal(image.build_id, "abcdef0123");
	assert_string_equal(debug.build_id, "abcdef0123");
	elfsym_read(&symbols, &image, &debug);
	assert_true(elfsym_find(&symbols, &image, hidden + 15, name));
	assert_string_equal(name, "hidden");
	assert_false(elfsym_find(&symbols, &image, hidden + 16, name));
	elfsym_fini(&symbols);
	image_close(&image);
	image_close(&debug);
}

/* The function of a library whose .gnu_debugdata has so many bytes when it is unpacked; `dictionary` stands in the packed
 * bytes as the number of LZMA's dictionary size, 0: as it is. NULL: no function is found. */
static void assert_mini(const struct workdir *dir, size_t size, uint8_t dictionary, const char *wanted)
{
	size_t room = size / 64 + (1 << 16), used = 0;
	uint8_t *plain = calloc(1, size), *packed = malloc(room), *mark;
	char path[128], command[512];
	struct loaded l;
	uint64_t hidden;
	uint32_t crc, bytes;
	FILE *file;

	compile_library(dir, "a.so", SIZED("hidden", ".local", 16), "", path, sizeof(path));
	hidden = address_of(path, "hidden");
	file = fopen(path, "r");
	assert_true(fread(plain, 1, size, file) > 1000);
	fclose(file);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain, size, packed, &used, room), LZMA_OK);
	if (dictionary) { /* the .xz file format, 3.1: the block's header stands behind 12 bytes, its CRC32 at its end */
		bytes = (packed[12] + 1u) * 4;
		mark = memmem(packed + 12, bytes, "\x21\x01", 2);
		assert_non_null(mark);
		mark[2] = dictionary;
		crc = lzma_crc32(packed + 12, bytes - 4, 0);
		memcpy(packed + 12 + bytes - 4, &crc, sizeof(crc));
	}
	snprintf(command, sizeof(command), "%s/mini", dir->path);
	file = fopen(command, "w");
	assert_int_equal(fwrite(packed, 1, used, file), used);
	fclose(file);
	snprintf(command, sizeof(command), "cd %s && strip a.so && objcopy --add-section .gnu_debugdata=mini a.so",
		 dir->path);
	assert_int_equal(run_shell(command), 0);
	load(path, &l);
	assert_name(&l, hidden, wanted);
	unload(&l);
	free(plain);
	free(packed);
}

static void packed_symbols_are_bounded(void **state)
{
	assert_mini(*state, MINI_MOST, 0, "hidden");
	assert_mini(*state, MINI_MOST + 1, 0, NULL);
	assert_mini(*state, 1 << 20, 28, "hidden"); /* 64 MiB */
	assert_mini(*state, 1 << 20, 30, NULL);     /* 128 MiB, which the decoder asks for with a little more */
}

static void offsets_lead_to_vaddrs(void **state)
{
	struct image image;
	uint64_t vaddr, there;
	char path[128];

	compile_library(*state, "a.so", SIZED("far", ".globl", 16), "-Wl,--section-start=.text=0x40000000", path,
			sizeof(path));
	there = address_of(path, "far");
	assert_true(there >= 0x40000000);
	assert_int_equal(image_open(&image, open(path, O_RDONLY)), 0);
	for (uint32_t i = 0; i < image.segment_count; i++) {
		const struct image_segment *segment = &image.segments[i];

		if (!segment->executable || there < segment->vaddr || there >= segment->vaddr + segment->size)
			continue;
		assert_true(segment->offset != segment->vaddr);
		assert_true(image_code_vaddr(&image, segment->offset + (there - segment->vaddr), &vaddr));
		assert_true(vaddr == there);
		image_close(&image);
		return;
	}
	fail_msg("no segment has the code");
}

/* Every byte of a file set to a few values, and the file cut off: nothing may be read beyond it (run with
 * SAN=1), and a name that is told must end. */
static void damaged_files_do_no_harm(void **state)
{
	static const unsigned char values[] = { 0x00, 0x01, 0x7f, 0xff };
	size_t size, names = 0;
	char path[128];
	unsigned char *bytes, *copy;
	FILE *file;

	compile_library(*state, "a.so", CFI("with_fde") SIZED("first", ".globl", 16) SIZED("second", ".local", 16),
			"-nostdlib -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096", path, sizeof(path));
	file = fopen(path, "r");
	bytes = malloc(1 << 20);
	size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	assert_true(size > 1000 && size < 1 << 17);
	for (size_t at = 0; at < size; at++) {
		size_t cut = at % 7 == 0 ? at : size;
		struct loaded l;

		copy = malloc(cut ? cut : 1);
		memcpy(copy, bytes, cut);
		if (cut == size)
			copy[at] = values[at % sizeof(values)];
		if (image_open_bytes(&l.image, copy, cut, copy))
			continue; /* the bytes are freed either way */
		elfsym_read(&l.symbols, &l.image, NULL);
		for (uint64_t vaddr = 0; vaddr < 0x3000; vaddr += 16) {
			char name[ELFSYM_NAME_BYTES];

			names += elfsym_find(&l.symbols, &l.image, vaddr, name) && strlen(name) < size;
		}
		unload(&l);
	}
	free(bytes);
	assert_true(names > 100);
}

static void other_files_are_refused(void **state)
{
	static const char text[] = "#!/bin/sh\nexit 0\n a text that is long enough to be a header, but none at all";
	struct image image;
	int pipes[2];

	(void)state;
	assert_int_equal(image_open_bytes(&image, text, sizeof(text), NULL), -ENOEXEC);
	assert_int_equal(image_open_bytes(&image, "\177ELF", 4, NULL), -ENOEXEC);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(image_open(&image, pipes[0]), -ENOEXEC);
	close(pipes[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_needs_a_symbol_that_covers),
		TEST(the_innermost_function_has_the_bytes),
		TEST(the_most_public_alias_is_kept),
#if defined(__x86_64__)
		TEST(without_a_size_the_fde_decides),
		TEST(a_nameless_function_stays_nameless),
		TEST(a_label_inside_of_a_function_is_no_name),
#endif
		TEST(code_of_an_entry_has_its_name),
		TEST(an_endless_name_is_no_name),
		TEST(large_tables_are_read_in_pieces),
		TEST(a_file_may_change_after_it_was_read),
		TEST(a_stripped_file_has_what_it_exports),
		TEST(a_debug_file_adds_names),
		TEST(packed_symbols_are_bounded),
		TEST(offsets_lead_to_vaddrs),
		TEST(damaged_files_do_no_harm),
		TEST(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
