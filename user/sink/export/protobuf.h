/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the fields of Protocol Buffers messages (protobuf.dev, "Encoding"). A message within a message is written into
 * memory first, because its size stands before it: proto_message() then appends it to the outer one.
 */
#ifndef GPUMEMTRACE_SINK_EXPORT_PROTOBUF_H
#define GPUMEMTRACE_SINK_EXPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct out;

/* Numbers of fields go up to 536,870,911. A number less than 0 is written as int64 has it, in two's complement. */
void proto_number(struct out *out, uint32_t field, uint64_t value);
void proto_bytes(struct out *out, uint32_t field, const void *bytes, size_t size);
/* Foreign text as people may see it: control characters and broken UTF-8 become '?', as Protocol Buffers want UTF-8.
 * Longer text is cut, and ends in "...". */
#define PROTO_TEXT_COLUMNS 4096
void proto_text(struct out *out, uint32_t field, const char *text);
/* A list of numbers in one field. */
void proto_packed(struct out *out, uint32_t field, const uint64_t *values, size_t count);
/* The bytes of a memory writer, which is empty afterwards and can be used again. */
void proto_message(struct out *out, uint32_t field, struct out *message);

#endif
