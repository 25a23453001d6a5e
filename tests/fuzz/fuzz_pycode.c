// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as the memory of a Python process: the walk ends, texts are bounded and are UTF-8. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/python/pycode.h"
#include "symbol/python/pylayout.h"
#include "symbol/python/pylines.h"
#include "../symbol/pywalk.h"

/* The bytes lie at several addresses, so that small numbers in them are pointers that lead somewhere. */
#define BASE 0x10000ULL
#define MEMORY_BYTES 0x4000

struct memory {
	unsigned char bytes[MEMORY_BYTES];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	struct memory *memory = arg;

	if (addr < BASE || addr >= BASE + 4 * MEMORY_BYTES)
		return -14;
	addr = (addr - BASE) % MEMORY_BYTES;
	if (n > MEMORY_BYTES - addr)
		return -14;
	memcpy(dst, memory->bytes + addr, n);
	return 0;
}

static void check_text(const char *text, size_t most)
{
	size_t len = strlen(text), chars = 0;

	for (size_t i = 0; i < len; chars++) {
		unsigned char first = (unsigned char)text[i];
		size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;

		if (first < 0x20 || first == 0x7f || (first >= 0x80 && first < 0xc2) || first > 0xf4 || i + more >= len)
			abort();
		for (size_t k = 1; k <= more; k++)
			if (((unsigned char)text[i + k] & 0xc0) != 0x80)
				abort();
		i += 1 + more;
	}
	if (chars > most + 3)
		abort();
}

static void resolve(struct pycode *codes, const struct gmt_py_frame *frame, struct memory *memory)
{
	struct pycode_where where;

	if (pycode_resolve(codes, frame, read_memory, memory, &where))
		return;
	check_text(where.function, PYCODE_NAME_MAX);
	check_text(where.file, PYCODE_FILE_MAX);
	if (where.line < 0 || where.first_line < 0)
		abort();
}

static void put(struct memory *memory, size_t at, uint64_t value)
{
	memcpy(memory->bytes + at % (MEMORY_BYTES - sizeof(value)), &value, sizeof(value));
}

/* Pointers of the code object at BASE, which a fuzzer would be long in finding. */
static void put_pointers(struct memory *memory, const struct pylayout *layout, const uint8_t *data)
{
	put(memory, layout->code_name, BASE + data[2] * 16);
	put(memory, layout->code_filename, BASE + data[3] * 16);
	put(memory, layout->code_lines, BASE + data[4] * 16);
	if (layout->code_qualname)
		put(memory, layout->code_qualname, BASE + data[5] * 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gmt_py_frame frames[GMT_PY_FRAMES_MAX];
	struct memory *memory = calloc(1, sizeof(*memory));
	unsigned int versions = pylayout_newest() - PYLAYOUT_MINOR_MIN + 1;
	unsigned int minor = PYLAYOUT_MINOR_MIN + (size ? data[0] % versions : 0);
	struct pylayout layout = *pylayout_of(minor);
	struct gmt_py_config config = { .key_value = 16 };
	struct gmt_py_frame first = { .code = BASE, .lasti = size > 1 ? data[1] * 2 : -1 };
	enum gmt_py_reason reason;
	struct pycode *codes;
	size_t count;

	if (!memory)
		abort();
	memcpy(memory->bytes, data, size < MEMORY_BYTES ? size : MEMORY_BYTES);
	if (pylayout_has_debug(memory->bytes, MEMORY_BYTES))
		pylayout_debug(memory->bytes, &layout);
	if (size > 5 && data[5])
		put_pointers(memory, &layout, data);
	pylayout_config(&layout, &config);
	codes = pycode_new(&layout, 0);
	resolve(codes, &first, memory);
	/* Whose thread a state is of cannot be guessed by a fuzzer: ask only that it is read. */
	put(memory, layout.tstate_thread + 0x100U, BASE);
	put(memory, 16, BASE + 0x100);
	count = pywalk_frames(&config, BASE, read_memory, memory, frames, GMT_PY_FRAMES_MAX, NULL, &reason);
	for (size_t i = 0; i < count && i < 8; i++)
		resolve(codes, &frames[i], memory);
	for (int format = PYLAYOUT_LNOTAB; format <= PYLAYOUT_LOCATIONS; format++)
		if (pylines_find((enum pylayout_lines)format, data, size, 1, (int)(size % 4096)) < 0)
			abort();
	pycode_free(codes);
	free(memory);
	return 0;
}
