// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compares unwinding tables with libdw: at each place of a module's code where libdw's rules change, our table must
 * have the same rules. Prints what a table costs. Skips missing modules; takes other modules as arguments, of x86-64 or
 * arm64.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stacks.h"
#include "symbol/elf/image.h"
#include "symbol/unwind/table_cache.h"
#include "table_rows.h"

/* Register numbers of DWARF, by the machine's ABI. */
#define X86_FP 6
#define X86_SP 7
#define X86_RA 16
#define ARM64_FP 29
#define ARM64_RA 30
#define ARM64_SP 31

static int tests_run, tests_failed;

struct comparison {
	Dwarf_CFI *cfi;
	const struct unwind_table *table;
	const struct image *image;
	uint64_t places, none, wrong;
};

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* "At CFA + n" as libdw says it. */
static bool at_cfa(const Dwarf_Op *ops, size_t count, int64_t *offset)
{
	*offset = count == 2 ? (int64_t)ops[1].number : 0;
	return (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst)) && ops[0].atom == DW_OP_call_frame_cfa;
}

static uint8_t want_fp(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	int64_t offset;

	if (dwarf_frame_register(frame, X86_FP, memory, &ops, &count))
		return GMT_UNWIND_FP_LOST;
	if (!count)
		return ops ? GMT_UNWIND_FP_LOST : GMT_UNWIND_FP_SAME;
	if (at_cfa(ops, count, &offset) && offset < 0 && offset % 8 == 0 && offset >= -8 * GMT_UNWIND_FP_MAX)
		return (uint8_t)(-offset / 8);
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_breg6 && !ops[1].number)
		return GMT_UNWIND_FP_AT_FP;
	return GMT_UNWIND_FP_LOST;
}

static bool is_plt(const Dwarf_Op *ops, size_t count, int16_t *literal)
{
	static const uint8_t want[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0, DW_OP_ge, DW_OP_lit3,
					DW_OP_shl, DW_OP_plus };

	for (size_t i = 0; i < sizeof(want); i++)
		if (count != sizeof(want) || (i != 4 && ops[i].atom != want[i]))
			return false;
	*literal = (int16_t)(ops[4].atom - DW_OP_lit0);
	return ops[0].number == 8 && !ops[1].number;
}

static const struct gmt_unwind_row unsupported = { .rule = GMT_UNWIND_UNSUPPORTED };

static struct gmt_unwind_row want_x86(Dwarf_Frame *frame)
{
	struct gmt_unwind_row row = unsupported;
	Dwarf_Op memory[3], *ops;
	int64_t offset = 0;
	size_t count;

	if (dwarf_frame_register(frame, X86_RA, memory, &ops, &count))
		return row;
	if (!at_cfa(ops, count, &offset) || offset != -8 || dwarf_frame_cfa(frame, &ops, &count) || !count)
		return row;
	if (is_plt(ops, count, &row.cfa)) {
		row.rule = GMT_UNWIND_PLT;
	} else if (count == 1 && ops[0].atom == DW_OP_bregx && (ops[0].number == X86_SP || ops[0].number == X86_FP)) {
		offset = (int64_t)ops[0].number2;
		row.rule = ops[0].number == X86_SP ? GMT_UNWIND_SP : GMT_UNWIND_FP;
	} else if (count == 2 && ops[0].atom == DW_OP_breg6 && ops[1].atom == DW_OP_deref) {
		offset = (int64_t)ops[0].number;
		row.rule = GMT_UNWIND_DEREF;
	} else {
		return row;
	}
	if (row.rule != GMT_UNWIND_PLT) {
		if (offset % 8 || offset / 8 != (int16_t)(offset / 8))
			return unsupported;
		row.cfa = (int16_t)(offset / 8);
	}
	row.fp = want_fp(frame);
	return row;
}

/* Where libdw finds a register of arm64: 0: in the register itself; below 0: at CFA plus this; 1: elsewhere. */
static int64_t where_arm64(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	int64_t offset;

	if (dwarf_frame_register(frame, reg, memory, &ops, &count))
		return 1;
	if (!count)
		return ops ? 1 : 0;
	return at_cfa(ops, count, &offset) && offset < 0 ? offset : 1;
}

/* Whether libdw finds x29 and x30 at the CFA, and the CFA is x29. */
static bool is_record_at_cfa(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	int64_t fp = 1, ra = 1;
	size_t count;

	if (dwarf_frame_register(frame, ARM64_FP, memory, &ops, &count) || !at_cfa(ops, count, &fp) || fp ||
	    dwarf_frame_register(frame, ARM64_RA, memory, &ops, &count) || !at_cfa(ops, count, &ra) || ra != 8)
		return false;
	return !dwarf_frame_cfa(frame, &ops, &count) && count == 1 && ops[0].atom == DW_OP_bregx &&
	       ops[0].number == ARM64_FP && !ops[0].number2;
}

static struct gmt_unwind_row want_arm64(Dwarf_Frame *frame)
{
	int64_t fp = where_arm64(frame, ARM64_FP), ra = where_arm64(frame, ARM64_RA), slot = fp ? fp : ra, cfa;
	struct gmt_unwind_row row = { 0 };
	Dwarf_Op *ops;
	size_t count;

	if (is_record_at_cfa(frame))
		return (struct gmt_unwind_row){ .rule = GMT_UNWIND_FP, .cfa = 2, .fp = 2 };
	if (dwarf_frame_cfa(frame, &ops, &count) || count != 1 || ops[0].atom != DW_OP_bregx || fp > 0 || ra > 0 ||
	    (ops[0].number != ARM64_SP && ops[0].number != ARM64_FP) || (fp && ra != fp + 8))
		return unsupported;
	cfa = (int64_t)ops[0].number2;
	row.rule = ops[0].number == ARM64_SP ? GMT_UNWIND_SP : GMT_UNWIND_FP;
	row.cfa = (int16_t)(cfa / 8);
	if (cfa % 8 || cfa / 8 != row.cfa || slot % 8)
		return unsupported;
	if (!fp && ra)
		row.rule |= GMT_UNWIND_RA_ALONE;
	if (slot >= -1000)
		row.fp = (uint8_t)(-slot / 8);
	else if (cfa + slot >= 0 && cfa + slot <= 1000)
		row.fp = (uint8_t)(GMT_UNWIND_SLOT_UP + (cfa + slot) / 8);
	else
		return unsupported;
	return row;
}

/* The row as libdw sees the code. */
static struct gmt_unwind_row want_row(const struct comparison *c, Dwarf_Frame *frame, bool is_signal)
{
	bool is_arm64 = c->image->machine == EM_AARCH64;
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (is_signal)
		return (struct gmt_unwind_row){ .rule = GMT_UNWIND_SIGNAL };
	if (!dwarf_frame_register(frame, is_arm64 ? ARM64_RA : X86_RA, memory, &ops, &count) && !count && ops)
		return (struct gmt_unwind_row){ .rule = GMT_UNWIND_STOP };
	return is_arm64 ? want_arm64(frame) : want_x86(frame);
}

static void show(const struct comparison *c, uint64_t at, const struct gmt_unwind_row *want)
{
	const struct gmt_unwind_row *row = table_row_at(c->table, at);

	if (c->wrong < 10)
		printf("# %" PRIx64 ": rule %d cfa %d fp %d, libdw: rule %d cfa %d fp %d\n", at, row->rule, row->cfa, row->fp,
		       want->rule, want->cfa, want->fp);
}

/* The PLT of arm64 has no FDE, but rows (bare_code.h). */
static bool is_bare(const struct comparison *c, uint64_t at)
{
	const Elf64_Shdr *plt = image_section(c->image, ".plt", 0);

	return c->image->machine == EM_AARCH64 && plt && at - plt->sh_addr < plt->sh_size;
}

/* One place; returns how far libdw's rules hold. */
static uint64_t compare_at(struct comparison *c, uint64_t at, uint64_t end)
{
	const struct gmt_unwind_row *row = table_row_at(c->table, at);
	struct gmt_unwind_row want = { .rule = GMT_UNWIND_NONE };
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr from = at, to = end;
	bool is_signal = false;

	if (dwarf_cfi_addrframe(c->cfi, at, &frame)) {
		/* Padding up to the next function goes on with the rule before. */
		c->none++;
		to = row->rule == GMT_UNWIND_NONE ? end : (at & 15) ? (at | 15) + 1 : end;
		if (row->rule != GMT_UNWIND_NONE && !(at & 15) && !is_bare(c, at)) {
			show(c, at, &want);
			c->wrong++;
		}
		return to < end ? to : end;
	}
	dwarf_frame_info(frame, &from, &to, &is_signal);
	want = want_row(c, frame, is_signal);
	c->places++;
	if (row->rule != want.rule || row->cfa != want.cfa || row->fp != want.fp) {
		show(c, at, &want);
		c->wrong++;
	}
	free(frame);
	return to > at && to < end ? to : end;
}

/* The code of a row is walked by libdw's boundaries: one that we miss is in the middle of a row. */
static void compare_rows(struct comparison *c)
{
	for (uint32_t i = 0; i < c->table->rows; i++) {
		uint64_t at = c->table->base + unwind_table_row(c->table, i)->pc;
		uint64_t end = i + 1 < c->table->rows ? c->table->base + unwind_table_row(c->table, i + 1)->pc : at + 1;

		while (at < end && image_code_at(c->image, at))
			at = compare_at(c, at, end);
	}
}

static void cached(const struct image *image, const struct unwind_table *table, const char *dir)
{
	struct unwind_table again = { 0 };
	struct table_cache cache;
	struct table_key key;
	double start;
	int err;

	if (!image->build_id[0] || table_key_of(image, 0, &key) || table_cache_open(&cache, dir))
		return;
	err = table_cache_store(&cache, &key, table);
	start = milliseconds();
	if (!err && !table_cache_load(&cache, &key, &again))
		printf("# from the cache: %.2f ms\n", milliseconds() - start);
	unwind_table_fini(&again);
	table_cache_trim(&cache, 0);
	table_cache_close(&cache);
}

static void check_module(const char *path, const char *dir)
{
	struct comparison c = { 0 };
	struct unwind_table table = { 0 };
	struct image image;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	double start, took;
	int err = image_open(&image, open(path, O_RDONLY | O_CLOEXEC));

	start = milliseconds();
	if (!err)
		err = unwind_table_build(&image, &table);
	took = milliseconds() - start;
	c = (struct comparison){ .cfi = dwarf_getcfi_elf(elf), .table = &table, .image = &image };
	if (!err && c.cfi) {
		printf("# %s: %u FDEs, %u rows (%u unsupported), %zu bytes, %.2f ms, %.0f ns a row\n", path, table.fdes,
		       table.rows, table.unsupported, unwind_table_bytes(&table), took, took * 1e6 / table.rows);
		cached(&image, &table, dir);
		compare_rows(&c);
	}
	tests_run++;
	err = err || !c.cfi || c.wrong || !c.places || !unwind_table_check(&table);
	tests_failed += err != 0;
	printf("%sok %d - %s: %" PRIu64 " places compared, %" PRIu64 " differ\n", err ? "not " : "", tests_run,
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path, c.places, c.wrong);
	fflush(stdout);
	unwind_table_fini(&table);
	image_close(&image);
	if (c.cfi)
		dwarf_cfi_end(c.cfi);
	elf_end(elf);
	close(fd);
}

static void check_pattern(const char *pattern, const char *dir)
{
	glob_t found = { 0 };

	if (glob(pattern, GLOB_TILDE, NULL, &found) || !found.gl_pathc) {
		printf("ok %d - %s # SKIP not here\n", ++tests_run, pattern);
	} else {
		for (size_t i = 0; i < found.gl_pathc; i++)
			check_module(found.gl_pathv[i], dir);
	}
	globfree(&found);
}

struct packaged {
	const char *arguments; /* of get_packages.sh */
	const char *name;      /* of what is skipped */
};

static void check_packaged(const struct packaged *packaged, const char *dir)
{
	char command[512], line[4096] = "";
	FILE *path;

	snprintf(command, sizeof(command), "tests/bpf/get_packages.sh %s 2>/dev/null", packaged->arguments);
	path = popen(command, "re");
	if (!path)
		return;
	if (!fgets(line, sizeof(line), path))
		snprintf(line, sizeof(line), "%s", packaged->name);
	line[strcspn(line, "\n")] = 0;
	check_pattern(line, dir);
	pclose(path);
}

int main(int argc, char **argv)
{
	static const char *const patterns[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0",
		"~/.pyenv/versions/3.1[0-9]*/lib/libpython3.1*.so.1.0",
		"/proc/self/exe",
	};
	/* Debian's, where they can be had: the driver's library, and the largest one of PyTorch 1.13. The
	 * packages are those of tests/bpf/test_torch.py. */
	static const struct packaged packages[] = {
		{ "build/real-libcuda non-free 'libcuda.so.[0-9][0-9]*' libcuda1", "libcuda1" },
		{ "build/real-libc10 main libtorch_cpu.so.1.13.0 libtorch1.13 libgoogle-glog0v6 libgflags2.2 libunwind8 "
		  "libnuma1 libgomp1", "libtorch1.13" },
	};
	char dir[] = "/tmp/gmt-test-XXXXXX";

	elf_version(EV_CURRENT);
	if (!mkdtemp(dir))
		return 1;
	for (int i = 1; i < argc; i++)
		check_pattern(argv[i], dir);
	for (size_t i = 0; argc < 2 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		check_pattern(patterns[i], dir);
	for (size_t i = 0; argc < 2 && i < sizeof(packages) / sizeof(packages[0]); i++)
		check_packaged(&packages[i], dir);
	rmdir(dir);
	printf("1..%d\n", tests_run);
	return tests_failed != 0;
}
