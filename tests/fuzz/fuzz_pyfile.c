// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as the ELF file of CPython or of glibc: ranges of the eval function lie in its code. */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/python/pyfile.h"
#include "symbol/python/pytls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_py_range ranges[GMT_PY_EVAL_RANGES];
	struct image image;
	struct pytls tls;
	size_t count;

	if (image_open_bytes(&image, data, size, NULL))
		return 0;
	count = pyfile_eval_ranges(&image, ranges);
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].start >= ranges[i].end)
			abort();
	}
	pyfile_minor(&image);
	if (!pytls_read(&image, &tls) && tls.block_keys != 32)
		abort();
	image_close(&image);
	return 0;
}
