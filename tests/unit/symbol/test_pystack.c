// SPDX-License-Identifier: BSD-2-Clause
/* The walk over CPython's frames (bpf/python.bpf.h as C) in made-up memory: boundaries, damage, circles;
 * _Py_DebugOffsets from bytes; and glibc's keys in this very process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbol/elf/modules.h"
#include "symbol/python/pyfile.h"
#include "symbol/python/pylayout.h"
#include "parse_child.h"
#include "symbol/python/pyparse.h"
#include "symbol/python/pytls.h"
#include "symbol/python/pyversion.h"
#include "../../symbol/pywalk.h"

#define BASE 0x10000000ULL
#define TP BASE
#define TSTATE (BASE + 0x1000)
#define CFRAME (BASE + 0x1800)
#define FRAME(i) (BASE + 0x2000 + 0x80 * (uint64_t)(i))
#define CODE(i) (BASE + 0x8000 + 0x200 * (uint64_t)(i))
#define NAME (BASE + 0xf000)
#define KEY_VALUE 800

struct world {
	unsigned char bytes[0x10000];
	uint64_t hole;             /* an address that cannot be read */
	struct gmt_py_config config;
	struct pylayout layout;
};

static int read_world(void *arg, uint64_t addr, void *dst, size_t n)
{
	struct world *world = arg;

	if (addr < BASE || addr - BASE >= sizeof(world->bytes) || n > sizeof(world->bytes) - (addr - BASE) ||
	    (world->hole >= addr && world->hole < addr + n))
		return -14;
	memcpy(dst, world->bytes + (addr - BASE), n);
	return 0;
}

static void put(struct world *world, uint64_t addr, uint64_t value, size_t size)
{
	memcpy(world->bytes + (addr - BASE), &value, size);
}

/* Frame i runs code i at its 3rd unit; the one outside of it is frame i + 1 unless it is the last. */
static void put_frame(struct world *world, unsigned int i, unsigned int owner, bool is_last)
{
	const struct pylayout *layout = &world->layout;
	bool is_pointer = layout->instr_kind == GMT_PY_INSTR_POINTER;

	put(world, FRAME(i) + layout->frame_code, CODE(i) | (layout->code_tag ? 1 : 0), 8);
	put(world, FRAME(i) + layout->frame_previous, is_last ? 0 : FRAME(i + 1), 8);
	put(world, FRAME(i) + layout->frame_instr,
	    is_pointer ? CODE(i) + layout->code_start + 4 : layout->instr_kind == GMT_PY_LASTI_UNITS ? 2 : 4,
	    is_pointer ? 8 : 4);
	if (layout->frame_owner)
		put(world, FRAME(i) + layout->frame_owner, owner, 1);
	put(world, CODE(i) + layout->code_firstline, 100 + i, 4);
	put(world, CODE(i) + layout->code_name, NAME, 8);
	if (layout->code_qualname)
		put(world, CODE(i) + layout->code_qualname, NAME, 8);
}

static struct world *world_new(unsigned int minor)
{
	struct world *world = calloc(1, sizeof(*world));

	world->layout = *pylayout_of(minor);
	pylayout_config(&world->layout, &world->config);
	world->config.key_value = KEY_VALUE;
	put(world, TP + KEY_VALUE, TSTATE, 8);
	put(world, TSTATE + world->layout.tstate_thread, TP, 8);
	if (world->layout.cframe_frame >= 0) {
		put(world, TSTATE + world->layout.tstate_frame, CFRAME, 8);
		put(world, CFRAME + (uint64_t)world->layout.cframe_frame, FRAME(0), 8);
	} else {
		put(world, TSTATE + world->layout.tstate_frame, FRAME(0), 8);
	}
	return world;
}

static size_t walk(struct world *world, struct gmt_py_frame *frames, size_t max, size_t *calls,
		   enum gmt_py_reason *reason)
{
	return pywalk_frames(&world->config, TP, read_world, world, frames, max, calls, reason);
}

/* Six frames; where the version can say it, the first call of the eval function has the inner three. */
static void every_version(void **state)
{
	(void)state;
	for (unsigned int minor = PYLAYOUT_MINOR_MIN; minor <= pylayout_newest(); minor++) {
		struct world *world = world_new(minor);
		bool has_shim = world->config.boundary == GMT_PY_SHIM;
		struct gmt_py_frame frames[16];
		enum gmt_py_reason reason;
		size_t calls;

		assert_int_equal(pylayout_of(minor)->minor, minor);
		for (unsigned int i = 0; i < 6; i++) {
			bool is_end = i == 2 || i == 5;
			unsigned int owner = has_shim ? (is_end ? world->config.owner_shim : i % 3) : is_end;

			put_frame(world, i, owner, i == 5);
		}
		assert_int_equal(walk(world, frames, 16, &calls, &reason), has_shim ? 4 : 6);
		assert_int_equal(calls, world->config.boundary == GMT_PY_EACH ? 6 : 2);
		assert_int_equal(reason, GMT_PY_END_ROOT);
		assert_int_equal(frames[0].code, CODE(0));
		assert_int_equal(frames[0].lasti, 4);
		assert_int_not_equal(frames[0].check, frames[1].check);
		assert_int_equal(frames[2].code, has_shim ? CODE(3) : CODE(2));
		assert_int_equal(walk(world, frames, 2, &calls, &reason), 2);
		assert_int_equal(reason, GMT_PY_END_DEPTH);
		free(world);
	}
}

static enum gmt_py_reason reason_of(struct world *world, size_t want)
{
	static struct gmt_py_frame frames[GMT_PY_FRAMES_MAX + 1];
	enum gmt_py_reason reason;

	assert_int_equal(walk(world, frames, GMT_PY_FRAMES_MAX + 1, NULL, &reason), want);
	return reason;
}

static void damage(void **state)
{
	(void)state;
	static const unsigned int minors[] = { 8, 11, 12, 14 };

	for (size_t m = 0; m < 4; m++) {
		struct world *world = world_new(minors[m]);
		const struct pylayout *layout = &world->layout;
		struct gmt_py_frame frame;
		enum gmt_py_reason reason;

		put_frame(world, 0, 0, false);
		put_frame(world, 1, 0, true);
		assert_int_equal(reason_of(world, 2), GMT_PY_END_ROOT);
		world->hole = FRAME(1) + 8;
		assert_int_equal(reason_of(world, 1), GMT_PY_END_FAULT);
		world->hole = CODE(0) + layout->code_check; /* a frame all the same */
		assert_int_equal(walk(world, &frame, 1, NULL, &reason), 1);
		assert_int_equal(frame.check, 0);
		world->hole = TP + KEY_VALUE;
		assert_int_equal(reason_of(world, 0), GMT_PY_END_FAULT);
		world->hole = TSTATE + layout->tstate_frame;
		assert_int_equal(reason_of(world, 0), GMT_PY_END_FAULT);
		world->hole = 0;
		put(world, FRAME(0) + layout->frame_previous, FRAME(1) + 4, 8);
		assert_int_equal(reason_of(world, 1), GMT_PY_END_BAD_POINTER);
		put(world, FRAME(0) + layout->frame_previous, 1ULL << 62, 8);
		assert_int_equal(reason_of(world, 1), GMT_PY_END_BAD_POINTER);
		put(world, FRAME(0) + layout->frame_previous, FRAME(0), 8); /* a circle */
		assert_int_equal(reason_of(world, GMT_PY_FRAMES_MAX), GMT_PY_END_DEPTH);
		put(world, FRAME(0) + layout->frame_code, 16, 8);
		assert_int_equal(reason_of(world, 0), GMT_PY_END_BAD_POINTER);
		put(world, TSTATE + layout->tstate_thread, TP + 64, 8);
		assert_int_equal(reason_of(world, 0), GMT_PY_END_STALE);
		put(world, TP + KEY_VALUE, 12, 8);
		assert_int_equal(reason_of(world, 0), GMT_PY_END_BAD_POINTER);
		put(world, TP + KEY_VALUE, 0, 8);
		assert_int_equal(reason_of(world, 0), GMT_PY_END_NO_STATE);
		free(world);
	}
}

/* prev_instr of a frame not begun is one unit before the code; further off it is no instruction. */
static void instructions(void **state)
{
	(void)state;
	static const struct { int64_t distance; int lasti; } cases[] = {
		{ 0, 0 }, { 2, 2 }, { -2, -1 }, { -4, GMT_PY_LASTI_UNKNOWN }, { 70000, 70000 },
		{ 1LL << 40, GMT_PY_LASTI_UNKNOWN },
	};
	struct world *world = world_new(12);
	struct gmt_py_frame frame;

	put_frame(world, 0, 0, true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(world, FRAME(0) + world->layout.frame_instr,
		    CODE(0) + world->layout.code_start + (uint64_t)cases[i].distance, 8);
		assert_int_equal(walk(world, &frame, 1, NULL, NULL), 1);
		assert_int_equal(frame.lasti, cases[i].lasti);
	}
	free(world);
	world = world_new(10);
	put_frame(world, 0, 0, true);
	put(world, FRAME(0) + world->layout.frame_instr, (uint32_t)-1, 4);
	assert_int_equal(walk(world, &frame, 1, NULL, NULL), 1);
	assert_int_equal(frame.lasti, -1);
	free(world);
}

/* The groups of 3.13 and 3.14, with the table's values: no 3.14 interpreter has been asked. */
static void debug_offsets(void **state)
{
	(void)state;
	static const struct { unsigned int minor, at[17]; } versions[] = {
		{ 13, { 5, 8, 9, 21, 23, 24, 25, 29, 30, 31, 33, 35, 36, 37, 38, 39, 43 } },
		{ 14, { 5, 8, 9, 24, 26, 27, 28, 32, 33, 34, 36, 40, 41, 42, 43, 44, 48 } },
	};
	for (size_t v = 0; v < 2; v++) {
		const struct pylayout *row = pylayout_of(versions[v].minor);
		const uint64_t values[17] = {
			632, 7264, 7344, row->tstate_next, row->tstate_frame, row->tstate_thread, row->tstate_native,
			row->frame_previous, row->frame_code, row->frame_instr, row->frame_owner, row->code_filename,
			row->code_name, row->code_qualname, row->code_lines, row->code_firstline, row->code_start,
		};
		uint64_t words[PYLAYOUT_DEBUG_BYTES / 8] = { 0 };
		struct pylayout want = *row, said = *row;

		memcpy(words, "xdebugpy", 8);
		words[1] = 0x030000f0 | versions[v].minor << 16;
		for (size_t i = 0; i < 17; i++)
			words[versions[v].at[i]] = values[i];
		assert_true(pylayout_has_debug(words, sizeof(words)));
		assert_false(pylayout_has_debug(words, 64));
		assert_int_equal(pylayout_debug_version(words), words[1]);
		assert_false(pylayout_is_free_threaded(words));
		assert_int_equal(pylayout_debug(words, &said), 0);
		want.runtime_interps = 632;
		want.interp_next = 7264;
		want.interp_threads = 7344;
		assert_memory_equal(&said, &want, sizeof(want));
		words[2] = 1;
		assert_true(pylayout_is_free_threaded(words));
		words[versions[v].at[10]] = 200; /* owner */
		assert_int_equal(pylayout_debug(words, &said), -22);
		words[versions[v].at[10]] = 70;
		words[versions[v].at[16]] = 1 << 20;
		assert_int_equal(pylayout_debug(words, &said), -22);
		words[0] = 0;
		assert_false(pylayout_has_debug(words, sizeof(words)));
	}
	assert_null(pylayout_of(7));
	assert_null(pylayout_of(pylayout_newest() + 1));
}

static const struct parse_table table = {
	.serve = { [PARSE_PYTHON] = pyparse_serve_python, [PARSE_THREADS] = pyparse_serve_threads },
};

#define KEYS 70

/* glibc's own word for where its keys are, tried on this thread: keys in struct pthread and behind it. */
static void keys(void **state)
{
	(void)state;
#ifdef __x86_64__
	struct modules modules = { 0 };
	struct gmt_py_config config;
	pthread_key_t made[KEYS];
	struct pytls tls;
	struct parse_child child = parse_child_start(&table);
	const char *why;
	pid_t pid = getpid();

	assert_int_equal(modules_read(&modules, (uint32_t)pid), 0);
	assert_int_equal(pyparse_threads(child.client, &modules, &tls, &why), 0);
	parse_child_end(&child);
	memset(&config, 0, sizeof(config));
	for (int i = 0; i < KEYS; i++) {
		uint64_t block = pthread_self(), value = 0;

		assert_int_equal(pthread_key_create(&made[i], NULL), 0);
		assert_int_equal(pthread_setspecific(made[i], (void *)(uintptr_t)(0xabc000 + i)), 0);
		pytls_key(&tls, made[i], &config);
		assert_int_equal(config.key_block != 0, made[i] >= 32);
		if (config.key_block)
			memcpy(&block, (void *)(block + (uint64_t)config.key_block), sizeof(block));
		memcpy(&value, (void *)(block + (uint64_t)config.key_value), sizeof(value));
		assert_int_equal(value, 0xabc000 + i);
	}
	for (int i = 0; i < KEYS; i++)
		pthread_key_delete(made[i]);
	modules_fini(&modules);
#else
	skip();
#endif
}

static void names(void **state)
{
	(void)state;
	assert_int_equal(pyfile_minor_of_path("/usr/lib/libpython3.8.so.1.0"), 8);
	assert_int_equal(pyfile_minor_of_path("/opt/python3.10/bin/python3.11"), 11);
	assert_int_equal(pyfile_minor_of_path("libpython3.9d.so"), 9);
	assert_int_equal(pyfile_minor_of_path("/usr/bin/python3"), 0);
	assert_int_equal(pyfile_minor_of_path("/opt/python3.10/bin/python"), 0);
	assert_int_equal(pyfile_minor_of_path("/x/libpython3.so"), 0);
	assert_int_equal(pyfile_minor_of_path("/x/libpython3.-1.so"), 0);
	assert_int_equal(pyfile_minor_of_path("/x/libpython3.99999999999999999999.so"), 0);
	assert_int_equal(pyfile_minor_of_path(""), 0);
}

static void not_python(void **state)
{
	(void)state;
	struct parse_child child = parse_child_start(&table);
	struct pyversion python;

	assert_int_equal(pyversion_find(getpid(), child.client, &python), -2);
	parse_child_end(&child);
	assert_int_equal(python.runtime, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version), cmocka_unit_test(damage), cmocka_unit_test(instructions),
		cmocka_unit_test(debug_offsets), cmocka_unit_test(keys),   cmocka_unit_test(names),
		cmocka_unit_test(not_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
