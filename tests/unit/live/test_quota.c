// SPDX-License-Identifier: BSD-2-Clause
/* Quotas of users: what one user takes does not stop another user. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "live/probe/quota.h"

#define PLENTY 1000000

static void files_of_a_user(void **state)
{
	struct quota *quota = quota_new(PLENTY);
	uint32_t uid = 0;

	(void)state;
	for (int i = 0; i < QUOTA_FILES; i++) {
		assert_true(quota_permits(quota, 1000));
		quota_take(quota, 1000, 2);
	}
	assert_false(quota_next_told(quota, &uid));
	assert_false(quota_permits(quota, 1000));
	assert_false(quota_permits(quota, 1000));
	assert_true(quota_permits(quota, 1001));
	assert_int_equal(quota_refused(quota), 2);
	assert_true(quota_next_told(quota, &uid));
	assert_int_equal(uid, 1000);
	assert_false(quota_permits(quota, 1000));
	assert_false(quota_next_told(quota, &uid)); /* told once */
	quota_free(quota);
}

static void share_of_descriptors(void **state)
{
	struct quota *quota = quota_new(1000);
	size_t files = 0;

	(void)state;
	for (; quota_permits(quota, 7); files++)
		quota_take(quota, 7, 100);
	assert_int_equal(files, 5); /* the fifth begins below the half */
	for (uint32_t uid = 8; quota_permits(quota, uid); uid++, files++)
		quota_take(quota, uid, 100);
	assert_int_equal(files, 9); /* some stay free */
	quota_free(quota);
}

static void many_users(void **state)
{
	struct quota *quota = quota_new(PLENTY);
	uint32_t told = 0, uid;

	(void)state;
	for (uid = 0; uid < 3 * QUOTA_USERS && quota_permits(quota, uid); uid++)
		quota_take(quota, uid, 1);
	/* those beyond the table share one user's quota */
	assert_int_equal(uid, QUOTA_USERS - 1 + QUOTA_FILES);
	while (quota_next_told(quota, &uid))
		told++;
	assert_int_equal(told, 1);
	quota_free(quota);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_a_user),
		cmocka_unit_test(share_of_descriptors),
		cmocka_unit_test(many_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
