// SPDX-License-Identifier: BSD-2-Clause
/* The BPF programs that pair entries and returns of calls, compiled as C, in any order of events: the bytes choose. */
#include <stddef.h>
#include <stdint.h>

#include "../pairing/orders.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choices choices = { .bytes = data, .left = size };

	run_order(&choices, (unsigned int)size);
	return 0;
}
