// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of Protocol Buffers fields, as the encoding's description has them, and their compression. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "sink/export/gzip.h"
#include "sink/export/protobuf.h"

static void expect(struct out *out, const char *bytes, size_t size)
{
	assert_int_equal(out->size, size);
	assert_memory_equal(out->data, bytes, size);
	out_close(out);
	out_init_mem(out);
}
#define EXPECT(out, bytes) expect(out, bytes, sizeof(bytes) - 1)

static void numbers(void **state)
{
	struct out out;

	(void)state;
	out_init_mem(&out);
	proto_number(&out, 1, 0);
	EXPECT(&out, "\x08\x00");
	proto_number(&out, 1, 150);  /* the example of protobuf.dev */
	EXPECT(&out, "\x08\x96\x01");
	proto_number(&out, 15, 127);
	EXPECT(&out, "\x78\x7f");
	proto_number(&out, 16, 128);
	EXPECT(&out, "\x80\x01\x80\x01");
	proto_number(&out, 536870911, 1);
	EXPECT(&out, "\xf8\xff\xff\xff\x0f\x01");
	proto_number(&out, 2, UINT64_MAX);
	EXPECT(&out, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	proto_number(&out, 2, (uint64_t)INT64_C(-2));
	EXPECT(&out, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

static void texts(void **state)
{
	char text[2 * PROTO_TEXT_COLUMNS + 1];
	struct out out;

	(void)state;
	out_init_mem(&out);
	proto_text(&out, 2, "");
	EXPECT(&out, "\x12\x00");
	proto_text(&out, 2, "testing");
	EXPECT(&out, "\x12\x07testing");
	proto_text(&out, 2, "gr\xc3\xbc\xc3\x9f\xff\033\xc2\x9b");
	EXPECT(&out, "\x12\x09gr\xc3\xbc\xc3\x9f???");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	proto_text(&out, 2, text);
	assert_int_equal(out.size, 3 + PROTO_TEXT_COLUMNS);
	assert_memory_equal(out.data, "\x12\x80\x20" "aaa", 6);
	assert_memory_equal(out.data + out.size - 3, "...", 3);
	out_close(&out);
}

static void messages(void **state)
{
	static const uint64_t list[] = { 3, 270, 86942 };
	struct out out, message;

	(void)state;
	out_init_mem(&out);
	out_init_mem(&message);
	proto_packed(&out, 6, list, 3);   /* likewise */
	EXPECT(&out, "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
	proto_packed(&out, 6, list, 0);
	EXPECT(&out, "\x32\x00");
	proto_number(&message, 1, 150);
	proto_message(&out, 3, &message);
	proto_message(&out, 4, &message);
	EXPECT(&out, "\x1a\x03\x08\x96\x01\x22\x00");
	out_close(&message);
}

/* ---- compression ---- */

enum { NUMBERS = 400000 };

static void write_numbers(struct out *out)
{
	for (uint32_t i = 0; i < NUMBERS; i++) {
		uint32_t number = i * 2654435761u;

		out_bytes(out, &number, sizeof(number));
	}
}

static void what_is_packed_unpacks(void **state)
{
	struct out packed, plain;
	struct gzip gzip;
	z_stream z = { 0 };
	unsigned char *back = malloc(NUMBERS * 4 + 1);

	(void)state;
	out_init_mem(&packed);
	out_init_mem(&plain);
	write_numbers(&plain);
	gzip_begin(&gzip, &packed);
	write_numbers(&gzip.in);
	gzip_end(&gzip);
	assert_int_equal(packed.error, 0);
	assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	z.next_in = (unsigned char *)packed.data;
	z.avail_in = (unsigned int)packed.size;
	z.next_out = back;
	z.avail_out = NUMBERS * 4 + 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, plain.size);
	assert_int_equal(z.avail_in, 0);
	assert_memory_equal(back, plain.data, plain.size);
	inflateEnd(&z);
	free(back);
	out_close(&packed);
	out_close(&plain);
}

static int take_some(void *arg, const void *data, size_t size)
{
	size_t *most = arg;

	(void)data;
	*most = size > *most ? size : *most;
	return 0;
}

static int take_nothing(void *arg, const void *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return -ENOSPC;
}

static void it_streams(void **state)
{
	size_t most = 0;
	struct gzip gzip;
	struct out out;

	(void)state;
	out_init(&out, take_some, &most);
	gzip_begin(&gzip, &out);
	write_numbers(&gzip.in);
	assert_in_range(gzip.in.room, 1, 256 << 10);
	gzip_end(&gzip);
	assert_int_equal(out_close(&out), 0);
	assert_in_range(most, 1000, 256 << 10);
}

static void the_first_error_stays(void **state)
{
	struct gzip gzip;
	struct out out;

	(void)state;
	out_init(&out, take_nothing, NULL);
	gzip_begin(&gzip, &out);
	write_numbers(&gzip.in);
	gzip_end(&gzip);
	assert_int_equal(out_close(&out), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(texts),
		cmocka_unit_test(messages),
		cmocka_unit_test(what_is_packed_unpacks),
		cmocka_unit_test(it_streams),
		cmocka_unit_test(the_first_error_stays),
	};

	return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
