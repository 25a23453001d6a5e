// SPDX-License-Identifier: BSD-2-Clause
/*
 * See pylayout.h. The rows are what gcc computes from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0
 * and 3.14.10 on 64-bit Linux (tests/symbol/offsets.c); from 3.13 on _Py_DebugOffsets of the process overrides the
 * rows. Structures are not expected to change between patch levels of a version; _PyRuntime may change, so
 * pyversion.c searches for its key.
 */
#include "symbol/python/pylayout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/count.h"

/* Common to frames of 3.8 to 3.10 (PyFrameObject) and of 3.12 on (_PyInterpreterFrame). */
#define FRAME_OBJECT                                                                              \
	.boundary = GMT_PY_EACH, .runtime_interps = 32, .interp_next = 0, .interp_threads = 8,    \
	.tstate_next = 8, .tstate_frame = 24, .tstate_thread = 176, .cframe_frame = -1,           \
	.frame_code = 32, .frame_previous = 24, .frame_bytes = 112, .code_size = 176,             \
	.code_check = 16, .check_mask = 0x7f, /* argcount to firstlineno; the rest is padding */  \
	.code_text = 12, /* co_name */                                                            \
	.code_firstline = 40, .code_filename = 104, .code_name = 112, .code_lines = 120,          \
	.unicode_ascii = 48, .unicode_compact = 72

#define CODE_OBJECT                                                                               \
	.lines = PYLAYOUT_LOCATIONS, .instr_kind = GMT_PY_INSTR_POINTER, .tstate_next = 8,        \
	.frame_instr = 56, .code_filename = 112, .code_name = 120,                                \
	.code_qualname = 128, .code_lines = 136

#define FRAME_SHIM                                                                                \
	CODE_OBJECT, .boundary = GMT_PY_SHIM, .frame_code = 0, .frame_previous = 8,               \
	.owner_shim = 3, /* FRAME_OWNED_BY_CSTACK; 3.14: FRAME_OWNED_BY_INTERPRETER, _CSTACK */   \
	.code_check = 64, .check_mask = 0xff, /* co_stacksize to co_version */                    \
	.code_firstline = 68, .unicode_ascii = 40, .unicode_compact = 56

/* The GIL of 3.8 to 3.11 is in _PyRuntime, before gilstate, and has two mutexes; glibc's have 8 bytes more on arm64. */
#define ARM64_KEY_MOVES 16

/* The columns of DEBUG_FIELDS below. */
enum { DEBUG_3_13, DEBUG_3_14, DEBUG_COLUMNS };

static const struct pylayout layouts[] = {
	{ .minor = 8, FRAME_OBJECT, .lines = PYLAYOUT_LNOTAB, .instr_kind = GMT_PY_LASTI_BYTES,
	  .frame_instr = 104, .runtime_key = 1396, .runtime_current = 1368 },
	{ .minor = 9, FRAME_OBJECT, .lines = PYLAYOUT_LNOTAB, .instr_kind = GMT_PY_LASTI_BYTES,
	  .frame_instr = 104, .runtime_key = 588, .runtime_current = 568 },
	{ .minor = 10, FRAME_OBJECT, .lines = PYLAYOUT_LINETABLE, .instr_kind = GMT_PY_LASTI_UNITS,
	  .frame_instr = 96, .runtime_key = 588, .runtime_current = 568 },
	{ .minor = 11, CODE_OBJECT, .boundary = GMT_PY_ENTRY, .runtime_interps = 40, .runtime_key = 596,
	  .runtime_current = 576,
	  .interp_next = 0, .interp_threads = 16, .tstate_frame = 56, .tstate_thread = 152,
	  .tstate_native = 160, .cframe_frame = 8, .frame_code = 32, .frame_previous = 48,
	  .frame_owner = 68, .frame_bytes = 72, .code_size = 184,
	  .code_check = 48, .code_text = 10, /* co_flags; co_qualname */
	  .check_mask = 0xfd, /* without co_warmup and _co_linearray_entry_size, the second word */
	  .code_firstline = 72, .code_start = 184, .code_traceable = 168,
	  .unicode_ascii = 48, .unicode_compact = 72 },
	{ .minor = 12, FRAME_SHIM, .runtime_interps = 40, .runtime_key = 1548, .interp_next = 0,
	  .interp_threads = 72, .tstate_frame = 56, .tstate_thread = 136, .tstate_native = 144,
	  .cframe_frame = 0, .frame_stacktop = 64, .frame_owner = 70, .frame_bytes = 72, .code_size = 192,
	  .code_start = 192, .code_traceable = 176 },
	{ .minor = 13, FRAME_SHIM, .runtime_interps = 632, .runtime_key = 2164, .interp_next = 7264,
	  .interp_threads = 7344, .tstate_frame = 72, .tstate_thread = 152, .tstate_native = 160,
	  .cframe_frame = -1, .frame_stacktop = 64, .frame_owner = 70, .frame_bytes = 72, .code_size = 200,
	  .code_start = 200, .code_traceable = 184 },
	/* A tagged _PyStackRef holds the code object: Py_TAG_BITS is 3 (pycore_stackref.h). */
	{ .minor = 14, FRAME_SHIM, .debug = DEBUG_3_14, .code_tag = 3, .runtime_interps = 808, .runtime_key = 2340,
	  .interp_next = 7272, .interp_threads = 7344, .tstate_frame = 72, .tstate_thread = 152,
	  .tstate_native = 160, .cframe_frame = -1, .frame_owner = 74, .frame_bytes = 80,
	  .code_size = 208, .code_start = 208, .code_traceable = 192 },
};

unsigned int pylayout_newest(void)
{
	return PYLAYOUT_MINOR_MIN + COUNT(layouts) - 1;
}

const struct pylayout *pylayout_of(unsigned int minor)
{
	size_t row = minor - PYLAYOUT_MINOR_MIN;

	return minor >= PYLAYOUT_MINOR_MIN && row < COUNT(layouts) ? &layouts[row] : NULL;
}

/*
 * _Py_DebugOffsets (Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14): u64 fields in groups.
 * X(target, index in 3.13, index in 3.14); the row of a later version names the column that has its indices.
 */
#define DEBUG_FIELDS(X)                 \
	X(runtime_interps, 5, 5)        \
	X(interp_next, 8, 8)            \
	X(interp_threads, 9, 9)         \
	X(tstate_next, 21, 24)          \
	X(tstate_frame, 23, 26)         \
	X(tstate_thread, 24, 27)        \
	X(tstate_native, 25, 28)        \
	X(frame_previous, 29, 32)       \
	X(frame_code, 30, 33)           \
	X(frame_instr, 31, 34)          \
	X(frame_owner, 33, 36)          \
	X(code_filename, 35, 40)        \
	X(code_name, 36, 41)            \
	X(code_qualname, 37, 42)        \
	X(code_lines, 38, 43)           \
	X(code_firstline, 39, 44)       \
	X(code_start, 43, 48)

#define DEBUG_VERSION 1
#define DEBUG_FREE_THREADED 2
#define DEBUG_FIELD_MAX 65535       /* what the fields of struct pylayout can hold */

static uint64_t debug_field(const void *runtime, size_t index)
{
	uint64_t value;

	memcpy(&value, (const char *)runtime + index * sizeof(value), sizeof(value));
	return value;
}

bool pylayout_has_debug(const void *runtime, size_t size)
{
	return size >= PYLAYOUT_DEBUG_BYTES && !memcmp(runtime, "xdebugpy", 8);
}

uint32_t pylayout_debug_version(const void *runtime)
{
	return (uint32_t)debug_field(runtime, DEBUG_VERSION);
}

bool pylayout_is_free_threaded(const void *runtime)
{
	return debug_field(runtime, DEBUG_FREE_THREADED) != 0;
}

#define X(target, ...) _Static_assert(sizeof((uint8_t[]){ __VA_ARGS__ }) == DEBUG_COLUMNS, #target);
DEBUG_FIELDS(X)
#undef X

int pylayout_debug(const void *runtime, struct pylayout *layout)
{
	uint64_t value;

#define X(target, ...)                                                               \
	value = debug_field(runtime, ((const uint8_t[]){ __VA_ARGS__ })[layout->debug]); \
	if (value > DEBUG_FIELD_MAX)                                                 \
		return -EINVAL;                                                      \
	layout->target = (uint16_t)value;
	DEBUG_FIELDS(X)
#undef X
	/* PyCodeObject ends in int _co_firsttraceable, void *co_extra, then the code (cpython/code.h). */
	layout->code_size = layout->code_start;
	layout->code_traceable = layout->code_start - 16;
	if ((layout->frame_code | layout->frame_previous | layout->frame_instr) & 7 ||
	    layout->frame_owner >= GMT_PY_FRAME_BYTES - 8 || layout->code_start < layout->code_lines + 24 ||
	    layout->frame_code >= layout->frame_owner || layout->frame_previous >= layout->frame_owner ||
	    layout->frame_instr >= layout->frame_owner)
		return -EINVAL;
	layout->frame_bytes = (layout->frame_owner | 7) + 1;
	/* int stacktop; uint16_t return_offset; char owner: the debug offsets do not name `owner`. */
	if (layout->frame_stacktop)
		layout->frame_stacktop = (layout->frame_owner & 7) == 6 ? layout->frame_owner & ~7 : 0;
	return 0;
}

void pylayout_adapt(struct pylayout *layout, uint16_t machine)
{
	if (machine == EM_AARCH64 && layout->runtime_current)
		pylayout_move_key(layout, layout->runtime_key + ARM64_KEY_MOVES);
}

uint32_t pylayout_search_key(const struct pylayout *layout, const uint32_t *words, size_t count,
			     bool (*leads)(void *arg, const uint32_t *pair), void *arg)
{
	size_t first = layout->runtime_key / sizeof(*words) - 1;

	for (size_t n = 0; n < count; n++) {
		size_t i = (first + n) % count;

		if (i + 1 < count && leads(arg, &words[i]))
			return (uint32_t)((i + 1) * sizeof(*words));
	}
	return 0;
}

void pylayout_move_key(struct pylayout *layout, uint32_t key)
{
	if (layout->runtime_current)
		layout->runtime_current += key - layout->runtime_key;
	layout->runtime_key = key;
}

void pylayout_config(const struct pylayout *layout, struct gmt_py_config *config)
{
#define X(type, user_type, name) config->name = (type)layout->name;
	GMT_PY_OFFSETS(X)
#undef X
}
