/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds where glibc keeps the value of a pthread key, by glibc's own descriptors for debuggers (nptl_db). So this code
 * has no offset of any release.
 */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYTLS_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYTLS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#include "symbol/elf/image.h"

struct pytls {
	uint32_t pthread_bytes;      /* sizeof(struct pthread) */
	uint32_t specific;           /* struct pthread: specific, pointers to blocks of keys */
	uint32_t block_keys;         /* keys of one block */
	uint32_t key_bytes;          /* of one key in a block */
	uint32_t key_data;           /* where in it the value is */
	int32_t thread_self;         /* pthread_self() - thread pointer */
};

/* Whether the numbers are possible. */
bool pytls_is_sound(const struct pytls *tls);

/* 0; -ENOENT: the image is not the library with threads; -ENOTSUP: its descriptors make no sense. */
int pytls_read(const struct image *image, struct pytls *tls);

/* Sets key_block, key_value and thread_self. */
void pytls_key(const struct pytls *tls, uint32_t key, struct gmt_py_config *config);

#endif
