// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tests the unwinder in the kernel: probes on this program's own functions walk its own stacks, by tables made here,
 * and must find what libgcc's unwinder found before anything was probed. Needs root.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "selfmaps.h"
#include "stacks.h"
#include "unwind_test.h"

#define PLT_RESULT 32   /* and the two behind it: the instructions of the PLT entry */
#define LINKS_MAX 16
#define SHARD_BYTES (TEST_SHARD_WORDS * sizeof(__u64))

static int tests_run, tests_failed;

struct probes {
	struct bpf_object *object;
	struct self_tables tables;
	char program[4096];
	int results;
	struct bpf_link *links[LINKS_MAX];
	int link_count;
};

static void ok(bool good, const char *name, const char *more)
{
	tests_run++;
	tests_failed += !good;
	printf("%sok %d - %s%s\n", good ? "" : "not ", tests_run, name, more);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

/* The offset in this program's file of code in it. */
static size_t file_offset(uintptr_t address)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	size_t found = 0;
	char line[4400];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && address >= start && address < end)
			found = address - start + offset;
	if (file)
		fclose(file);
	return found;
}

static int attach(struct probes *p, uintptr_t address, uint64_t cookie, bool at_return)
{
	struct bpf_program *program = bpf_object__find_program_by_name(p->object, at_return ? "on_return" : "on_probe");
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie, .retprobe = at_return);

	struct bpf_link *link = p->link_count == LINKS_MAX ? NULL :
		bpf_program__attach_uprobe_opts(program, getpid(), p->program, file_offset(address), &opts);

	if (!link)
		return -1;
	p->links[p->link_count++] = link;
	return 0;
}

/* Words go into shards, which are mapped: what a collector does. */
static int fill_shards(struct probes *p)
{
	int outer = bpf_map__fd(bpf_object__find_map_by_name(p->object, "shards"));
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	for (__u32 shard = 0; (size_t)shard * TEST_SHARD_WORDS < p->tables.word_count; shard++) {
		__u32 first = shard * TEST_SHARD_WORDS, count = p->tables.word_count - first;
		int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 8, TEST_SHARD_WORDS, &opts);
		void *memory = inner < 0 ? MAP_FAILED : mmap(NULL, SHARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, inner, 0);

		if (memory == MAP_FAILED)
			return -1;
		memcpy(memory, p->tables.words + first, (count < TEST_SHARD_WORDS ? count : TEST_SHARD_WORDS) * 8UL);
		munmap(memory, SHARD_BYTES);
		if (bpf_map_update_elem(outer, &shard, &inner, BPF_ANY))
			return -1;
		close(inner);
	}
	return 0;
}

static int fill_mappings(struct probes *p)
{
	int map = bpf_map__fd(bpf_object__find_map_by_name(p->object, "mappings"));
	struct bpf_map *data = bpf_object__find_map_by_name(p->object, ".data.test");
	__u32 zero = 0;

	for (__u32 i = 0; i < p->tables.count; i++)
		if (bpf_map_update_elem(map, &i, &p->tables.mappings[i], BPF_ANY))
			return -1;
	return bpf_map_update_elem(bpf_map__fd(data), &zero, &p->tables.count, BPF_ANY);
}

static int load(struct probes *p)
{
	char path[4200], *own;
	ssize_t length = readlink("/proc/self/exe", p->program, sizeof(p->program) - 1);

	p->program[length > 0 ? length : 0] = 0;
	own = strdup(p->program);
	snprintf(path, sizeof(path), "%s/unwind_test.bpf.o", dirname(own));
	free(own);
	p->object = bpf_object__open(path);
	if (!p->object || bpf_object__load(p->object))
		return -1;
	p->results = bpf_map__fd(bpf_object__find_map_by_name(p->object, "results"));
	return 0;
}

static void compare(struct probes *p, __u32 id, const struct stacks_expected *expected, const char *name, const char *round)
{
	struct test_result result, none = { 0 };
	char more[160] = "";
	int differs = -1;

	if (bpf_map_lookup_elem(p->results, &id, &result) || !result.hits) {
		ok(false, name, ": no hit");
		return;
	}
	bpf_map_update_elem(p->results, &id, &none, BPF_ANY);
	for (int i = 1; i < expected->count && differs < 0; i++)
		if (expected->frames[i] && expected->frames[i] != (result.frames[i] & GMT_FRAME_PC_MASK))
			differs = i;
	if (!(result.frames[0] & GMT_FRAME_EXACT) || (int)result.count != expected->count)
		differs = differs < 0 ? (int)result.count : differs;
	snprintf(more, sizeof(more), "%s: %u frames, reason %u, %u ns", round, result.count, result.reason, result.nanoseconds);
	ok(differs < 0 && result.reason == GMT_UNWIND_END_ROOT, name, more);
	if (differs >= 0)
		for (int i = 0; i < expected->count || i < (int)result.count; i++)
			printf("# %2d expected %" PRIxPTR " found %" PRIx64 "\n", i, i < expected->count ? expected->frames[i] : 0,
			       (uint64_t)result.frames[i]);
}

static void compare_all(struct probes *p, const char *round, int plts)
{
	for (__u32 id = 0; id < STACK_COUNT; id++)
		compare(p, id, &stacks_expected[id], stacks_text[id], round);
	for (int i = 0; i < plts; i++)
		compare(p, PLT_RESULT + (__u32)i, &stacks_expected[STACK_PLT], "in the PLT", round);
}

int main(void)
{
	struct probes p = { 0 };
	int rc = 0;

	if (geteuid()) {
		puts("1..0 # SKIP needs root");
		return 0;
	}
	libbpf_set_print(quiet);
	if (load(&p)) {
		printf("1..1\nnot ok 1 - the kernel's verifier takes the program: %s\n", strerror(errno));
		return 1;
	}
	ok(true, "the kernel's verifier takes the program", "");
	/* One place calls in all rounds: the return addresses are the same. */
	for (int round = 0; round < 3; round++) {
		for (int id = 0; id < STACK_COUNT; id++)
			stacks_run(id);
		if (round == 0) {
			self_tables_build(&p.tables);
			ok(p.tables.vdso, "the vDSO has a table", "");
			stacks_is_armed = true;
			rc = fill_shards(&p) | fill_mappings(&p) | attach(&p, (uintptr_t)stacks_target, 0, false);
			for (int i = 0; i < STACKS_PLT_OFFSETS; i++)
				rc |= attach(&p, stacks_plt() + stacks_plt_offsets[i], PLT_RESULT + (uint64_t)i, false);
		} else if (round == 1) {
			compare_all(&p, "", STACKS_PLT_OFFSETS);
			rc |= attach(&p, (uintptr_t)stacks_run, 0, true) | attach(&p, (uintptr_t)stacks_outer, 0, true) |
			      attach(&p, (uintptr_t)stacks_inner, 0, true) | attach(&p, (uintptr_t)stacks_target, 0, true);
		} else {
			compare_all(&p, " (return probes)", 1);
		}
		if (rc) {
			ok(false, "attached", "");
			break;
		}
	}
	while (p.link_count)
		bpf_link__destroy(p.links[--p.link_count]);
	bpf_object__close(p.object);
	self_tables_fini(&p.tables);
	printf("1..%d\n", tests_run);
	return tests_failed != 0;
}
