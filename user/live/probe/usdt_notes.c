// SPDX-License-Identifier: BSD-2-Clause
/*
 * See usdt_notes.h. A note (SystemTap's sys/sdt.h, version 3) holds three addresses: of the place, of the section
 * .stapsdt.base when the note was made, and of the counter. Provider, name and arguments follow, each ended by a NUL.
 * The base shows by how much prelink has moved the file.
 */
#include "live/probe/usdt_notes.h"

#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/image.h"

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
#define NOTES_MAX (4u << 20)     /* bytes; libpython 3.11 has 656 */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#define REGISTERS_BYTES sizeof(struct pt_regs)
#else
#define OUR_MACHINE EM_AARCH64
#define REGISTERS_BYTES sizeof(struct user_pt_regs)
#endif

/* ---- arguments ---- */

/*
 * Arguments have the assembler's form: [-]BYTES@WHERE, separated by blanks. A minus marks a signed value. WHERE is a
 * constant ($N), a register, or memory at a register and a number.
 */
struct name {
	const char *name;
	uint16_t offset;
};

#if defined(__x86_64__)
#define REG(member, a, b, c, d)                                                   \
	{ a, offsetof(struct pt_regs, member) }, { b, offsetof(struct pt_regs, member) }, \
	{ c, offsetof(struct pt_regs, member) }, { d, offsetof(struct pt_regs, member) }
/* The registers as a BPF program sees them; user space has the same order. */
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

/* Parses N(REGISTER). */
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

static bool is_sound_arg(const struct gmt_usdt_arg *arg)
{
	bool is_size = arg->bytes == 1 || arg->bytes == 2 || arg->bytes == 4 || arg->bytes == 8;

	if (!arg->bytes && !arg->kind) /* behind the last argument */
		return true;
	return is_size && arg->kind <= GMT_USDT_MEMORY && arg->is_signed <= 1 &&
	       arg->reg <= REGISTERS_BYTES - sizeof(uint64_t);
}

bool usdt_is_sound(const struct usdt_place *place, uint64_t file_size)
{
	if (!place->offset || place->offset >= file_size || place->counter >= file_size)
		return false;
	for (size_t i = 0; i < GMT_USDT_ARGS; i++)
		if (!is_sound_arg(&place->usdt.args[i]))
			return false;
	return true;
}

/* ---- notes ---- */

struct reader {
	struct image image;
	uint64_t base;           /* of .stapsdt.base; 0: none */
	const char *provider, *name;
	int args;
	struct usdt_place *out;
	size_t count, most;      /* places; those beyond the most are only counted */
};

struct note {
	uint64_t location, base, counter;
	const char *provider, *name, *args;
};

/* Takes a text, which ends with a NUL before `end`; NULL: there is none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *stop = memchr(text, '\0', (size_t)(end - text));

	*at = stop ? stop + 1 : end;
	return stop ? text : NULL;
}

static bool read_note(const char *bytes, size_t size, struct note *note)
{
	uint64_t numbers[3];
	const char *at = bytes + sizeof(numbers);

	if (size < sizeof(numbers))
		return false;
	memcpy(numbers, bytes, sizeof(numbers));
	*note = (struct note){ .location = numbers[0], .base = numbers[1], .counter = numbers[2] };
	note->provider = next_text(&at, bytes + size);
	note->name = next_text(&at, bytes + size);
	note->args = next_text(&at, bytes + size);
	return note->provider && note->name && note->args;
}

static void take_note(struct reader *r, const struct note *note)
{
	uint64_t moved = r->base && note->base ? r->base - note->base : 0;
	struct usdt_place place = { .offset = image_offset(&r->image, note->location + moved, true) };

	if (strcmp(note->provider, r->provider) || strcmp(note->name, r->name))
		return;
	if (note->counter)
		place.counter = image_offset(&r->image, note->counter + moved, false);
	if ((note->counter && !place.counter) || usdt_parse_args(note->args, &place.usdt) < r->args ||
	    !usdt_is_sound(&place, r->image.size))
		return;
	if (r->count < r->most)
		r->out[r->count] = place;
	r->count++;
}

static int read_probes(struct reader *r)
{
	const Elf64_Shdr *base = image_section(&r->image, ".stapsdt.base", 0);
	const Elf64_Shdr *section = image_section(&r->image, ".note.stapsdt", 0);
	struct image_note found;
	struct note note;
	size_t at = 0;
	char *notes;

	if (r->image.machine != OUR_MACHINE)
		return -ENOEXEC;
	r->base = base ? base->sh_addr : 0;
	if (!section || section->sh_type != SHT_NOTE)
		return 0;
	if (section->sh_size > NOTES_MAX)
		return -E2BIG;
	notes = image_load(&r->image, section);
	while (notes && image_next_note(notes, section->sh_size, &at, &found))
		if (image_is_note(&found, NOTE_TYPE, NOTE_NAME) && read_note(found.desc, found.desc_size, &note))
			take_note(r, &note);
	free(notes);
	return r->count <= r->most ? (int)r->count : -E2BIG;
}

int usdt_find(int fd, const char *provider, const char *name, int args, struct usdt_place *out, size_t most)
{
	struct reader r = { .provider = provider, .name = name, .args = args, .out = out, .most = most };
	int count = image_open(&r.image, fd);

	if (count)
		return count;
	count = read_probes(&r);
	image_close(&r.image);
	return count;
}
