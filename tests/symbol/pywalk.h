/* SPDX-License-Identifier: BSD-2-Clause */
/* The Python frames of a thread from outside: bpf/python.bpf.h as ordinary C, which reads through a function. */
#ifndef TESTS_PYWALK_H
#define TESTS_PYWALK_H

#include "symbol/python/pylayout.h"

/* The library's `walk` is the first member of struct pywalk. */
#define PY_READ(dst, size, addr) pywalk_read(walk, addr, dst, size)

struct gmt_py_walk;
static int pywalk_read(const struct gmt_py_walk *walk, uint64_t addr, void *dst, size_t size);

#include "../../bpf/python.bpf.h"

struct pywalk {
	struct gmt_py_walk walk;
	py_read_fn read;
	void *arg;
};

static int pywalk_read(const struct gmt_py_walk *walk, uint64_t addr, void *dst, size_t size)
{
	const struct pywalk *own = (const struct pywalk *)walk;

	return own->read(own->arg, addr, dst, size);
}

/*
 * The frames, innermost first; how many. `tp`: the thread pointer (fs base, tpidr_el0). `calls`, unless
 * NULL, becomes the number of calls of the eval function that the frames belong to. *reason, unless NULL: why the walk ended.
 */
static size_t pywalk_frames(const struct gmt_py_config *config, uint64_t tp, py_read_fn read, void *arg,
			    struct gmt_py_frame *frames, size_t max, size_t *calls, enum gmt_py_reason *reason)
{
	struct pywalk walk = { .read = read, .arg = arg };
	struct gmt_py_frame frame;
	size_t count = 0, ends = 0;
	int step = gmt_py_start(config, &walk.walk, tp);

	while (step != GMT_PY_OVER) {
		step = gmt_py_step(config, &walk.walk, &frame);
		ends += step == GMT_PY_LAST || step == GMT_PY_NOTHING;
		if (step == GMT_PY_OVER || step == GMT_PY_NOTHING)
			continue;
		if (count == max) {
			walk.walk.reason = GMT_PY_END_DEPTH;
			break;
		}
		frames[count++] = frame;
	}
	if (calls)
		*calls = ends;
	if (reason)
		*reason = walk.walk.reason;
	return count;
}

#endif
