/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of what has the same name in two recordings: hashes of texts and numbers, one after the other. */
#ifndef GPUMEMTRACE_CORE_COMPARE_HELD_KEY_H
#define GPUMEMTRACE_CORE_COMPARE_HELD_KEY_H

#include <stdint.h>
#include <string.h>

#include "base/siphash.h"

static inline uint64_t held_key_number(uint64_t key, uint64_t number)
{
	static const uint64_t none[2];
	const uint64_t parts[] = { key, number };

	return siphash(none, parts, sizeof(parts));
}

static inline uint64_t held_key_text(uint64_t key, const char *text)
{
	static const uint64_t none[2];

	return held_key_number(key, siphash(none, text, strlen(text)));
}

#endif
