// SPDX-License-Identifier: BSD-2-Clause
/* The users whom the stack thread serves, and how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/stacks/turns.h"
#include "parse/client.h"

static void users_are_told_apart(void **state)
{
	struct parse_client *client = parse_client_new(NULL);
	struct turns turns;

	(void)state;
	turns_init(&turns, client);
	for (int i = 0; i < 3; i++) {
		turns_begin(&turns, 1001);
		usleep(2000);
		turns_end(&turns, 1001);
	}
	turns_begin(&turns, 1002);
	turns_end(&turns, 1002);
	assert_true(turns_spent(&turns, 1001) >= 6000000);
	assert_true(turns_spent(&turns, 1002) < turns_spent(&turns, 1001));
	assert_int_equal(turns_spent(&turns, 1003), 0);
	turns_fini(&turns);
	parse_client_free(client);
}

static void a_process_has_a_user(void **state)
{
	(void)state;
	assert_int_equal(turns_user((uint32_t)getpid()), getuid());
	assert_int_equal(turns_user(UINT32_MAX), 65534);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_told_apart),
		cmocka_unit_test(a_process_has_a_user),
	};

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
