// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/packed.h"

#include "base/out.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Four characters of three bytes. */
static void write_group(struct packed *p, unsigned int characters)
{
	char text[4];

	for (unsigned int i = 0; i < 4; i++)
		text[i] = i < characters ? digits[p->held >> (18 - 6 * i) & 63] : '=';
	out_bytes(p->out, text, sizeof(text));
	p->held = 0;
	p->count = 0;
}

static void add_byte(struct packed *p, uint8_t byte)
{
	p->held |= (uint32_t)byte << (16 - 8 * p->count);
	if (++p->count == 3)
		write_group(p, 4);
}

void packed_number(struct packed *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		add_byte(p, (uint8_t)(value | 0x80));
	add_byte(p, (uint8_t)value);
}

void packed_change(struct packed *p, uint64_t from, uint64_t to)
{
	int64_t change = (int64_t)(to - from);

	packed_number(p, (uint64_t)change << 1 ^ (uint64_t)(change >> 63));
}

void packed_end(struct packed *p)
{
	if (p->count)
		write_group(p, p->count + 1);
}
