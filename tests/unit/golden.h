/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmocka, and texts compared with files in tests/golden/. To write the files anew after a wanted
 * change, run the test with UPDATE_GOLDEN=1 and review the difference. Tests run in the top directory;
 * GOLDEN_DIR names another place.
 */
#ifndef GPUMEMTRACE_TESTS_GOLDEN_H
#define GPUMEMTRACE_TESTS_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The whole file, to be freed; "" if it is not there. */
__attribute__((unused)) static char *golden_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(text);
	if (!file)
		return text;
	text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* Compares `text`, which it frees, with tests/golden/NAME. */
__attribute__((unused)) static void golden_check(char *text, const char *name)
{
	const char *dir = getenv("GOLDEN_DIR");
	char path[512];
	char *wanted;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "tests/golden", name);
	if (getenv("UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
	}
	wanted = golden_read(path);
	assert_string_equal(text, wanted);
	free(wanted);
	free(text);
}

#endif
