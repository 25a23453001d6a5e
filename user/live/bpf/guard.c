// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/guard.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

#define CODE_BYTES_MAX (4u << 20) /* our programs take 100 KiB; a wrong number from the kernel must not cost memory */

/* ---- trials ---- */

#define INSN(...) ((struct bpf_insn){ __VA_ARGS__ })
#define INSN_SET(reg, value) INSN(.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value))
#define INSN_STORE(depth) INSN(.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -(depth))
#define INSN_EXIT INSN(.code = BPF_JMP | BPF_EXIT)

/* Writes two functions, of which the first calls the second. Each frame takes `depth` bytes. With `map_fd` the first
 * function begins with a tail call that is jumped over. */
static size_t write_program(struct bpf_insn *out, int16_t depth, int map_fd)
{
	size_t n = 0;

	if (map_fd >= 0) {
		out[n++] = INSN_SET(BPF_REG_6, 0);
		out[n++] = INSN(.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_6, .off = 4);
		out[n++] = INSN(.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_2,
				.src_reg = BPF_PSEUDO_MAP_FD, .imm = map_fd);
		out[n++] = INSN(.imm = 0);
		out[n++] = INSN_SET(BPF_REG_3, 0);
		out[n++] = INSN(.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call);
	}
	out[n++] = INSN_STORE(depth);
	out[n++] = INSN(.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 2);
	out[n++] = INSN_SET(BPF_REG_0, 0);
	out[n++] = INSN_EXIT;
	out[n++] = INSN_STORE(depth);
	out[n++] = INSN_SET(BPF_REG_0, 0);
	out[n++] = INSN_EXIT;
	return n;
}

static bool loads_program(int attach_type, int16_t depth, int map_fd)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type);
	struct bpf_insn program[16];
	size_t count = write_program(program, depth, map_fd);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "gmt_guard", "GPL", program, count, &options);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define DEPTH_SMALL 96
#define DEPTH_LARGE 320 /* two frames exceed 512 bytes (MAX_BPF_STACK, include/linux/filter.h), one does not */

enum guard_answer guard_judge(bool small, bool large, bool large_with_tail_call)
{
	if (!small)
		return GUARD_UNKNOWN;
	/* The programs differ only in the size of their frames. A refusal means that the frames share one stack. */
	if (!large || !large_with_tail_call)
		return GUARD_SAFE;
	return GUARD_PRIVATE;
}

enum guard_answer guard_try(int attach_type)
{
	enum guard_answer answer = GUARD_UNKNOWN;
	bool small, large;
	int map_fd;

	small = loads_program(attach_type, DEPTH_SMALL, -1);
	large = loads_program(attach_type, DEPTH_LARGE, -1);
	if (!small || !large)
		return guard_judge(small, large, large);
	map_fd = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "gmt_guard", sizeof(uint32_t), sizeof(uint32_t), 1, NULL);
	if (map_fd < 0)
		return GUARD_UNKNOWN;
	if (loads_program(attach_type, DEPTH_SMALL, map_fd))
		answer = guard_judge(small, large, loads_program(attach_type, DEPTH_LARGE, map_fd));
	close(map_fd);
	return answer;
}

/* ---- machine code ---- */

/* arch/x86/net/bpf_jit_comp.c of Linux 6.13, emit_priv_frame_ptr(): add r9, gs:[this_cpu_off]. BPF has no register in
 * r9, so no other code makes this instruction. */
static const uint8_t x86_add_cpu_offset[] = { 0x65, 0x4c, 0x03, 0x0c, 0x25 };

/* arch/arm64/net/bpf_jit_comp.c of Linux 6.18, emit_percpu_ptr(): mrs x10, tpidr_el1 (or, where the kernel runs as a
 * hypervisor, tpidr_el2), then add x27, x27, x10. x27 is PRIVATE_SP. */
#define ARM64_MRS_EL1 0xd538d08au
#define ARM64_MRS_EL2 0xd53cd04au
#define ARM64_ADD_X27 0x8b0a037bu

static bool is_arm64_private(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 4) {
		uint32_t words[2];

		memcpy(words, code + i, sizeof(words));
		if ((words[0] == ARM64_MRS_EL1 || words[0] == ARM64_MRS_EL2) && words[1] == ARM64_ADD_X27)
			return true;
	}
	return false;
}

bool guard_code_is_private(const void *code, size_t size)
{
	return memmem(code, size, x86_add_cpu_offset, sizeof(x86_add_cpu_offset)) || is_arm64_private(code, size);
}

bool guard_program_is_private(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t info_size = sizeof(info), size;
	bool is_private;
	void *code;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &info_size) || !info.jited_prog_len ||
	    info.jited_prog_len > CODE_BYTES_MAX)
		return false;
	size = info.jited_prog_len;
	code = xcalloc(1, size);
	info = (struct bpf_prog_info){ .jited_prog_insns = (uintptr_t)code, .jited_prog_len = size };
	info_size = sizeof(info);
	is_private = !bpf_obj_get_info_by_fd(prog_fd, &info, &info_size) && info.jited_prog_insns &&
		     guard_code_is_private(code, size);
	free(code);
	return is_private;
}
