// SPDX-License-Identifier: BSD-2-Clause
/*
 * The arguments of static probes, in the assembler's words: [-]BYTES@WHERE, separated by blanks. A minus is
 * a signed value. WHERE is a constant ($N; N on arm64), a register, or memory at one register and a number.
 */
#include "live/probe/usdt_notes.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct name {
	const char *name;
	uint16_t offset;
};

#if defined(__x86_64__)
#define REG(member, a, b, c, d)                                                   \
	{ a, offsetof(struct pt_regs, member) }, { b, offsetof(struct pt_regs, member) }, \
	{ c, offsetof(struct pt_regs, member) }, { d, offsetof(struct pt_regs, member) }
/* As a program of BPF sees them: the order is user space's, too. */
static const struct name names[] = {
	REG(rax, "rax", "eax", "ax", "al"), REG(rbx, "rbx", "ebx", "bx", "bl"),
	REG(rcx, "rcx", "ecx", "cx", "cl"), REG(rdx, "rdx", "edx", "dx", "dl"),
	REG(rsi, "rsi", "esi", "si", "sil"), REG(rdi, "rdi", "edi", "di", "dil"),
	REG(rbp, "rbp", "ebp", "bp", "bpl"), REG(rsp, "rsp", "esp", "sp", "spl"),
	REG(r8, "r8", "r8d", "r8w", "r8b"), REG(r9, "r9", "r9d", "r9w", "r9b"),
	REG(r10, "r10", "r10d", "r10w", "r10b"), REG(r11, "r11", "r11d", "r11w", "r11b"),
	REG(r12, "r12", "r12d", "r12w", "r12b"), REG(r13, "r13", "r13d", "r13w", "r13b"),
	REG(r14, "r14", "r14d", "r14w", "r14b"), REG(r15, "r15", "r15d", "r15w", "r15b"),
};
#else
static const struct name names[] = { { "", 0 } }; /* PyTorch has no such probes on other machines */
#endif

static bool find_register(const char *text, size_t len, uint16_t *offset)
{
	if (len < 2 || text[0] != '%')
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) != len - 1 || memcmp(names[i].name, text + 1, len - 1))
			continue;
		*offset = names[i].offset;
		return true;
	}
	return false;
}

/* N(REGISTER) */
static bool find_memory(const char *text, size_t len, struct gmt_usdt_arg *arg)
{
	const char *open = memchr(text, '(', len);
	char *end;

	if (!open || text[len - 1] != ')' || !find_register(open + 1, len - (size_t)(open - text) - 2, &arg->reg))
		return false;
	arg->value = strtoll(text, &end, 0);
	return end == open;
}
static bool find_constant(const char *text, size_t len, int64_t *value)
{
	char *end;

	if (len < 2 || text[0] != '$' || text[1] == ' ')
		return false;
	*value = strtoll(text + 1, &end, 0);
	return end == text + len;
}

static int parse_one(const char *text, size_t len, struct gmt_usdt_arg *arg)
{
	const char *at = memchr(text, '@', len), *where = at ? at + 1 : NULL;
	size_t left = at ? len - (size_t)(where - text) : 0;
	char *end;
	long bytes = strtol(text, &end, 10);

	*arg = (struct gmt_usdt_arg){ .is_signed = bytes < 0 };
	bytes = labs(bytes);
	if (end != at || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || !left)
		return -EINVAL;
	arg->bytes = (uint8_t)bytes;
	if (find_constant(where, left, (int64_t *)&arg->value))
		arg->kind = GMT_USDT_CONSTANT;
	else if (find_register(where, left, &arg->reg))
		arg->kind = GMT_USDT_REGISTER;
	else if (find_memory(where, left, arg))
		arg->kind = GMT_USDT_MEMORY;
	else
		return -ENOTSUP;
	return 0;
}

int usdt_parse_args(const char *text, struct gmt_usdt *out)
{
	int count = 0;

	*out = (struct gmt_usdt){ 0 };
	for (text += strspn(text, " "); *text && count < GMT_USDT_ARGS; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");
		int err = parse_one(text, len, &out->args[count]);

		if (err)
			return err;
		count++;
		text += len;
	}
	return count;
}
