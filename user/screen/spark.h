/* SPDX-License-Identifier: BSD-2-Clause */
/* What each GPU held in the last views, as a line of small bars. */
#ifndef GPUMEMTRACE_SCREEN_SPARK_H
#define GPUMEMTRACE_SCREEN_SPARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/terms/gpus.h"

struct out;

#define SPARK_VALUES 128         /* views */

struct spark {
	uint8_t uuid[GMT_UUID_BYTES];
	uint64_t values[SPARK_VALUES]; /* a ring */
	size_t count;            /* ever */
};

struct sparks {
	struct spark list[GPUS_MAX]; /* the session has no more GPUs */
	size_t count;
};

void spark_add(struct sparks *sparks, const uint8_t *uuid, uint64_t value);
/* Writes the newest values, at most `columns` of them, as bars from the least value to the greatest. Where they differ
 * by less than 5 %, all bars are low. */
void spark_print(struct out *out, const struct sparks *sparks, const uint8_t *uuid, unsigned int columns,
		 bool has_utf8);

#endif
