// SPDX-License-Identifier: BSD-2-Clause
/* Writes opcodes of Python's pickletools module. */
#include "sink/export/pickle.h"

#include <string.h>

#include "base/human.h"
#include "base/out.h"

enum opcode {
	PROTO = 0x80, STOP = '.', MARK = '(', NEWTRUE = 0x88, NEWFALSE = 0x89,
	BININT = 'J', BININT1 = 'K', BININT2 = 'M', LONG1 = 0x8a, SHORT_BINUNICODE = 0x8c, BINUNICODE = 'X',
	EMPTY_DICT = '}', SETITEMS = 'u', EMPTY_LIST = ']', APPENDS = 'e', TUPLE2 = 0x86,
	MEMOIZE = 0x94, BINGET = 'h', LONG_BINGET = 'j',
};

#define PROTOCOL 4
#define BATCH 1000            /* items, as in Python's own writer */
#define FLUSH_BYTES (64 << 10)

static void put_opcode(struct pickle *p, enum opcode op)
{
	out_char(p->out, (char)op);
}

/* Little-endian. */
static void put_bytes(struct pickle *p, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		out_char(p->out, (char)(value >> 8 * i));
}

void pickle_begin(struct pickle *p, struct out *out)
{
	*p = (struct pickle){ .out = out };
	hash_init(&p->words, sizeof(uint32_t));
	put_opcode(p, PROTO);
	put_bytes(p, PROTOCOL, 1);
}

void pickle_end(struct pickle *p)
{
	put_opcode(p, STOP);
	hash_fini(&p->words);
}

uint32_t pickle_keep(struct pickle *p)
{
	put_opcode(p, MEMOIZE);
	return p->kept++;
}

void pickle_again(struct pickle *p, uint32_t number)
{
	put_opcode(p, number <= UINT8_MAX ? BINGET : LONG_BINGET);
	put_bytes(p, number, number <= UINT8_MAX ? 1 : 4);
}

void pickle_bool(struct pickle *p, bool value)
{
	put_opcode(p, value ? NEWTRUE : NEWFALSE);
}

void pickle_int(struct pickle *p, int64_t value)
{
	unsigned int bytes = 1;

	if (value >= 0 && value <= UINT8_MAX) {
		put_opcode(p, BININT1);
		put_bytes(p, value, 1);
	} else if (value >= 0 && value <= UINT16_MAX) {
		put_opcode(p, BININT2);
		put_bytes(p, value, 2);
	} else if (value >= INT32_MIN && value <= INT32_MAX) {
		put_opcode(p, BININT);
		put_bytes(p, value, 4);
	} else {
		/* Use as few bytes of two's complement as possible. */
		while (bytes < 8 && value >> (8 * bytes - 1) != 0 && value >> (8 * bytes - 1) != -1)
			bytes++;
		put_opcode(p, LONG1);
		put_bytes(p, bytes, 1);
		put_bytes(p, value, bytes);
	}
}

void pickle_text(struct pickle *p, const char *text)
{
	size_t size = strlen(text);

	/* Each byte of a broken character becomes one '?', so the size stays the same. */
	put_opcode(p, size <= UINT8_MAX ? SHORT_BINUNICODE : BINUNICODE);
	put_bytes(p, size, size <= UINT8_MAX ? 1 : 4);
	for (const char *at = text; *at;) {
		size_t n = human_utf8(at, text + size - at);

		if (n)
			out_bytes(p->out, at, n);
		else
			out_char(p->out, '?');
		at += n ? n : 1;
	}
}

void pickle_word(struct pickle *p, const char *word)
{
	bool is_new;
	uint32_t *number = hash_put(&p->words, (uintptr_t)word, &is_new);

	if (!is_new) {
		pickle_again(p, *number);
		return;
	}
	pickle_text(p, word);
	*number = pickle_keep(p);
}

void pickle_dict_begin(struct pickle *p)
{
	put_opcode(p, EMPTY_DICT);
	put_opcode(p, MARK);
}

void pickle_dict_end(struct pickle *p)
{
	put_opcode(p, SETITEMS);
}

void pickle_list_begin(struct pickle *p, struct pickle_list *list)
{
	list->count = 0;
	put_opcode(p, EMPTY_LIST);
}

void pickle_list_next(struct pickle *p, struct pickle_list *list)
{
	if (list->count && list->count % BATCH == 0)
		put_opcode(p, APPENDS);
	if (list->count++ % BATCH == 0)
		put_opcode(p, MARK);
	if (p->out->size >= FLUSH_BYTES)
		out_flush(p->out);
}

void pickle_list_end(struct pickle *p, struct pickle_list *list)
{
	if (list->count)
		put_opcode(p, APPENDS);
}

void pickle_pair(struct pickle *p)
{
	put_opcode(p, TUPLE2);
}
