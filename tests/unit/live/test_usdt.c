// SPDX-License-Identifier: BSD-2-Clause
/* Static probes in libraries: arguments as notes have them, notes in files compiled here, and damaged copies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "compile.h"
#include "live/probe/usdt_notes.h"

#if defined(__x86_64__)
#include <asm/ptrace.h>

#define REG(name) offsetof(struct pt_regs, name)
#define IN(name, size, sign) { .reg = REG(name), .kind = GMT_USDT_REGISTER, .bytes = size, .is_signed = sign }
#define AT(name, by, size, sign) \
	{ .value = by, .reg = REG(name), .kind = GMT_USDT_MEMORY, .bytes = size, .is_signed = sign }
#define CONST(by, size, sign) { .value = by, .kind = GMT_USDT_CONSTANT, .bytes = size, .is_signed = sign }

static const struct {
	const char *text;
	int result;
	struct gmt_usdt usdt;
} cases[] = {
	/* PyTorch 2.11 */
	{ "-8@%rax -1@%dl -8@%r14 -8@-56(%rbp)", 4,
	  { { IN(rax, 8, 1), IN(rdx, 1, 1), IN(r14, 8, 1), AT(rbp, -56, 8, 1) } } },
	{ "-8@%rdi", 1, { { IN(rdi, 8, 1) } } },
	{ "", 0, { { { 0 } } } },
	{ "  8@%r8  4@%r9d 2@%r10w ", 3, { { IN(r8, 8, 0), IN(r9, 4, 0), IN(r10, 2, 0) } } },
	{ "1@%sil 4@%ebp 8@%rsp 8@0x10(%rsp)", 4, { { IN(rsi, 1, 0), IN(rbp, 4, 0), IN(rsp, 8, 0), AT(rsp, 16, 8, 0) } } },
	{ "8@(%rax) -4@$-1 4@$7", 3, { { AT(rax, 0, 8, 0), CONST(-1, 4, 1), CONST(7, 4, 0) } } },
	{ "8@%rax 8@%rbx 8@%rcx 8@%rdx 8@%rsi", 4, { { IN(rax, 8, 0), IN(rbx, 8, 0), IN(rcx, 8, 0), IN(rdx, 8, 0) } } },
	{ "8@%xmm0", -ENOTSUP, { { { 0 } } } },
	{ "1@%ah", -ENOTSUP, { { { 0 } } } },
	{ "8@global(%rip)", -ENOTSUP, { { { 0 } } } },
	{ "8@8(%rax,%rbx,4)", -ENOTSUP, { { { 0 } } } },
	{ "8@8(%rax", -ENOTSUP, { { { 0 } } } },
	{ "8@(", -ENOTSUP, { { { 0 } } } },
	{ "8@)", -ENOTSUP, { { { 0 } } } },
	{ "8@%", -ENOTSUP, { { { 0 } } } },
	{ "8@$", -ENOTSUP, { { { 0 } } } },
	{ "8@", -EINVAL, { { { 0 } } } },
	{ "3@%rax", -EINVAL, { { { 0 } } } },
	{ "@%rax", -EINVAL, { { { 0 } } } },
	{ "%rax", -EINVAL, { { { 0 } } } },
	{ "8@%rax junk", -EINVAL, { { { 0 } } } },
};

static void arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gmt_usdt usdt;
		int got = usdt_parse_args(cases[i].text, &usdt);

		if (got != cases[i].result)
			fail_msg("\"%s\": %d, not %d", cases[i].text, got, cases[i].result);
		if (got > 0 && memcmp(&usdt, &cases[i].usdt, sizeof(usdt)))
			fail_msg("\"%s\" is not what it should be", cases[i].text);
	}
}

/* A place before a `mov $number, %eax`, so that the test sees where an offset leads to. */
#define NOTE(number, place, moved, base, counter, provider, name, args)                               \
	"__asm__(\"" place ": nop\\nmov $" number ", %eax\\nret\\n.pushsection .note.stapsdt,\\\"\\\",@note\\n" \
	".balign 4\\n.4byte 2f-1f,4f-3f,3\\n1: .asciz \\\"stapsdt\\\"\\n2: .balign 4\\n3: .8byte " place moved "," base "," \
	counter "\\n.asciz \\\"" provider "\\\"\\n.asciz \\\"" name "\\\"\\n.asciz \\\"" args "\\\"\\n4: .balign 4\\n"    \
	".popsection\");\n"
#define COUNTER \
	"__asm__(\".pushsection .probes,\\\"aw\\\",@progbits\\nwants: .short 0x1234\\nmore: .short 0x5678\\n.popsection\");\n"
#define BASE \
	"__asm__(\".pushsection .stapsdt.base,\\\"a\\\",@progbits\\nbase: .space 1\\n.popsection\");\n"

#define PLACES 4

static const char source[] =
	COUNTER BASE
	NOTE("0x101", "p1", "", "base", "wants", "pytorch", "malloc", "-8@%rax -1@%dl")
	NOTE("0x102", "p2", "", "base", "more", "pytorch", "free", "-8@%rdi")
	NOTE("0x103", "p3", "", "base", "0", "pytorch", "malloc", "8@%rdi 4@$0")
	NOTE("0x104", "p4", "", "base", "wants", "pytorch", "malloc", "8@%rdi")             /* too few arguments */
	NOTE("0x105", "p5", "", "base", "wants", "pytorch", "malloc", "8@%xmm1 8@%rdi")     /* not to be read */
	NOTE("0x106", "p6", "", "base", "wants", "python", "malloc", "8@%rdi 8@%rdi")
	NOTE("0x107", "p7", "", "base", "0x7fffffff", "pytorch", "malloc", "8@%rdi 8@%rdi") /* its counter is nowhere */
	NOTE("0x108", "p8", "-0x1000", "base - 0x1000", "wants - 0x1000", "pytorch", "malloc", "8@%rdi 8@%rsi");

static void leads_to(int fd, const struct usdt_place *place, uint32_t number, uint16_t counter)
{
	unsigned char code[6], wanted[6] = { 0x90, 0xb8 };
	uint16_t count;

	memcpy(wanted + 2, &number, 4);
	assert_int_equal(pread(fd, code, 6, (off_t)place->offset), 6);
	assert_memory_equal(code, wanted, 6);
	assert_int_equal(!place->counter, !counter);
	if (!counter)
		return;
	assert_int_equal(pread(fd, &count, 2, (off_t)place->counter), 2);
	assert_int_equal(count, counter);
}

static int find(const char *path, const char *provider, const char *name, int args, struct usdt_place *places,
		size_t most)
{
	int count = usdt_find(open(path, O_RDONLY | O_CLOEXEC), provider, name, args, places, most);
	struct stat st;

	for (int i = 0; i < count && !stat(path, &st); i++)
		assert_true(usdt_is_sound(&places[i], (uint64_t)st.st_size));
	return count;
}

static void places_in_a_file(void **state)
{
	struct usdt_place places[PLACES];
	char path[128];
	int fd;

	compile_library(*state, "a.so", source, "-Wl,-z,noseparate-code", path, sizeof(path));
	fd = open(path, O_RDONLY);
	assert_int_equal(find(path, "pytorch", "malloc", 2, places, PLACES), 3);
	leads_to(fd, &places[0], 0x101, 0x1234);
	leads_to(fd, &places[1], 0x103, 0);
	leads_to(fd, &places[2], 0x108, 0x1234);   /* moved by prelink since the note was made */
	assert_int_equal(places[0].usdt.args[1].bytes, 1);
	assert_int_equal(find(path, "pytorch", "malloc", 2, places, 2), -E2BIG); /* a part of the places is no answer */
	assert_int_equal(find(path, "pytorch", "free", 1, places, PLACES), 1);
	leads_to(fd, &places[0], 0x102, 0x5678);
	assert_int_equal(find(path, "pytorch", "none", 0, places, PLACES), 0);
	close(fd);
}

/* Notes that are not read may have the probe. */
static void too_many_notes(void **state)
{
	struct usdt_place places[PLACES];
	char path[128];

	compile_library(*state, "c.so", "__asm__(\".section .note.stapsdt,\\\"\\\",@note\\n.zero 0x400001\\n.previous\");",
			"", path, sizeof(path));
	assert_int_equal(find(path, "pytorch", "malloc", 0, places, PLACES), -E2BIG);
}

static void files_without(void **state)
{
	struct usdt_place places[PLACES];
	char path[128];

	compile_library(*state, "b.so", "int x;", "", path, sizeof(path));
	assert_int_equal(find(path, "pytorch", "malloc", 0, places, PLACES), 0);
	assert_int_equal(find("/nowhere", "pytorch", "malloc", 0, places, PLACES), -EBADF);
	assert_int_equal(find("/dev/null", "pytorch", "malloc", 0, places, PLACES), -ENOEXEC);
}

static void damaged_files_do_no_harm(void **state)
{
	struct usdt_place places[PLACES];
	unsigned char *bytes;
	char path[128];
	struct stat st;
	int fd;

	compile_library(*state, "a.so", source, "", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	bytes = malloc((size_t)st.st_size);
	fd = open(path, O_RDWR);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	for (off_t i = 0; i < st.st_size; i += 1 + i % 13) {
		unsigned char flipped = bytes[i] ^ 0xff;
		int count;

		assert_int_equal(pwrite(fd, &flipped, 1, i), 1);
		count = find(path, "pytorch", "malloc", 2, places, PLACES);
		assert_true(count <= PLACES && (count >= 0 || count == -ENOEXEC || count == -E2BIG));
		assert_int_equal(pwrite(fd, &bytes[i], 1, i), 1);
	}
	for (off_t size = st.st_size; size > 0; size = size * 9 / 10) {
		assert_int_equal(ftruncate(fd, size), 0);
		find(path, "pytorch", "malloc", 2, places, PLACES);
	}
	close(fd);
	free(bytes);
}
#endif

int main(void)
{
#if defined(__x86_64__)
#define TEST(f) cmocka_unit_test_setup_teardown(f, workdir_make, workdir_remove)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments), TEST(places_in_a_file), TEST(too_many_notes), TEST(files_without),
		TEST(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	puts("1..0 # SKIP PyTorch has static probes on x86-64 alone");
	return 0;
#endif
}
