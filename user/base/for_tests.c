// SPDX-License-Identifier: BSD-2-Clause
#include "base/for_tests.h"

#include <stdlib.h>

uint32_t number_for_tests(const char *variable, uint32_t usual)
{
	const char *text = secure_getenv(variable);

	return text ? (uint32_t)strtoul(text, NULL, 10) : usual;
}
