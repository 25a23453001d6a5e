// SPDX-License-Identifier: BSD-2-Clause
/* Whether private stacks of BPF programs are noticed: in what a kernel loads, and in machine code. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/bpf/guard.h"
#include "live/probe/uprobe.h"

static void what_loads_tells(void **state)
{
	(void)state;
	assert_int_equal(guard_judge(true, false, false), GUARD_SAFE);  /* before 6.13 */
	assert_int_equal(guard_judge(true, true, false), GUARD_SAFE);   /* since then: the tail call helps */
	assert_int_equal(guard_judge(true, true, true), GUARD_PRIVATE); /* the tail call does not help */
	assert_int_equal(guard_judge(false, false, false), GUARD_UNKNOWN);
}

/* push rbp; mov rbp, rsp; movabs r9, imm64; add r9, gs:imm32; ret: as 6.18.15 made it of call_enter */
static const uint8_t x86_private[] = { 0x55, 0x48, 0x89, 0xe5, 0x49, 0xb9, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc,
				       0xfe, 0x65, 0x4c, 0x03, 0x0c, 0x25, 0x00, 0x10, 0x20, 0x30, 0xc3 };
/* The same addition to rax: a value of one CPU is looked up. */
static const uint8_t x86_lookup[] = { 0x55, 0x65, 0x48, 0x03, 0x04, 0x25, 0x00, 0x10, 0x20, 0x30, 0xc3 };
static const uint32_t arm64_private[] = { 0xd503245f, 0xd538d08a, 0x8b0a037b, 0xd65f03c0 };
static const uint32_t arm64_private_el2[] = { 0xd503245f, 0xd53cd04a, 0x8b0a037b, 0xd65f03c0 };
static const uint32_t arm64_lookup[] = { 0xd503245f, 0xd538d08a, 0x8b0a00e7, 0xd65f03c0 };

static void code_tells(void **state)
{
	(void)state;
	assert_true(guard_code_is_private(x86_private, sizeof(x86_private)));
	assert_false(guard_code_is_private(x86_lookup, sizeof(x86_lookup)));
	assert_false(guard_code_is_private(x86_private, 18)); /* cut within the instruction */
	assert_true(guard_code_is_private(arm64_private, sizeof(arm64_private)));
	assert_true(guard_code_is_private(arm64_private_el2, sizeof(arm64_private_el2)));
	assert_false(guard_code_is_private(arm64_private, 8));
	assert_false(guard_code_is_private(arm64_lookup, sizeof(arm64_lookup)));
	assert_false(guard_code_is_private("", 0));
}

static void this_kernel_is_safe(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(guard_try(0), GUARD_SAFE);
	if (uprobe_has_multi())
		assert_int_equal(guard_try(UPROBE_MULTI_ATTACH_TYPE), GUARD_SAFE);
	assert_false(guard_program_is_private(-1));
}

/* Whether one of the object's uprobe programs has a private stack; -1: the object does not load. */
static int any_is_private(const char *name)
{
	const char *build = getenv("BUILD");
	struct bpf_program *program;
	struct bpf_object *object;
	char path[4096];
	int found = 0;

	snprintf(path, sizeof(path), "%s/%s", build ? build : "build", name);
	object = bpf_object__open(path);
	assert_non_null(object);
	if (bpf_object__load(object)) {
		bpf_object__close(object);
		return -1;
	}
	bpf_object__for_each_program(program, object) {
		if (!strncmp(bpf_program__section_name(program), "u", 1))
			found |= guard_program_is_private(bpf_program__fd(program));
	}
	bpf_object__close(object);
	return found;
}

/* The same programs with and without what bpf/guard.bpf.h does for them. */
static void the_guard_is_needed(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	libbpf_set_print(NULL);
	assert_int_equal(any_is_private("gmt.bpf.o"), 0);
	/* A kernel before 6.13 has none, and one may not show its code. */
	if (any_is_private("private/gmt.bpf.o") != 1)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_loads_tells),
		cmocka_unit_test(code_tells),
		cmocka_unit_test(this_kernel_is_safe),
		cmocka_unit_test(the_guard_is_needed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
