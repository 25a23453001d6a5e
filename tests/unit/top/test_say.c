// SPDX-License-Identifier: BSD-2-Clause
/* Messages that are kept while a screen has the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "say.h"

static int pipe_fds[2];

/* What has been printed since the last call. */
static const char *printed(void)
{
	static char text[65536];
	ssize_t size;

	fflush(stderr);
	assert_int_equal(write(STDERR_FILENO, "!", 1), 1);
	size = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(size > 0 && text[size - 1] == '!');
	text[size - 1] = '\0';
	return text;
}

static void newest_are(const char *first, size_t count)
{
	struct said copies[SAY_SHOWN];

	assert_int_equal(say_newest(copies), count);
	if (count)
		assert_string_equal(copies[0].text, first);
	for (size_t i = 0; i < count; i++) {
		assert_true(i ? copies[i].at_ns >= copies[i - 1].at_ns : copies[i].at_ns > 0);
		free(copies[i].text);
	}
}

static void messages_are_printed_at_once(void **state)
{
	(void)state;
	say("one %d", 1);
	assert_string_equal(printed(), "gpumemtrace: one 1\n");
	newest_are(NULL, 0);
	say_release();
	assert_string_equal(printed(), "");
}

static void held_messages_come_later_and_once(void **state)
{
	(void)state;
	say_keep(true);
	say("one\033[2J");
	say("two");
	assert_string_equal(printed(), "");
	newest_are("one?[2J", 2);
	say_release();
	assert_string_equal(printed(), "gpumemtrace: one?[2J\ngpumemtrace: two\n");
	newest_are(NULL, 0);
	say_release();
	assert_string_equal(printed(), "");
	say("three");
	assert_string_equal(printed(), "gpumemtrace: three\n");
}

/* A terminal would break words at its edge. */
static void a_terminal_gets_whole_words(void **state)
{
	const struct winsize size = { .ws_col = 30, .ws_row = 24 };
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave, old = dup(STDERR_FILENO);
	char text[200] = "";
	size_t used = 0;

	(void)state;
	assert_true(master >= 0 && old >= 0 && !grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0 && !ioctl(slave, TIOCSWINSZ, &size) && dup2(slave, STDERR_FILENO) >= 0);
	say("%s", "the dump is gpumemtrace-oom-1234567890.gmt");
	dup2(old, STDERR_FILENO);
	while (!strstr(text, ".gmt\r\n") && read(master, text + used, 1) > 0)
		used++;
	assert_string_equal(text, "gpumemtrace: the dump is\r\ngpumemtrace-oom-1234567890.gmt\r\n");
	close(old);
	close(slave);
	close(master);
}

/* Standard error is a file: the screen shows the messages, and the file has them. */
static void kept_messages_need_not_be_held(void **state)
{
	(void)state;
	say_keep(false);
	say("one");
	assert_string_equal(printed(), "gpumemtrace: one\n");
	newest_are("one", 1);
	say_release();
	assert_string_equal(printed(), "");
}

static void too_many_are_counted(void **state)
{
	(void)state;
	say_keep(true);
	for (int i = 0; i < 300; i++)
		say("message %d", i);
	newest_are("message 236", SAY_SHOWN);
	say_release();
	assert_memory_equal(printed(), "gpumemtrace: 44 earlier messages are left out here\ngpumemtrace: message 44\n", 74);
}

/* A reader that reads nothing holds nobody up. */
static void a_hurried_message_does_not_wait(void **state)
{
	char bytes[4096] = "";
	int size = 0;

	(void)state;
	say_hurry();
	say("one");
	assert_string_equal(printed(), "gpumemtrace: one\n");
	assert_int_equal(fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK), 0);
	while (write(pipe_fds[1], bytes, sizeof(bytes)) > 0)
		size += (int)sizeof(bytes);
	assert_int_equal(fcntl(pipe_fds[1], F_SETFL, 0), 0);
	say_keep(true);
	say("two");
	say_release();
	say("three");
	assert_int_equal(ioctl(pipe_fds[0], FIONREAD, bytes), 0);
	assert_memory_equal(bytes, &size, sizeof(size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_printed_at_once),
		cmocka_unit_test(held_messages_come_later_and_once),
		cmocka_unit_test(a_terminal_gets_whole_words),
		cmocka_unit_test(kept_messages_need_not_be_held),
		cmocka_unit_test(too_many_are_counted),
		cmocka_unit_test(a_hurried_message_does_not_wait),   /* the last: the hurry stays */
	};
	int failed, old = dup(STDERR_FILENO);

	if (old < 0 || pipe(pipe_fds) || dup2(pipe_fds[1], STDERR_FILENO) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	dup2(old, STDERR_FILENO);
	return failed;
}
