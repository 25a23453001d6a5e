/* SPDX-License-Identifier: BSD-2-Clause */
/* Code of the program that runs inside a call, as a profiler's callbacks do. The callback may return, throw, jump out of
 * the call or end its thread. */
#include "standin.h"

static __thread struct {
	void (*function)(void *arg);
	void *arg;
} next __attribute__((tls_model("initial-exec")));

/* The thread's next call runs the function first, before any work. Not an entry of the real library. */
__attribute__((visibility("default"))) void standin_call_back(void (*function)(void *arg), void *arg);
void standin_call_back(void (*function)(void *arg), void *arg)
{
	next.function = function;
	next.arg = arg;
}

void callback_run(void)
{
	void (*function)(void *arg) = next.function;

	if (!function)
		return;
	next.function = NULL;
	function(next.arg);
}
