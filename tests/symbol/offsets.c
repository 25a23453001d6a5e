// SPDX-License-Identifier: BSD-2-Clause
/*
 * Proves the row of user/symbol/python/pylayout.c for the Python whose headers this file is compiled with
 * (test_offsets.sh): each offset against offsetof, and _Py_DebugOffsets against its reader.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#else
#include <internal/pycore_pystate.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_gc.h>
#include <internal/pycore_runtime_init.h>
#endif

#include "symbol/python/pylayout.h"

static int wrong;

static void compare(const char *name, size_t table, size_t header)
{
	if (table == header)
		return;
	printf("# %s: %zu in the table, %zu in the headers of %s\n", name, table, header, PY_VERSION);
	wrong++;
}

#define SAME(field, type, member) compare(#field, row->field, offsetof(type, member))

#if PY_VERSION_HEX >= 0x030b0000
typedef _PyInterpreterFrame frame_type;
#define CODE_START offsetof(PyCodeObject, co_code_adaptive)
#else
typedef PyFrameObject frame_type;
#define CODE_START sizeof(PyCodeObject)
#endif

static void compare_frame(const struct pylayout *row)
{
	SAME(frame_previous, frame_type,
#if PY_VERSION_HEX >= 0x030b0000
	     previous);
#else
	     f_back);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	SAME(frame_code, frame_type, f_executable);
	SAME(frame_instr, frame_type, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
	SAME(frame_code, frame_type, f_code);
	SAME(frame_instr, frame_type, prev_instr);
#else
	SAME(frame_code, frame_type, f_code);
	SAME(frame_instr, frame_type, f_lasti);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	SAME(frame_owner, frame_type, owner);
#elif PY_VERSION_HEX >= 0x030b0000
	SAME(frame_owner, frame_type, is_entry);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	compare("owner_shim", row->owner_shim, FRAME_OWNED_BY_INTERPRETER);
#elif PY_VERSION_HEX >= 0x030c0000
	compare("owner_shim", row->owner_shim, FRAME_OWNED_BY_CSTACK);
#endif
	compare("frame_bytes cover the frame", row->frame_bytes <= sizeof(frame_type) && row->frame_bytes % 8 == 0, 1);
}

static void compare_state(const struct pylayout *row)
{
	SAME(runtime_interps, _PyRuntimeState, interpreters.head);
	SAME(interp_next, PyInterpreterState, next);
	SAME(tstate_next, PyThreadState, next);
	SAME(tstate_thread, PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030c0000
	SAME(runtime_key, _PyRuntimeState, autoTSSkey._key);
#else
	SAME(runtime_key, _PyRuntimeState, gilstate.autoTSSkey._key);
	SAME(runtime_current, _PyRuntimeState, gilstate.tstate_current);
	compare("interpreters.main", row->runtime_interps + 8u, offsetof(_PyRuntimeState, interpreters.main));
#endif
#if PY_VERSION_HEX >= 0x030b0000
	SAME(interp_threads, PyInterpreterState, threads.head);
	SAME(tstate_native, PyThreadState, native_thread_id);
#else
	SAME(interp_threads, PyInterpreterState, tstate_head);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	SAME(tstate_frame, PyThreadState, current_frame);
#elif PY_VERSION_HEX >= 0x030b0000
	SAME(tstate_frame, PyThreadState, cframe);
	SAME(cframe_frame, _PyCFrame, current_frame);
#else
	SAME(tstate_frame, PyThreadState, frame);
#endif
}

static void compare_code(const struct pylayout *row)
{
	compare("code_size", row->code_size, CODE_START);
	SAME(code_firstline, PyCodeObject, co_firstlineno);
	SAME(code_filename, PyCodeObject, co_filename);
	SAME(code_name, PyCodeObject, co_name);
#if PY_VERSION_HEX >= 0x030a0000
	SAME(code_lines, PyCodeObject, co_linetable);
#else
	SAME(code_lines, PyCodeObject, co_lnotab);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	SAME(code_qualname, PyCodeObject, co_qualname);
	SAME(code_start, PyCodeObject, co_code_adaptive);
	SAME(code_traceable, PyCodeObject, _co_firsttraceable);
#else
	SAME(code_check, PyCodeObject, co_argcount);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	SAME(code_check, PyCodeObject, co_stacksize);
	compare("co_version, the last word", row->code_check + 28u, offsetof(PyCodeObject, co_version));
#elif PY_VERSION_HEX >= 0x030b0000
	SAME(code_check, PyCodeObject, co_flags);
	compare("code_text", row->code_check + 8u * row->code_text, offsetof(PyCodeObject, co_qualname));
#else
	compare("code_text", row->code_check + 8u * row->code_text, offsetof(PyCodeObject, co_name));
#endif
#if PY_VERSION_HEX < 0x030c0000
	compare("the head is in the object", row->code_check + 8u * GMT_PY_HEAD_WORDS <= row->code_size, 1);
#endif
}

static void compare_objects(const struct pylayout *row)
{
	compare("unicode_ascii", row->unicode_ascii, sizeof(PyASCIIObject));
	compare("unicode_compact", row->unicode_compact, sizeof(PyCompactUnicodeObject));
	compare("GMT_PY_TEXT_AT", GMT_PY_TEXT_AT, offsetof(PyASCIIObject, length));
	compare("the hash in the text's words", GMT_PY_TEXT_AT + 8, offsetof(PyASCIIObject, hash));
#if PY_VERSION_HEX < 0x030c0000
	compare("the text's characters", GMT_PY_TEXT_AT + 4 * 8, sizeof(PyASCIIObject));
#endif
	compare("UNICODE_LENGTH", PYLAYOUT_UNICODE_LENGTH, offsetof(PyASCIIObject, length));
	compare("UNICODE_STATE", PYLAYOUT_UNICODE_STATE, offsetof(PyASCIIObject, state));
	compare("BYTES_DATA", PYLAYOUT_BYTES_DATA, offsetof(PyBytesObject, ob_sval));
	compare("VAR_SIZE", PYLAYOUT_VAR_SIZE, offsetof(PyVarObject, ob_size));
	compare("OB_TYPE", PYLAYOUT_OB_TYPE, offsetof(PyObject, ob_type));
	compare("TYPE_BASICSIZE", PYLAYOUT_TYPE_BASICSIZE, offsetof(PyTypeObject, tp_basicsize));
}

/* Bits of the state word. */
static void compare_state_bits(void)
{
	union {
		PyASCIIObject object;
		unsigned char bytes[sizeof(PyASCIIObject)];
	} u = { 0 };
	uint32_t bits;

	u.object.state.kind = 4;
	u.object.state.ascii = 1;
	memcpy(&bits, u.bytes + PYLAYOUT_UNICODE_STATE, sizeof(bits));
	compare("kind 4 and ascii", bits, 4u << 2 | 1u << 6);
	u.object.state.kind = 1;
	u.object.state.ascii = 0;
	u.object.state.compact = 1;
	memcpy(&bits, u.bytes + PYLAYOUT_UNICODE_STATE, sizeof(bits));
	compare("kind 1 and compact", bits, 1u << 2 | 1u << 5);
}

#if PY_VERSION_HEX >= 0x030d0000
/* What the interpreter says of itself has to give the row again. */
static void compare_debug(const struct pylayout *row)
{
#ifdef _Py_DebugOffsets_INIT
	static const struct _Py_DebugOffsets debug = _Py_DebugOffsets_INIT("xdebugpy");
#else
	extern _PyRuntimeState _PyRuntime;
	struct _Py_DebugOffsets debug = _PyRuntime.debug_offsets;
#endif
	struct pylayout said = { .minor = row->minor };

	compare("a cookie", pylayout_has_debug(&debug, sizeof(debug)), 1);
	compare("the version", pylayout_debug_version(&debug), PY_VERSION_HEX);
	compare("free threading", pylayout_is_free_threaded(&debug), 0);
	compare("is it understood", (size_t)pylayout_debug(&debug, &said), 0);
#define WORD(field) compare("said " #field, said.field, row->field)
	WORD(runtime_interps);
	WORD(interp_next);
	WORD(interp_threads);
	WORD(tstate_next);
	WORD(tstate_frame);
	WORD(tstate_thread);
	WORD(tstate_native);
	WORD(frame_code);
	WORD(frame_previous);
	WORD(frame_instr);
	WORD(frame_owner);
	WORD(frame_bytes);
	WORD(code_size);
	WORD(code_firstline);
	WORD(code_filename);
	WORD(code_name);
	WORD(code_qualname);
	WORD(code_lines);
	WORD(code_start);
	WORD(code_traceable);
}
#endif

int main(void)
{
	const struct pylayout *row = pylayout_of(PY_MINOR_VERSION);

	if (!row) {
		printf("# no row for %s\n", PY_VERSION);
		return 1;
	}
	compare("minor", row->minor, PY_MINOR_VERSION);
	compare_frame(row);
	compare_state(row);
	compare_code(row);
	compare_objects(row);
	compare_state_bits();
#if PY_VERSION_HEX >= 0x030d0000
	compare_debug(row);
#endif
	return wrong != 0;
}
