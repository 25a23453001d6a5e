/* SPDX-License-Identifier: BSD-2-Clause */
/* base/out and base/json: bytes arrive in one piece, errors stick, texts are made UTF-8. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "golden.h"

#include "base/js.h"
#include "base/out.h"

struct sink {
	int calls;
	size_t bytes;
	int fail_at;     /* the call that fails, from 1 */
};

static int count_writes(void *arg, const void *data, size_t size)
{
	struct sink *sink = arg;

	(void)data;
	sink->calls++;
	sink->bytes += size;
	return sink->calls == sink->fail_at ? -ENOSPC : 0;
}

static void test_memory(void **state)
{
	struct out out;
	char *text;

	(void)state;
	out_init_mem(&out);
	out_text(&out, "a");
	out_pad(&out, 3);
	out_pad(&out, -1);
	out_printf(&out, "%d%s", 42, "x");
	out_char(&out, '\n');
	assert_int_equal(out_flush(&out), 0);
	text = out_take(&out);
	assert_string_equal(text, "a   42x\n");
	free(text);
	assert_int_equal(out_close(&out), 0);
}

static void test_one_write_a_flush(void **state)
{
	struct sink sink = { 0 };
	struct out out;

	(void)state;
	out_init(&out, count_writes, &sink);
	for (int i = 0; i < 1000; i++)
		out_printf(&out, "line %d\n", i);
	assert_int_equal(sink.calls, 0);
	assert_int_equal(out_flush(&out), 0);
	assert_int_equal(sink.calls, 1);
	assert_int_equal(out_close(&out), 0);
	assert_int_equal(sink.calls, 1);
}

static void test_much_is_handed_over_before_the_end(void **state)
{
	struct sink sink = { 0 };
	struct out out;

	(void)state;
	out_init(&out, count_writes, &sink);
	for (int i = 0; i < 100000; i++)
		out_text(&out, "0123456789");
	assert_true(sink.calls > 5 && sink.calls < 50);
	assert_int_equal(out_close(&out), 0);
	assert_int_equal(sink.bytes, 1000000);
}

static void test_error_sticks(void **state)
{
	struct sink sink = { .fail_at = 1 };
	struct out out;

	(void)state;
	out_init(&out, count_writes, &sink);
	out_text(&out, "lost");
	assert_int_equal(out_flush(&out), -ENOSPC);
	out_text(&out, "dropped");
	assert_int_equal(out_flush(&out), -ENOSPC);
	assert_int_equal(sink.calls, 1);
	assert_int_equal(out_close(&out), -ENOSPC);
}

static void test_full_disk(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct out out;

	(void)state;
	if (fd < 0)
		skip();
	out_init_fd(&out, fd);
	out_text(&out, "x");
	assert_int_equal(out_close(&out), -ENOSPC);
	close(fd);
}

static void test_broken_pipe(void **state)
{
	struct out out;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	out_init_fd(&out, fds[1]);
	out_text(&out, "x");
	assert_int_equal(out_close(&out), -EPIPE);
	close(fds[1]);
}

static void test_nonblocking_pipe_gets_all(void **state)
{
	static char big[1 << 20], got[1 << 16];
	size_t total = 0;
	int fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		_exit(out_write_fd(fds[1], big, sizeof(big)) ? 1 : 0);
	}
	close(fds[1]);
	fcntl(fds[0], F_SETFL, 0);
	for (ssize_t n; (n = read(fds[0], got, sizeof(got))) > 0;)
		total += n;
	assert_int_equal(total, sizeof(big));
	close(fds[0]);
}

static void test_terminal_size(void **state)
{
	unsigned width, height;

	(void)state;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(out_terminal_size(fd, &width, &height), -ENOTTY);
	close(fd);
}

static char *json_of(json_t *value)
{
	struct out out;

	out_init_mem(&out);
	js_write(&out, value, false);
	return out_take(&out);
}

static void test_json(void **state)
{
	json_t *object = JS_OBJECT({ "bytes", js_u64(9007199254740993ull) }, /* 2^53 + 1: no double */
				   { "broken", js_u64(UINT64_MAX) }, { "residual", json_integer(-1048576) },
				   { "text", js_text("a\"\n\x1b\xff\xc3\xa9zz", 8) });
	char *text;

	(void)state;
	JS_ADD(object, { "none", js_u64_if(false, 7) }, { "some", js_u64_if(true, 7) });
	text = json_of(object);
	assert_string_equal(text, "{\"bytes\":9007199254740993,\"broken\":9223372036854775807,"
				  "\"residual\":-1048576,\"text\":\"a\\\"\\n\\u001B\xef\xbf\xbd\xc3\xa9z\","
				  "\"none\":null,\"some\":7}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_one_write_a_flush),
		cmocka_unit_test(test_much_is_handed_over_before_the_end),
		cmocka_unit_test(test_error_sticks),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_broken_pipe),
		cmocka_unit_test(test_nonblocking_pipe_gets_all),
		cmocka_unit_test(test_terminal_size),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
