/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SipHash-2-4, a hash with a key: without the key nobody can choose texts with the same hash. (Aumasson and Bernstein,
 * "SipHash: a fast short-input PRF", 2012.)
 */
#ifndef GPUMEMTRACE_BASE_SIPHASH_H
#define GPUMEMTRACE_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const uint64_t key[2], const void *bytes, size_t size);

#endif
