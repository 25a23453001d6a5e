// SPDX-License-Identifier: BSD-2-Clause
/* The BPF programs and the ledger together (tests/pairing/joint.h), in any order of events: the bytes choose. */
#include <stddef.h>
#include <stdint.h>

#include "../pairing/joint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choices choices = { .bytes = data, .left = size };

	joint_run(&choices, (unsigned int)size, size & 1);
	return 0;
}
