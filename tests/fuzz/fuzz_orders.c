// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzzes the ledger with orders of events that a driver and preemption can give (tests/unit/ledger/orders.h). The bytes
 * choose what happens next.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/ledger/orders.h"

static struct input {
	const uint8_t *data;
	size_t size;
} input;

static unsigned int order_pick(unsigned int below)
{
	unsigned int value = 0;

	for (unsigned int reach = 1; reach < below && input.size; reach *= 256, input.size--)
		value = value * 256 + *input.data++;
	return value % below;
}

static bool order_goes_on(void)
{
	return input.size > 0;
}

static bool order_tells(void)
{
	return false;
}

static void order_failed(const char *text)
{
	fprintf(stderr, "%s\n", text);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct order o;

	input = (struct input){ data, size };
	o = (struct order){ .is_lossy = order_pick(2) };
	order_run(&o);
	return 0;
}
