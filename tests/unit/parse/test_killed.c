// SPDX-License-Identifier: BSD-2-Clause
/* Readers that are killed while they read, by somebody or by the kernel for lack of memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "parse/channel.h"
#include "parse/oom_kills.h"
#include "parse_child.h"
#include "patience.h"

#define LONG_NS (PATIENCE * 1000000000ULL)

static const struct parse_table table = { .serve = { [PARSE_PYTHON] = parse_child_sleep } };

/* In the place of the kernel's number. */
static uint64_t shown_kills;

uint64_t oom_kills(void)
{
	return shown_kills;
}

struct end {
	int pid, signal;
	bool is_oom;
};

static void *end_reader(void *arg)
{
	const struct end *end = arg;

	usleep(1000);
	shown_kills += end->is_oom;
	kill(end->pid, end->signal);
	return NULL;
}

/* Ends a worker that works on a question. */
static int end_at_work(struct parse_client *client, int number, bool is_oom)
{
	struct parse_question question = { .kind = PARSE_PYTHON, .budget_ns = LONG_NS, .about_state = true };
	struct parse_answer answer;
	struct parse_status status;
	struct end end;
	pthread_t thread;
	int err;

	do { /* until the end comes behind the question */
		assert_int_equal(parse_status(client, &status), 0);
		end = (struct end){ status.pid, number, is_oom };
		assert_int_equal(pthread_create(&thread, NULL, end_reader, &end), 0);
		err = parse_ask(client, &question, &answer);
		pthread_join(thread, NULL);
	} while (err == -ESTALE);
	return err;
}

/* Who was killed did not crash; that memory had run out is said where the kernel says so. */
static void a_kill_is_no_crash(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_status status;

	(void)state;
	assert_int_equal(end_at_work(child.client, SIGKILL, false), -ENOTRECOVERABLE);
	assert_string_equal(parse_why(child.client, -ENOTRECOVERABLE),
			    "could not be read: its reader was killed, and not by gpumemtrace");
	assert_int_equal(end_at_work(child.client, SIGKILL, true), -ENOTRECOVERABLE);
	assert_string_equal(parse_why(child.client, -ENOTRECOVERABLE),
			    "could not be read: the kernel killed its reader, as memory had run out");
	assert_int_equal(end_at_work(child.client, SIGSEGV, true), -EFAULT);
	assert_true(parse_gave_up(-ENOTRECOVERABLE) && !parse_was_ended(-ENOTRECOVERABLE));
	assert_int_equal(parse_status(child.client, &status), 0);
	parse_child_end(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_is_no_crash),
	};

	return cmocka_run_group_tests_name("killed", tests, NULL, NULL);
}
