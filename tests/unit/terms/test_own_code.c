// SPDX-License-Identifier: BSD-2-Clause
/* Whose code a Python file is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/terms/own_code.h"

static void each_kind(void **state)
{
	static const struct {
		const char *file;
		enum own_code code;
	} rows[] = {
		{ "/home/me/train.py", OWN_CODE_PROGRAM },
		{ "train.py", OWN_CODE_PROGRAM },
		{ "/tmp/ipykernel_7/123.py", OWN_CODE_PROGRAM },
		{ "<string>", OWN_CODE_PROGRAM },
		{ "<stdin>", OWN_CODE_PROGRAM },
		{ "<ipython-input-3-4a>", OWN_CODE_PROGRAM },
		{ "/opt/a<b/train.py", OWN_CODE_PROGRAM },
		{ "/venv/lib/python3.12/site-packages/vllm/engine.py", OWN_CODE_PACKAGE },
		{ "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", OWN_CODE_PACKAGE },
		{ "/usr/lib/python3.11/threading.py", OWN_CODE_STANDARD },
		{ "/usr/lib64/python3.9/threading.py", OWN_CODE_STANDARD },
		{ "<frozen importlib._bootstrap>", OWN_CODE_STANDARD },
		{ "<eval_with_key>.17", OWN_CODE_STANDARD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (own_code_of(rows[i].file) != rows[i].code)
			fail_msg("%s", rows[i].file);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_kind) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
