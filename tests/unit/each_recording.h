/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls a function with the path of each recording of tests/data. */
#ifndef GPUMEMTRACE_TESTS_EACH_RECORDING_H
#define GPUMEMTRACE_TESTS_EACH_RECORDING_H

#include <glob.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* $GMT_TEST_DATA may name another folder. A test fails where a part of the folder has no recording. */
static inline void each_recording(void (*fn)(void *arg, const char *path), void *arg)
{
	static const char *const patterns[] = { "*.gmt", "kept/*.gmt", "found/*.gmt" };
	const char *folder = getenv("GMT_TEST_DATA");

	for (unsigned int i = 0; i < 3; i++) {
		char pattern[512];
		glob_t found;

		snprintf(pattern, sizeof(pattern), "%s/%s", folder ? folder : "tests/data", patterns[i]);
		assert_int_equal(glob(pattern, 0, NULL, &found), 0);
		for (size_t n = 0; n < found.gl_pathc; n++)
			fn(arg, found.gl_pathv[n]);
		globfree(&found);
	}
}

#endif
