/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets in CPython's structures, by minor version: a constant table and, from 3.13 on, the interpreter's own
 * description (_Py_DebugOffsets), which overrides the table.
 * tests/symbol/offsets.c compiles the table against a release's own headers.
 */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYLAYOUT_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYLAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#define PYLAYOUT_MINOR_MIN 8
#define PYLAYOUT_DEBUG_BYTES 512   /* what pylayout_debug() needs of the start of _PyRuntime */

/* How co_lnotab or co_linetable is written. */
enum pylayout_lines {
	PYLAYOUT_LNOTAB = 0,       /* 3.8, 3.9: Objects/lnotab_notes.txt of 3.9 */
	PYLAYOUT_LINETABLE = 1,    /* 3.10: Objects/lnotab_notes.txt of 3.10 */
	PYLAYOUT_LOCATIONS = 2,    /* 3.11 on: Objects/locations.md (InternalDocs/code_objects.md) */
};

struct pylayout {
	uint8_t minor;             /* 3.minor */
	uint8_t lines;             /* enum pylayout_lines */
	uint8_t debug;             /* which order _Py_DebugOffsets has; from 3.13 on */
	uint32_t runtime_interps;  /* _PyRuntime: interpreters.head */
	uint32_t runtime_key;      /* _PyRuntime: autoTSSkey._key; an int _is_initialized is before it */
	uint32_t runtime_current;  /* _PyRuntime: gilstate.tstate_current, up to 3.11 */
	uint32_t interp_next;
	uint32_t interp_threads;   /* threads.head, tstate_head */
	uint16_t tstate_next;
	uint16_t tstate_native;    /* native_thread_id: gettid(); 0: there is none */
#define X(type, user_type, name) user_type name;
	GMT_PY_OFFSETS(X)
#undef X
	uint16_t code_size;        /* PyCode_Type.tp_basicsize */
	uint16_t code_firstline, code_filename, code_name;
	uint16_t code_qualname;    /* 0: there is none */
	uint16_t code_lines;       /* co_lnotab, co_linetable */
	uint16_t code_traceable;   /* _co_firsttraceable; 0: there is none */
	uint16_t unicode_ascii;    /* sizeof(PyASCIIObject): where ASCII text begins */
	uint16_t unicode_compact;  /* sizeof(PyCompactUnicodeObject): where other text begins */
};

/* The same in all versions, on 64-bit machines: Include/object.h, bytesobject.h, cpython/unicodeobject.h. */
#define PYLAYOUT_OB_TYPE 8
#define PYLAYOUT_VAR_SIZE 16        /* PyVarObject.ob_size */
#define PYLAYOUT_BYTES_DATA 32      /* PyBytesObject.ob_sval */
#define PYLAYOUT_TYPE_BASICSIZE 32  /* PyTypeObject.tp_basicsize */
#define PYLAYOUT_UNICODE_LENGTH 16
#define PYLAYOUT_UNICODE_STATE 32   /* bits: 2 interned, 3 kind, 1 compact, 1 ascii */

/* The minor of the table's last row. */
unsigned int pylayout_newest(void);

/* The table's row, which is x86-64's; NULL if there is none. */
const struct pylayout *pylayout_of(unsigned int minor);

/* Makes a machine's (EM_*) row of the table's. */
void pylayout_adapt(struct pylayout *layout, uint16_t machine);

/* Whether these bytes of _PyRuntime begin with a _Py_DebugOffsets. */
bool pylayout_has_debug(const void *runtime, size_t size);

/* Its version, and whether the build is free-threaded. */
uint32_t pylayout_debug_version(const void *runtime);
bool pylayout_is_free_threaded(const void *runtime);

/* Where in _PyRuntime, of which `words` are the first ones, the key is: leads() is true of the key and the int before
 * it. 0: nowhere. What moves the key has mostly grown, so the search begins at the table's place. The words in front of
 * the place, of which flags look like a key, come last. */
uint32_t pylayout_search_key(const struct pylayout *layout, const uint32_t *words, size_t count,
			     bool (*leads)(void *arg, const uint32_t *pair), void *arg);

/* Takes over where the key was found. Up to 3.11 it is a member of gilstate, as tstate_current is. */
void pylayout_move_key(struct pylayout *layout, uint32_t key);

/* Takes over the offsets of _Py_DebugOffsets. Returns 0, or -EINVAL if the offsets cannot be true. `runtime`:
 * PYLAYOUT_DEBUG_BYTES. */
int pylayout_debug(const void *runtime, struct pylayout *layout);

/* Fills in the offsets that BPF needs; keys and eval ranges stay unchanged. */
void pylayout_config(const struct pylayout *layout, struct gmt_py_config *config);

/* Reads all of [addr, addr + n) of a Python process: 0, or -errno. */
typedef int (*py_read_fn)(void *arg, uint64_t addr, void *dst, size_t n);

#endif
