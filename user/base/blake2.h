/* SPDX-License-Identifier: BSD-2-Clause */
/* BLAKE2b (RFC 7693) without a key: a hash of which nobody can find a second text. */
#ifndef GPUMEMTRACE_BASE_BLAKE2_H
#define GPUMEMTRACE_BASE_BLAKE2_H

#include <stddef.h>

/* Writes `size` bytes of hash, 1 to 64. */
void blake2b(void *hash, size_t size, const void *data, size_t data_size);

#endif
