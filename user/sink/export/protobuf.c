// SPDX-License-Identifier: BSD-2-Clause
#include "sink/export/protobuf.h"

#include <string.h>

#include "base/human.h"
#include "base/out.h"

/* How the value of a field is written: the lowest three bits before it. */
enum wire_type { VARINT = 0, SIZED = 2 };

#define VARINT_BYTES_MAX 10  /* 64 bits, seven in each byte */

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		to[size++] = (uint8_t)(value | 0x80);
	to[size++] = (uint8_t)value;
	return size;
}

static void write_varint(struct out *out, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES_MAX];

	out_bytes(out, bytes, put_varint(bytes, value));
}

static void write_tag(struct out *out, uint32_t field, enum wire_type type)
{
	write_varint(out, (uint64_t)field << 3 | type);
}

void proto_number(struct out *out, uint32_t field, uint64_t value)
{
	write_tag(out, field, VARINT);
	write_varint(out, value);
}

void proto_bytes(struct out *out, uint32_t field, const void *bytes, size_t size)
{
	write_tag(out, field, SIZED);
	write_varint(out, size);
	out_bytes(out, bytes, size);
}

void proto_text(struct out *out, uint32_t field, const char *text)
{
	struct out clean;

	out_init_mem(&clean);
	human_print(&clean, PROTO_TEXT_COLUMNS, text, strlen(text));
	proto_bytes(out, field, clean.data, clean.size);
	out_close(&clean);
}

void proto_packed(struct out *out, uint32_t field, const uint64_t *values, size_t count)
{
	uint8_t bytes[VARINT_BYTES_MAX];
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += put_varint(bytes, values[i]);
	write_tag(out, field, SIZED);
	write_varint(out, size);
	for (size_t i = 0; i < count; i++)
		write_varint(out, values[i]);
}

void proto_message(struct out *out, uint32_t field, struct out *message)
{
	proto_bytes(out, field, message->data, message->size);
	message->size = 0;
}
