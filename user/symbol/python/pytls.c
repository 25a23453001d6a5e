// SPDX-License-Identifier: BSD-2-Clause
/*
 * See pytls.h. glibc exports descriptors to its thread debugging library (nptl_db/db_info.c, structs.def): u32 { bits
 * of an element, elements, offset } for a field, u32 for a size. From 2.34 on libc.so.6 has the descriptors. In older
 * versions libpthread.so.0 has them, perhaps in .symtab only.
 *
 * struct pthread (nptl/descr.h) has specific_1stblock, the keys of the first block, right before
 * specific[], whose first pointer leads to it in every thread that has used a key.
 */
#include "symbol/python/pytls.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "symbol/python/pyfile.h"

enum { PTHREAD, SPECIFIC, KEY, KEY_DATA, SYMBOLS };

struct field {
	uint32_t bits, count, offset;
};

bool pytls_is_sound(const struct pytls *tls)
{
	return tls->block_keys == 32 && tls->key_bytes == 16 && tls->key_data == 8 && tls->pthread_bytes <= 65536 &&
	       tls->specific < tls->pthread_bytes && tls->specific >= tls->block_keys * tls->key_bytes &&
	       (!tls->thread_self || tls->thread_self == -(int32_t)tls->pthread_bytes);
}

int pytls_read(const struct image *image, struct pytls *tls)
{
	struct pyfile_symbol symbols[SYMBOLS] = {
		[PTHREAD] = { .name = "_thread_db_sizeof_pthread" },
		[SPECIFIC] = { .name = "_thread_db_pthread_specific" },
		[KEY] = { .name = "_thread_db_sizeof_pthread_key_data" },
		[KEY_DATA] = { .name = "_thread_db_pthread_key_data_data" },
	};
	struct field specific, data;

	if (pyfile_symbols(image, symbols, SYMBOLS) != SYMBOLS)
		return -ENOENT;
	if (!image_read_at(image, symbols[PTHREAD].vaddr, &tls->pthread_bytes, sizeof(tls->pthread_bytes)) ||
	    !image_read_at(image, symbols[KEY].vaddr, &tls->key_bytes, sizeof(tls->key_bytes)) ||
	    !image_read_at(image, symbols[SPECIFIC].vaddr, &specific, sizeof(specific)) ||
	    !image_read_at(image, symbols[KEY_DATA].vaddr, &data, sizeof(data)))
		return -ENOTSUP;
	tls->specific = specific.offset;
	/* PTHREAD_KEY_1STLEVEL_SIZE pointers, and PTHREAD_KEY_2NDLEVEL_SIZE, keys of a block, is the same: 32 */
	tls->block_keys = specific.bits / 64 * specific.count;
	tls->key_data = data.offset;
	/* arm64 has struct pthread below the thread pointer (TLS_DTV_AT_TP), x86-64 at it. */
	tls->thread_self = image->machine == EM_AARCH64 ? -(int32_t)tls->pthread_bytes : 0;
	return pytls_is_sound(tls) ? 0 : -ENOTSUP;
}

void pytls_key(const struct pytls *tls, uint32_t key, struct gmt_py_config *config)
{
	int32_t specific = tls->thread_self + (int32_t)tls->specific;

	config->thread_self = tls->thread_self;
	config->key_value = (int32_t)(key % tls->block_keys * tls->key_bytes + tls->key_data);
	config->key_block = 0;
	if (key < tls->block_keys)
		config->key_value += specific - (int32_t)(tls->block_keys * tls->key_bytes);
	else
		config->key_block = specific + (int32_t)(key / tls->block_keys * sizeof(uint64_t));
}
