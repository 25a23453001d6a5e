// SPDX-License-Identifier: BSD-2-Clause
/* See pystack.h. */
#include "symbol/python/pystack.h"

#include <string.h>

/* The library's `walk` is the first member of what is ours. */
#define PY_READ(dst, size, addr) read_memory(walk, addr, dst, size)

struct gmt_py_walk;
static int read_memory(const struct gmt_py_walk *walk, uint64_t addr, void *dst, size_t size);

#include "../../../bpf/python.bpf.h"

struct walk {
	struct gmt_py_walk base;
	pycode_read read;
	void *arg;
};

static int read_memory(const struct gmt_py_walk *base, uint64_t addr, void *dst, size_t size)
{
	const struct walk *walk = (const struct walk *)base;

	return walk->read(walk->arg, addr, dst, size);
}

size_t pystack_walk(const struct gmt_py_config *config, uint64_t tp, pycode_read read, void *arg,
		    struct gmt_py_frame *frames, size_t max, size_t *calls, enum gmt_py_reason *reason)
{
	struct walk walk = { .read = read, .arg = arg };
	struct gmt_py_frame frame;
	size_t count = 0, ends = 0;
	int step = gmt_py_start(config, &walk.base, tp);

	while (step != GMT_PY_OVER) {
		step = gmt_py_step(config, &walk.base, &frame);
		ends += step == GMT_PY_LAST || step == GMT_PY_NOTHING;
		if (step == GMT_PY_OVER || step == GMT_PY_NOTHING)
			continue;
		if (count == max) {
			walk.base.reason = GMT_PY_END_DEPTH;
			break;
		}
		frames[count++] = frame;
	}
	if (calls)
		*calls = ends;
	if (reason)
		*reason = walk.base.reason;
	return count;
}

uint64_t pystack_tstate(const struct gmt_py_config *config, uint64_t tp, pycode_read read, void *arg)
{
	struct walk walk = { .read = read, .arg = arg };

	return gmt_py_tstate(config, &walk.base, tp);
}
