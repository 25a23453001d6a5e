// SPDX-License-Identifier: BSD-2-Clause
#include "core/framework/range_name.h"

#include <string.h>

/* "ProfilerStep#12" */
static void cut_number(char *name)
{
	char *number = strrchr(name, '#');

	if (number && number[1] && !number[1 + strspn(number + 1, "0123456789")])
		number[1] = '\0';
}

/* "FSDP::all_gather (layers.12)", "FSDP::backward_prefetch for layers.12": fully_shard of PyTorch 2.11 has eight names
 * for each layer. */
static void cut_layer(char *name)
{
	static const char prefix[] = "FSDP::";
	char *blank = strchr(name, ' ');

	if (blank && !strncmp(name, prefix, strlen(prefix)))
		*blank = '\0';
}

void range_name(char name[GMT_RANGE_NAME_BYTES], const uint8_t text[GMT_RANGE_NAME_BYTES])
{
	memcpy(name, text, GMT_RANGE_NAME_BYTES);
	name[GMT_RANGE_NAME_BYTES - 1] = '\0';
	cut_number(name);
	cut_layer(name);
}
