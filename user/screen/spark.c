// SPDX-License-Identifier: BSD-2-Clause
#include "screen/spark.h"

#include <string.h>

#include "base/out.h"

#define LEVELS 8
#define LEAST_PART 20            /* the scale covers at least this part of the greatest value */

static struct spark *find_spark(const struct sparks *sparks, const uint8_t *uuid)
{
	for (size_t i = 0; i < sparks->count; i++)
		if (!memcmp(sparks->list[i].uuid, uuid, GMT_UUID_BYTES))
			return (struct spark *)&sparks->list[i];
	return NULL;
}

void spark_add(struct sparks *sparks, const uint8_t *uuid, uint64_t value)
{
	struct spark *spark = find_spark(sparks, uuid);

	if (!spark && sparks->count < GPUS_MAX) {
		spark = &sparks->list[sparks->count++];
		memcpy(spark->uuid, uuid, GMT_UUID_BYTES);
	}
	if (spark)
		spark->values[spark->count++ % SPARK_VALUES] = value;
}

void spark_print(struct out *out, const struct sparks *sparks, const uint8_t *uuid, unsigned int columns,
		 bool has_utf8)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[] = "_.-:=+*#";
	const struct spark *spark = find_spark(sparks, uuid);
	size_t count = spark && spark->count < SPARK_VALUES ? spark->count : spark ? SPARK_VALUES : 0;
	uint64_t least = UINT64_MAX, most = 0, range;

	count = count < columns ? count : columns;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = spark->values[(spark->count - 1 - i) % SPARK_VALUES];

		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	range = count ? most - least : 0;
	if (range < most / LEAST_PART)
		range = most / LEAST_PART;
	for (size_t i = count; i-- > 0;) {
		uint64_t value = spark->values[(spark->count - 1 - i) % SPARK_VALUES];
		size_t level = range ? (size_t)((double)(value - least) / (double)range * (LEVELS - 1) + 0.5) : 0;

		if (has_utf8)
			out_text(out, bars[level]);
		else
			out_char(out, ascii[level]);
	}
}
